// Published word vectors: GloVe's text (a), packed (b: as given, whatever it claims to be), wink's
// JSON (c); and anything packed with gzip (d).
#include "data/gzip.hpp"
#include "fuzz/input.hpp"
#include "heed/data/word_table.hpp"

namespace {

void check(const heed::WordTable& table) {
  heed::fuzz::require(table.values.size() == table.words.size() * table.width,
                      "every word has a vector");
  heed::fuzz::require(!table.words.empty(), "a table has words");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heed;
  const fuzz::Input input(data, size);
  const std::size_t choice = input.choose(4);
  const auto file =
      fuzz::folder().write(choice == 1 ? "vectors.txt.gz" : "vectors.txt", input.file(0));
  const WordTableOptions options{.limit = input.choose(256) < 128 ? 0u : 2u};
  fuzz::accepted([&] {
    if (choice < 2) check(read_word_table(file, options));
    if (choice == 2) check(read_wink_table(file, options));
    if (choice == 3) read_unpacked(file);
  });
  for (const std::string_view word : {input.file(0).substr(0, 20), input.file(1)})
    stand_ins(word, [](std::string_view known) { return known.size() % 2 == 1; });
  return 0;
}
