// Tables of every kind of task that reads them (TSV, CSV, JSONL, CoNLL, CoNLL-U), to learn from and
// to answer. A second file holds the column map, "role=name" a line.
#include <array>

#include "fuzz/input.hpp"
#include "heed/base/words.hpp"
#include "heed/data/dataset.hpp"

namespace {

constexpr std::array kEndings = {".tsv", ".csv", ".jsonl", ".conll", ".conllu"};
constexpr std::array kKinds = {"classify", "pair",      "aspect", "document",
                               "answer",   "translate", "point"};

std::map<std::string, std::string> columns_of(std::string_view text) {
  std::map<std::string, std::string> columns;
  for (const std::string& line : heed::split(text, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos) columns[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return columns;
}

/// What models rely on: gold weights are one a word, sentences cover the words.
void check(const std::vector<heed::Example>& examples) {
  for (const heed::Example& example : examples) {
    for (const auto& [name, weights] : example.gold)
      heed::fuzz::require(weights.size() == heed::input_length(example, name), "a weight a word");
    for (const auto& [name, levels] : example.levels) {
      std::int64_t below = static_cast<std::int64_t>(heed::input_length(example, name));
      for (const auto& lengths : levels) {
        std::int64_t total = 0;
        for (const std::int64_t length : lengths) total += length;
        heed::fuzz::require(total == below, "segments cover what they consist of");
        below = static_cast<std::int64_t>(lengths.size());
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heed;
  const fuzz::Input input(data, size);
  const std::size_t kind = input.choose(kKinds.size() * kEndings.size());
  DataSource source{.kind = kKinds[kind % kKinds.size()]};
  const std::string name = std::string("table") + kEndings[kind / kKinds.size()];
  source.base = fuzz::folder().path();
  source.columns = columns_of(input.file(1));
  source.max_length = input.choose(256) < 128 ? 0 : 3;
  fuzz::folder().write(name, input.file(0));
  fuzz::accepted([&] { check(load_examples(name, source)); });
  source.data = name;
  fuzz::accepted([&] {
    const Dataset dataset = load_dataset(source);
    for (const auto* part : {&dataset.train, &dataset.val, &dataset.test}) check(*part);
  });
  return 0;
}
