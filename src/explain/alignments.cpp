#include "heed/explain/alignments.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "heed/base/error.hpp"
#include "heed/base/words.hpp"

namespace heed {
namespace {

using metrics::Alignment;
using metrics::Link;

/// What a step asks of a link's two words before it adds it.
enum class Free { either, both };

struct Method {
  std::string_view name;
  bool grow = false, final = false;
  Free grows = Free::either, finishes = Free::either;
};

constexpr std::array kMethods = {
    Method{"intersection"},
    Method{"union"},
    Method{"grow-diag", true},
    Method{"grow-diag-final", true, true},
    Method{"grow-diag-final-and", true, true, Free::either, Free::both},
    Method{"grow-diag-strict", true, false, Free::both},
    Method{"grow-diag-final-strict", true, true, Free::both, Free::both},
};

/// Links that grow, and which words have one.
class Growing {
 public:
  explicit Growing(const std::vector<Link>& links) {
    for (const Link& link : links) insert(link);
  }

  /// Adds the link if its words are free enough; true if it was added.
  bool add(const Link& link, Free free) {
    const bool source = !sources_.contains(link.source), target = !targets_.contains(link.target);
    if (free == Free::both ? !(source && target) : !(source || target)) return false;
    insert(link);
    return true;
  }

  /// One sweep over the links there are, those that it adds included; true if it added any.
  bool grow(const std::set<Link>& candidates, Free free) {
    // Sides before corners, as in the paper: the order decides which of two rivals is taken.
    constexpr std::array<std::pair<int, int>, 8> kAround = {
        {{-1, 0}, {0, -1}, {1, 0}, {0, 1}, {-1, -1}, {-1, 1}, {1, -1}, {1, 1}}};
    bool added = false;
    for (auto link = links_.begin(); link != links_.end(); ++link) {
      for (const auto& [source, target] : kAround) {
        // Below 0 wraps to a number that no candidate has.
        const Link next{link->source + static_cast<std::uint32_t>(source),
                        link->target + static_cast<std::uint32_t>(target)};
        if (candidates.contains(next)) added = add(next, free) || added;
      }
    }
    return added;
  }

  Alignment alignment() const { return {.sure = {links_.begin(), links_.end()}, .possible = {}}; }

 private:
  void insert(const Link& link) {
    links_.insert(link);
    sources_.insert(link.source);
    targets_.insert(link.target);
  }

  std::set<Link> links_;
  std::set<std::uint32_t> sources_, targets_;
};

Link link_of(std::size_t source, std::size_t target) {
  return {static_cast<std::uint32_t>(source), static_cast<std::uint32_t>(target)};
}

/// Each word of the text linked to the word of the translation that looked at it most.
std::vector<Link> links_of_columns(const WordWeights& weights) {
  std::vector<Link> links;
  for (std::size_t s = 0; s < weights.sources; ++s) {
    std::size_t best = 0;
    for (std::size_t t = 1; t < weights.targets; ++t) {
      if (weights.at(t, s) > weights.at(best, s)) best = t;
    }
    if (weights.targets > 0 && weights.at(best, s) > 0) links.push_back(link_of(s, best));
  }
  return links;
}

}  // namespace

WordWeights merge_pieces(const WordWeights& pieces, std::span<const std::size_t> sources,
                         std::span<const std::size_t> targets, bool mean_of_sources) {
  WordWeights words{.sources = sources.size() - 1, .targets = targets.size() - 1};
  words.data.assign(words.sources * words.targets, 0.0f);
  for (std::size_t target = 0; target < words.targets; ++target) {
    for (std::size_t source = 0; source < words.sources; ++source) {
      float sum = 0;
      for (std::size_t t = targets[target]; t < targets[target + 1]; ++t) {
        for (std::size_t s = sources[source]; s < sources[source + 1]; ++s) sum += pieces.at(t, s);
      }
      const std::size_t rows = targets[target + 1] - targets[target];
      const std::size_t columns = mean_of_sources ? sources[source + 1] - sources[source] : 1;
      if (rows * columns > 0)
        words.data[target * words.sources + source] = sum / static_cast<float>(rows * columns);
    }
  }
  return words;
}

Alignment links_of(const WordWeights& weights, double threshold) {
  Alignment alignment;
  for (std::size_t t = 0; t < weights.targets; ++t) {
    const auto row = std::span(weights.data).subspan(t * weights.sources, weights.sources);
    if (threshold > 0) {
      for (std::size_t s = 0; s < row.size(); ++s) {
        if (row[s] >= threshold) alignment.sure.push_back(link_of(s, t));
      }
    } else if (const auto best = std::ranges::max_element(row); best != row.end() && *best > 0) {
      alignment.sure.push_back(link_of(static_cast<std::size_t>(best - row.begin()), t));
    }
  }
  std::ranges::sort(alignment.sure);
  return alignment;
}

double mutual_agreement(const WordWeights& weights) {
  const std::vector<Link> rows = links_of(weights).sure, columns = links_of_columns(weights);
  std::vector<Link> both;
  std::set_intersection(rows.begin(), rows.end(), columns.begin(), columns.end(),
                        std::back_inserter(both));
  return metrics::ratio(2 * static_cast<double>(both.size()),
                        static_cast<double>(rows.size() + columns.size()));
}

std::vector<std::string> symmetrisations() {
  std::vector<std::string> names;
  for (const Method& method : kMethods) names.emplace_back(method.name);
  return names;
}

Alignment symmetrise(const Alignment& forward, const Alignment& reverse,
                     const std::string& method) {
  const auto found = std::ranges::find(kMethods, method, &Method::name);
  HEED_CHECK(found != kMethods.end(), "unknown symmetrisation '{}'{}", method,
             suggestion(method, symmetrisations()));
  std::vector<Link> common;
  std::set<Link> all(forward.sure.begin(), forward.sure.end());
  for (const Link& link : std::set<Link>(reverse.sure.begin(), reverse.sure.end())) {
    if (!all.insert(link).second) common.push_back(link);
  }
  if (method == "union") return {.sure = {all.begin(), all.end()}, .possible = {}};
  Growing links(common);
  while (found->grow && links.grow(all, found->grows)) {
  }
  if (found->final) {
    for (const Alignment* side : {&forward, &reverse}) {
      for (const Link& link : side->sure) links.add(link, found->finishes);
    }
  }
  return links.alignment();
}

Alignment turned(const Alignment& alignment) {
  Alignment result;
  for (const Link& link : alignment.sure) result.sure.push_back({link.target, link.source});
  for (const Link& link : alignment.possible) result.possible.push_back({link.target, link.source});
  std::ranges::sort(result.sure);
  std::ranges::sort(result.possible);
  return result;
}

}  // namespace heed
