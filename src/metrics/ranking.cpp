#include "heed/metrics/ranking.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "heed/base/error.hpp"
#include "metrics/segments.hpp"

namespace heed::metrics {
namespace {

struct User {
  std::vector<double> gains;  ///< of the first k items shown
  std::vector<double> ideal;  ///< of all relevant items, largest first
};

User look_up(const Ranking& ranking, const Relevant& relevant, std::size_t k) {
  User user;
  std::set<std::string> seen;
  for (const std::string& item : ranking) {
    if (user.gains.size() == k) break;
    const auto found = relevant.find(item);
    const bool first = seen.insert(item).second;
    user.gains.push_back(first && found != relevant.end() ? found->second : 0);
  }
  for (const auto& [item, gain] : relevant) {
    HEED_CHECK(std::isfinite(gain) && gain >= 0,
               "item '{}' has the gain {}; it must be finite and not negative", item, gain);
    if (gain > 0) user.ideal.push_back(gain);
  }
  std::ranges::sort(user.ideal, std::greater<>());
  return user;
}

double discounted(std::span<const double> gains) {
  double sum = 0;
  for (std::size_t i = 0; i < gains.size(); ++i)
    sum += gains[i] / std::log2(static_cast<double>(i) + 2);
  return sum;
}

SegmentSums collect(std::string_view name, std::span<const Ranking> rankings,
                    std::span<const Relevant> relevant, std::size_t k) {
  HEED_CHECK(rankings.size() == relevant.size(), "{}: {} rankings but {} users' items", name,
             rankings.size(), relevant.size());
  HEED_CHECK(k > 0, "{}: k must be at least 1", name);
  SegmentSums sums(5);  // users, hit, recall, reciprocal rank, NDCG
  for (std::size_t u = 0; u < rankings.size(); ++u) {
    const User user = look_up(rankings[u], relevant[u], k);
    if (user.ideal.empty()) {
      sums.add({0, 0, 0, 0, 0});
      continue;
    }
    const auto is_hit = [](double gain) { return gain > 0; };
    const auto first = std::ranges::find_if(user.gains, is_hit);
    const auto rank = static_cast<double>(first - user.gains.begin() + 1);
    const auto hits = static_cast<double>(std::ranges::count_if(user.gains, is_hit));
    const bool any = first != user.gains.end();
    const auto best = std::span(user.ideal).first(std::min(k, user.ideal.size()));
    sums.add({1, any ? 1.0 : 0.0, hits / static_cast<double>(user.ideal.size()), any ? 1 / rank : 0,
              discounted(user.gains) / discounted(best)});
  }
  return sums;
}

Metric summarise(const std::string& name, SegmentSums sums, std::size_t k, std::size_t column,
                 Parameters parameters) {
  const std::vector<double> t = sums.total();
  Metric metric{.name = name, .signature = signature(name, parameters)};
  metric.details = {{"hit_rate", ratio(t[1], t[0])},
                    {"recall", ratio(t[2], t[0])},
                    {"mrr", ratio(t[3], t[0])},
                    {"ndcg", ratio(t[4], t[0])},
                    {"k", static_cast<double>(k)},
                    {"count", t[0]},
                    {"skipped", static_cast<double>(sums.segments()) - t[0]}};
  finish(metric, std::move(sums),
         [column](std::span<const double> row) { return ratio(row[column], row[0]); });
  return metric;
}

}  // namespace

Metric hit_rate(std::span<const Ranking> rankings, std::span<const Relevant> relevant,
                std::size_t k) {
  return summarise("hr", collect("hr", rankings, relevant, k), k, 1, {{"k", fmt::format("{}", k)}});
}

Metric ndcg(std::span<const Ranking> rankings, std::span<const Relevant> relevant, std::size_t k) {
  return summarise("ndcg", collect("ndcg", rankings, relevant, k), k, 4,
                   {{"k", fmt::format("{}", k)}, {"gain", "linear"}, {"discount", "log2"}});
}

}  // namespace heed::metrics
