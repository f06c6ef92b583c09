#include "heed/explain/alignments_choice.hpp"

#include <algorithm>
#include <iterator>

#include "heed/base/error.hpp"

namespace heed {
namespace {

using metrics::Alignment;

bool all_linked(std::span<const Example> pairs) {
  HEED_CHECK(!pairs.empty(), "align: no pairs to choose a place on; name it: map, head and shift");
  return std::ranges::none_of(pairs, [](const Example& pair) { return pair.links.empty(); });
}

PlaceChoice by_gold(std::span<const PlaceLinks> found, std::span<const Example> pairs) {
  PlaceChoice choice{.by = "aer", .places = {}};
  const std::vector<Alignment> gold = gold_alignments(pairs);
  for (const PlaceLinks& at : found)
    choice.places.push_back({.place = at.place, .score = metrics::aer(at.links, gold).value});
  std::ranges::stable_sort(choice.places, {}, &ScoredPlace::score);
  return choice;
}

PlaceChoice by_words(std::span<const PlaceLinks> found) {
  PlaceChoice choice{.by = "agreement of words", .places = {}};
  for (const PlaceLinks& at : found)
    choice.places.push_back({.place = at.place, .score = at.agreement});
  std::ranges::stable_sort(choice.places, std::ranges::greater{}, &ScoredPlace::score);
  return choice;
}

std::pair<PlaceChoice, PlaceChoice> by_each_other(std::span<const PlaceLinks> forward,
                                                  std::span<const PlaceLinks> reverse) {
  ScoredPlace first{.place = {}, .score = -1}, second = first;
  for (const PlaceLinks& back : reverse) {
    std::vector<Alignment> other;
    for (const Alignment& links : back.links) other.push_back(turned(links));
    for (const PlaceLinks& forth : forward) {
      const double score = link_f1(forth.links, other);
      if (score <= first.score) continue;
      first = {.place = forth.place, .score = score};
      second = {.place = back.place, .score = score};
    }
  }
  const std::string by = "agreement of both models";
  return {{.by = by, .places = {first}}, {.by = by, .places = {second}}};
}

}  // namespace

AlignmentOptions PlaceChoice::settle(AlignmentOptions options) const {
  const AlignmentPlace& best = places.front().place;
  options.map = best.map;
  options.head = best.head;
  options.shift = best.shift;
  return options;
}

PlaceChoice choose_place(const LoadedRun& run, std::span<const Example> pairs,
                         const AlignmentOptions& options,
                         const std::function<void(std::size_t)>& progress) {
  if (all_linked(pairs)) return by_gold(attention_links(run, pairs, options, progress), pairs);
  // Words that choose each other do so as well when every row is moved by one.
  AlignmentOptions unmoved = options;
  if (!unmoved.shift) unmoved.shift = 0;
  return by_words(attention_links(run, pairs, unmoved, progress));
}

std::pair<PlaceChoice, PlaceChoice> choose_places(
    const LoadedRun& run, const LoadedRun& reverse, std::span<const Example> pairs,
    const AlignmentOptions& options, const AlignmentOptions& reverse_options,
    const std::function<void(std::size_t)>& progress) {
  const std::vector<Example> back = turned(pairs);
  if (all_linked(pairs))
    return {choose_place(run, pairs, options, progress),
            choose_place(reverse, back, reverse_options, progress)};
  return by_each_other(attention_links(run, pairs, options, progress),
                       attention_links(reverse, back, reverse_options, progress));
}

double link_f1(std::span<const Alignment> a, std::span<const Alignment> b) {
  double common = 0, all = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::vector<metrics::Link> both;
    std::ranges::set_intersection(a[i].sure, b[i].sure, std::back_inserter(both));
    common += static_cast<double>(both.size());
    all += static_cast<double>(a[i].sure.size() + b[i].sure.size());
  }
  return metrics::ratio(2 * common, all);
}

}  // namespace heed
