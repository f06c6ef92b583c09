#include "heed/explain/omit.hpp"

#include <algorithm>

#include "heed/base/error.hpp"

namespace heed::explain {
namespace {

template <class T>
std::vector<T> kept_of(const std::vector<T>& items, const std::vector<bool>& kept) {
  std::vector<T> result;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (kept[i]) result.push_back(items[i]);
  }
  return result;
}

std::size_t count_kept(const std::vector<bool>& kept, std::size_t begin, std::size_t end) {
  return static_cast<std::size_t>(std::count(kept.begin() + static_cast<std::ptrdiff_t>(begin),
                                             kept.begin() + static_cast<std::ptrdiff_t>(end),
                                             true));
}

/// Runs that lost all they held are gone, and so is their share of the runs above.
void shrink_levels(std::vector<std::vector<std::int64_t>>& levels, std::vector<bool> kept) {
  for (std::vector<std::int64_t>& level : levels) {
    std::vector<std::int64_t> sizes;
    std::vector<bool> left;
    std::size_t begin = 0;
    for (const std::int64_t size : level) {
      const std::size_t end = begin + static_cast<std::size_t>(size);
      const std::size_t count = count_kept(kept, begin, end);
      left.push_back(count > 0);
      if (count > 0) sizes.push_back(static_cast<std::int64_t>(count));
      begin = end;
    }
    level = sizes;
    kept = left;
  }
}

}  // namespace

Example with_only(const Example& example, const std::string& input, std::vector<bool> kept) {
  HEED_CHECK(kept.size() == input_length(example, input),
             "explain: input '{}' has {} positions, {} were spoken of", input,
             input_length(example, input), kept.size());
  Example result = example;
  if (const auto values = result.values.find(input); values != result.values.end()) {
    const auto width = static_cast<std::size_t>(values->second.width);
    for (std::size_t i = 0; i < kept.size() * width; ++i) {
      if (!kept[i / width]) values->second.data[i] = 0;
    }
    return result;
  }
  if (!kept.empty() && std::ranges::find(kept, true) == kept.end()) kept[0] = true;
  result.inputs[input] = kept_of(example.inputs.at(input), kept);
  if (const auto gold = result.gold.find(input); gold != result.gold.end())
    gold->second = kept_of(gold->second, kept);
  if (const auto levels = result.levels.find(input); levels != result.levels.end())
    shrink_levels(levels->second, kept);
  for (auto& [name, view] : result.views) {
    if (view.of != input) continue;
    const std::size_t before = count_kept(kept, 0, view.begin);
    view = {.of = input, .begin = before, .end = before + count_kept(kept, view.begin, view.end)};
  }
  return result;
}

Example without(const Example& example, const std::string& input, std::size_t position) {
  std::vector<bool> kept(input_length(example, input), true);
  kept.at(position) = false;
  return with_only(example, input, std::move(kept));
}

}  // namespace heed::explain
