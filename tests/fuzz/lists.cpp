// Lists of who took what, in one domain or two (a, b), and of what people looked at (c), as TSV or,
// in the letters after, as JSONL.
#include "fuzz/input.hpp"
#include "heed/data/dataset.hpp"

namespace {

constexpr std::string_view kTexts =
    "id\ttext\tlabel\tsplit\n1\tthe food was good\tyes\ttrain\n2\tnot good\tno\ttest\n3\tnot "
    "good\tno\tval\n";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heed;
  const fuzz::Input input(data, size);
  const std::size_t choice = input.choose(3);
  const std::string ending = input.choose(6) < 3 ? ".tsv" : ".jsonl";
  DataSource source{.kind = choice == 2 ? "classify" : "recommend"};
  source.base = fuzz::folder().path();
  fuzz::folder().write("list" + ending, input.file(0));
  if (choice == 2) {
    fuzz::folder().write("texts.tsv", kTexts);
    source.data = "texts.tsv";
    source.human = "list" + ending;
    source.max_length = input.choose(256) < 128 ? 0 : 2;
  } else {
    source.data = "list" + ending;
    if (choice == 1) {
      fuzz::folder().write("other" + ending, input.file(1));
      source.source = "other" + ending;
    }
  }
  fuzz::accepted([&] {
    const Dataset dataset = load_dataset(source);
    for (const auto* part : {&dataset.train, &dataset.val, &dataset.test}) {
      for (const Example& example : *part) {
        for (const auto& [name, weights] : example.gold)
          fuzz::require(weights.size() == input_length(example, name), "a weight a word");
      }
    }
  });
  return 0;
}
