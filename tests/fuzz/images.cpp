// Pictures: idx files with their labels (a, or packed with gzip: b), a PNG alone (c), and a table
// that names it (d with labels, e with numbers).
#include "heed/metrics/image.hpp"

#include "fuzz/input.hpp"
#include "heed/data/dataset.hpp"

namespace {

using heed::fuzz::accepted;
using heed::fuzz::folder;

void check(const heed::Dataset& dataset) {
  const heed::InputInfo& info = dataset.inputs.at(0);
  const auto pixels = info.grid.at(0) * info.grid.at(1);
  for (const heed::Example& example : dataset.train) {
    const heed::Values& values = example.values.at("image");
    heed::fuzz::require(static_cast<std::int64_t>(values.data.size()) == pixels * info.width,
                        "a picture has the pixels of its grid");
  }
}

void read_idx(std::string_view images, std::string_view labels, const std::string& packed) {
  const auto file = folder().write("images.idx3" + packed, images);
  folder().write("labels.idx1" + packed, labels);
  accepted([&] { check(heed::load_dataset({.kind = "image", .data = "", .train = file})); });
}

void read_table(std::string_view table, const std::string& kind) {
  const auto file = folder().write("pictures.tsv", table);
  accepted([&] { check(heed::load_dataset({.kind = kind, .data = file})); });
  accepted([&] { heed::load_examples(file, {.kind = kind}); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const heed::fuzz::Input input(data, size);
  const std::size_t choice = input.choose(5);
  if (choice < 2) {
    read_idx(input.file(0), input.file(1), choice == 0 ? "" : ".gz");
    return 0;
  }
  const auto png = folder().write("p.png", input.file(0));
  if (choice > 2) read_table(input.file(1), choice == 3 ? "image" : "count");
  accepted([&] {
    const heed::metrics::Image image = heed::metrics::read_image(png, input.choose(256) > 128);
    heed::fuzz::require(image.pixels.size() == image.width * image.height * image.channels,
                        "a picture has all its pixels");
  });
  return 0;
}
