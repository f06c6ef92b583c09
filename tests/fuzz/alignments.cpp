// Alignments in Pharaoh's format (a: a line, b: a file), links of a text (c), and the other lines
// that metrics read (d).
#include "heed/metrics/alignment.hpp"

#include "data/parts.hpp"
#include "fuzz/input.hpp"
#include "metrics/lines.hpp"

namespace {

using namespace heed;
using fuzz::accepted;

void read_line(std::string_view text) {
  const metrics::Alignment alignment = metrics::parse_pharaoh(text);
  const std::string written = metrics::to_pharaoh(alignment);
  const metrics::Alignment again = metrics::parse_pharaoh(written);
  fuzz::require(again.sure == alignment.sure && again.possible == alignment.possible,
                "an alignment does not change when it is written and read");
}

void read_files(std::string_view first, std::string_view second) {
  const auto guessed = metrics::read_pharaoh(fuzz::folder().write("a", first), false);
  const auto gold = metrics::read_pharaoh(fuzz::folder().write("b", second), true);
  if (guessed.size() != gold.size()) return;
  const double rate = metrics::aer(guessed, gold).value;
  fuzz::require(rate >= 0 && rate <= 1, "an error rate lies between 0 and 1");
}

void read_links(std::string_view text) {
  for (const auto& [target, source] :
       parse_links(text, {.text = 5, .target = 4, .kept = 3}, "fuzzed"))
    fuzz::require(target < 3 && source < 3, "a link joins words that are kept");
}

void read_measured(std::string_view text) {
  const metrics::Lines lines = metrics::read_lines(fuzz::folder().write("lines", text));
  accepted([&] { metrics::parse_labels(lines); });
  accepted([&] { metrics::parse_gold_weights(lines, metrics::parse_numbers(lines)); });
  accepted([&] { metrics::parse_numbers(lines, true); });
  accepted([&] { metrics::parse_marks(lines); });
  accepted([&] { metrics::parse_rankings(lines); });
  for (const bool graded : {false, true}) accepted([&] { metrics::parse_relevant(lines, graded); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Input input(data, size);
  accepted([&] {
    switch (input.choose(4)) {
      case 0:
        read_line(input.file(0));
        break;
      case 1:
        read_files(input.file(0), input.file(1));
        break;
      case 2:
        read_links(input.file(0));
        break;
      default:
        read_measured(input.file(0));
    }
  });
  return 0;
}
