#include "data/generate.hpp"

#include <unordered_set>

#include "heed/base/error.hpp"
#include "heed/base/words.hpp"

namespace heed {
namespace {

/// What tells two examples apart: their inputs.
std::string key_of(const Example& example) {
  std::string key;
  for (const auto& [name, words] : example.inputs) key += join(words, " ") + "\n";
  for (const auto& [name, view] : example.views)
    key += fmt::format("{} {} {}\n", name, view.begin, view.end);
  for (const auto& [name, values] : example.values)
    key.append(reinterpret_cast<const char*>(values.data.data()),  // NOLINT: bytes to compare
               values.data.size() * sizeof(float));
  return key;
}

}  // namespace

Dataset generate(std::string name, std::vector<std::string> labels, std::vector<InputInfo> inputs,
                 const CorpusOptions& options, const std::function<Example(Random&)>& draw) {
  HEED_CHECK(options.train > 0, "builtin:{}: size is 0; at least one example is needed", name);
  constexpr int kPatience = 1000;  // draws of something new before the corpus is exhausted
  std::unordered_set<std::string> seen;
  const auto part = [&](const char* which, std::size_t size, std::uint64_t stream) {
    Random random(Random::derive(options.seed, stream));
    std::vector<Example> examples;
    for (int failed = 0; examples.size() < size;) {
      Example example = draw(random);
      if (!seen.insert(key_of(example)).second) {
        HEED_CHECK(++failed < kPatience,
                   "builtin:{}: there are only {} different examples; ask for "
                   "fewer",
                   name, seen.size());
        continue;
      }
      failed = 0;
      example.id = fmt::format("{}-{}", which, examples.size() + 1);
      examples.push_back(std::move(example));
    }
    return examples;
  };
  Dataset data{.name = std::move(name), .labels = std::move(labels), .inputs = std::move(inputs)};
  data.test = part("test", options.test, 3);
  data.val = part("val", options.val, 2);
  data.train = part("train", options.train, 1);
  return data;
}

}  // namespace heed
