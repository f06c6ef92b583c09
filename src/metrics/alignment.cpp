#include "heed/metrics/alignment.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include "heed/base/error.hpp"
#include "heed/base/words.hpp"
#include "metrics/lines.hpp"
#include "metrics/segments.hpp"

namespace heed::metrics {
namespace {

void sort_unique(std::vector<Link>& links) {
  std::ranges::sort(links);
  links.erase(std::unique(links.begin(), links.end()), links.end());
}

std::optional<std::uint32_t> parse_index(std::string_view digits) {
  std::uint32_t index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return index;
}

double common(const std::vector<Link>& a, const std::vector<Link>& b) {
  std::vector<Link> both;
  std::ranges::set_intersection(a, b, std::back_inserter(both));
  return static_cast<double>(both.size());
}

double error_rate(std::span<const double> row) {
  return 1 - ratio(row[0] + row[1], row[2] + row[3], 1);
}

}  // namespace

Alignment parse_pharaoh(std::string_view line) {
  Alignment alignment;
  for (const std::string& token : split_words(line)) {
    const std::size_t sign = token.find_first_of("-?");
    const auto part = [&](std::size_t start, std::size_t size) {
      return parse_index(std::string_view(token).substr(start, size));
    };
    std::optional<std::uint32_t> source, target;
    if (sign != std::string::npos) {
      source = part(0, sign);
      target = part(sign + 1, std::string::npos);
    }
    HEED_CHECK(source && target, "'{}' is no link; i-j (sure) or i?j (possible) is needed, 0-based",
               token);
    (token[sign] == '-' ? alignment.sure : alignment.possible).push_back({*source, *target});
  }
  sort_unique(alignment.sure);
  sort_unique(alignment.possible);
  return alignment;
}

std::string to_pharaoh(const Alignment& alignment) {
  std::vector<std::string> links;
  for (const auto& [source, target] : alignment.sure)
    links.push_back(fmt::format("{}-{}", source, target));
  for (const auto& [source, target] : alignment.possible)
    links.push_back(fmt::format("{}?{}", source, target));
  return join(links, " ");
}

std::vector<Alignment> read_pharaoh(const std::filesystem::path& file, bool gold) {
  return parse_alignments(read_lines(file), gold);
}

Metric aer(std::span<const Alignment> hypotheses, std::span<const Alignment> gold) {
  HEED_CHECK(hypotheses.size() == gold.size(), "aer: {} alignments but {} gold ones",
             hypotheses.size(), gold.size());
  SegmentSums sums(4);  // |A∩S|, |A∩P|, |A|, |S|
  for (std::size_t s = 0; s < gold.size(); ++s) {
    std::vector<Link> links = hypotheses[s].sure, sure = gold[s].sure, possible = gold[s].possible;
    possible.insert(possible.end(), sure.begin(), sure.end());
    for (auto* list : {&links, &sure, &possible}) sort_unique(*list);
    sums.add({common(links, sure), common(links, possible), static_cast<double>(links.size()),
              static_cast<double>(sure.size())});
  }
  const std::vector<double> t = sums.total();
  const double otherwise = t[2] + t[3] == 0 ? 1 : 0;
  const double precision = ratio(t[1], t[2], otherwise), recall = ratio(t[0], t[3], otherwise);
  Metric metric{.name = "aer"};
  metric.signature = signature("aer", {{"average", "links"}, {"empty", "0"}});
  metric.details = {{"precision", precision},
                    {"recall", recall},
                    {"f1", harmonic(precision, recall)},
                    {"links", t[2]},
                    {"sure", t[3]},
                    {"links_in_sure", t[0]},
                    {"links_in_possible", t[1]}};
  finish(metric, std::move(sums), error_rate);
  return metric;
}

}  // namespace heed::metrics
