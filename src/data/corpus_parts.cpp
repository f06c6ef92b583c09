#include "data/corpus_parts.hpp"

#include <fmt/format.h>

namespace heed {

Dataset corpus_of(const std::string& name, std::vector<InputInfo> inputs,
                  const CorpusOptions& options, const std::function<Example(Random&)>& make) {
  const auto part = [&](std::string_view id, std::size_t size, std::uint64_t stream) {
    Random random(Random::derive(options.seed, stream));
    std::vector<Example> examples;
    examples.reserve(size);
    for (std::size_t i = 0; i < size; ++i) {
      examples.push_back(make(random));
      examples.back().id = fmt::format("{}-{}", id, i + 1);
    }
    return examples;
  };
  Dataset data{
      .name = name, .labels = {}, .train = {}, .val = {}, .test = {}, .inputs = std::move(inputs)};
  data.test = part("test", options.test, 3);
  data.val = part("val", options.val, 2);
  data.train = part("train", options.train, 1);
  return data;
}

}  // namespace heed
