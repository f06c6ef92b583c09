// Files that are no tables: parallel text with its links (a) and bAbI's stories (b).
#include "fuzz/input.hpp"
#include "heed/data/dataset.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heed;
  const fuzz::Input input(data, size);
  const bool parallel = input.choose(2) == 0;
  DataSource source{.kind = parallel ? "translate" : "answer"};
  source.base = fuzz::folder().path();
  source.max_length = static_cast<std::int64_t>(input.choose(256) / 64);
  source.train = "text.en";
  fuzz::folder().write(source.train, input.file(0));
  if (parallel) {
    source.columns = {{"target", "de"}, {"links", "links"}};
    fuzz::folder().write("text.de", input.file(1));
    const auto links = fuzz::folder().write("text.links", input.file(2));
    if (input.file(2).empty()) std::filesystem::remove(links);
  }
  fuzz::accepted([&] {
    const Dataset dataset = load_dataset(source);
    for (const Example& example : dataset.train) {
      for (const auto& [target, word] : example.links) {
        fuzz::require(target < example.target.size() && word < example.inputs.at("text").size(),
                      "a link joins two words");
      }
    }
  });
  fuzz::accepted([&] { load_examples(source.train, source); });
  return 0;
}
