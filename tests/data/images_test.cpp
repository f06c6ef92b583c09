#include <gmock/gmock.h>

#include "data/scratch.hpp"
#include "heed/data/dataset.hpp"
#include "heed/metrics/image.hpp"
#include "source_dir.hpp"

namespace heed {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using testing::expect_parts;
using testing::message_of;
using testing::Scratch;

std::string big_endian(std::uint32_t number) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(number >> shift & 255);
  return bytes;
}

std::string idx_images(std::uint32_t count, std::uint32_t rows, std::uint32_t columns) {
  std::string bytes = big_endian(2051) + big_endian(count) + big_endian(rows) + big_endian(columns);
  for (std::uint32_t i = 0; i < count * rows * columns; ++i) bytes += static_cast<char>(i);
  return bytes;
}

std::string idx_labels(const std::string& labels) {
  return big_endian(2049) + big_endian(static_cast<std::uint32_t>(labels.size())) + labels;
}

DataSource idx_source(const Scratch& scratch, const std::string& images,
                      const std::string& labels) {
  scratch.write("train-labels.idx1", labels);
  return {.kind = "image",
          .data = "",
          .train = scratch.write("train-images.idx3", images),
          .val_fraction = 0};
}

TEST(Idx, GivesPixelsLabelsAndTheGrid) {
  const Scratch scratch;
  const Dataset data =
      load_dataset(idx_source(scratch, idx_images(3, 2, 4), idx_labels({"\x03\x07\x03"})));
  ASSERT_EQ(data.train.size(), 3u);
  EXPECT_THAT(data.labels, ElementsAre("3", "7"));
  ASSERT_EQ(data.inputs.size(), 1u);
  EXPECT_THAT(data.inputs[0].grid, ElementsAre(2, 4));
  EXPECT_EQ(data.inputs[0].width, 1);
  const Values& second = data.train[1].values.at("image");
  ASSERT_EQ(second.length(), 8u);
  EXPECT_FLOAT_EQ(second.data[0], 8.0f / 255);
  EXPECT_FLOAT_EQ(second.data[7], 15.0f / 255);
}

TEST(Idx, NamesTheFileOfAMistake) {
  const std::string images = idx_images(3, 2, 4), labels = idx_labels("abc");
  struct Wrong {
    std::string images, labels, file, reason;
  };
  const Wrong cases[] = {
      {images.substr(0, images.size() - 1), labels, "train-images.idx3: ", "3×2×4 says 24"},
      {images + "x", labels, "train-images.idx3: ", "25 bytes"},
      {labels, labels, "train-images.idx3: ", "magic number must be 2051"},
      {"", labels, "train-images.idx3: ", "magic number"},
      {idx_images(3, 0, 4), labels, "train-images.idx3: ", "3×0×4; there is nothing in it"},
      {big_endian(2051) + big_endian(1u << 31) + big_endian(1u << 31) + big_endian(4), labels,
       "train-images.idx3: ", "0 bytes follow"},  // 2⁶⁴ pixels are none in 64 bits
      {"\x1F\x8B packed badly", labels, "train-images.idx3: ", "gzip"},
      {images, idx_labels("ab"), "train-labels.idx1: ", "2 labels for 3 images"},
      {images, images, "train-labels.idx1: ", "2049"},
  };
  for (const Wrong& wrong : cases) {
    const Scratch scratch;
    const std::string message =
        message_of([&] { load_dataset(idx_source(scratch, wrong.images, wrong.labels)); });
    expect_parts(message, {wrong.file, wrong.reason});
  }
  const Scratch scratch;
  const DataSource alone{
      .kind = "image", .data = "", .train = scratch.write("x-images.idx3", images)};
  expect_parts(message_of([&] { load_dataset(alone); }), {"x-labels.idx1", "no such file"});
  const DataSource unsplit{.kind = "image", .data = scratch.write("y-images.idx3", images)};
  expect_parts(message_of([&] { load_dataset(unsplit); }), {"no split", "'train'"});
}

std::string grey_png(std::size_t width, std::size_t height, std::size_t channels = 1) {
  return metrics::to_png({.width = width,
                          .height = height,
                          .channels = channels,
                          .pixels = std::vector<std::uint8_t>(width * height * channels, 7)});
}

TEST(Pngs, OfAnotherSizeAreNamedWithTableAndLine) {
  const Scratch scratch;
  scratch.write("first.png", grey_png(4, 3));
  scratch.write("same.png", grey_png(4, 3));
  scratch.write("wide.png", grey_png(5, 3));
  scratch.write("tall.png", grey_png(4, 6));
  scratch.write("colour.png", grey_png(4, 3, 3));
  const std::string table = "file\tlabel\nfirst.png\ta\nsame.png\tb\n";
  DataSource source{.kind = "image",
                    .train = scratch.write("train.tsv", table),
                    .test = scratch.write("test.tsv", table)};
  EXPECT_THAT(load_dataset(source).inputs[0].grid, ElementsAre(3, 4));
  for (const auto& [png, size] : {std::pair("wide.png", "5×3 pixels in 1 channel"),
                                  {"tall.png", "4×6 pixels in 1 channel"},
                                  {"colour.png", "4×3 pixels in 3 channels"}}) {
    source.test = scratch.write("test.tsv", table + png + "\ta\n");
    expect_parts(message_of([&] { load_dataset(source); }),
                 {"test.tsv:4: ", png, size, "train.tsv:2: ", "4×3 pixels in 1 channel"});
    expect_parts(message_of([&] { load_examples(source.test, source); }),
                 {"test.tsv:4: ", "test.tsv:2: "});
  }
}

TEST(Idx, OfAnotherSizeNamesTheFile) {
  const Scratch scratch;
  DataSource source = idx_source(scratch, idx_images(3, 2, 4), idx_labels("aba"));
  scratch.write("test-labels.idx1", idx_labels("a"));
  source.test = scratch.write("test-images.idx3", idx_images(1, 4, 2));
  expect_parts(message_of([&] { load_dataset(source); }),
               {"test-images.idx3: 2×4", "train-images.idx3 has 4×2"});
}

TEST(Pngs, NumbersMustBeFloats) {
  const Scratch scratch;
  scratch.write("a.png", grey_png(2, 2));
  for (const char* number : {"1e308", "-1e39", "1e999", "nan", "x"}) {
    const DataSource source{
        .kind = "count",
        .data = scratch.write("d.tsv", fmt::format("file\tnumber\tsplit\na.png\t3\ttrain\na.png"
                                                   "\t{}\ttrain\n",
                                                   number))};
    expect_parts(message_of([&] { load_dataset(source); }),
                 {"d.tsv:3: ", fmt::format("'{}'", number), "3e38"});
  }
}

TEST(Pngs, NameTheRowOfAMistake) {
  struct Wrong {
    std::string row, reason;
  };
  const Wrong cases[] = {{"none.png\ta\ttrain", "none.png"},
                         {"bad.png\ta\ttrain", "bad.png: cannot be read as a PNG"},
                         {"\ta\ttrain", "file is empty"},
                         {".\ta\ttrain", "a folder"},
                         {"bad.png\t\ttrain", "label is empty"}};
  for (const Wrong& wrong : cases) {
    const Scratch scratch;
    scratch.write("bad.png", "no picture");
    const DataSource source{
        .kind = "image", .data = scratch.write("d.tsv", "file\tlabel\tsplit\n" + wrong.row + "\n")};
    expect_parts(message_of([&] { load_dataset(source); }), {"d.tsv:2: ", wrong.reason});
  }
}

TEST(ImageCorpora, GoldIsWhereTheShapeIs) {
  for (const auto& [kind, name] :
       {std::pair("image", "shapes"), {"image", "video"}, {"count", "crowd"}}) {
    const Dataset data =
        load_dataset({.kind = kind, .data = fmt::format("builtin:{}?size=40", name)});
    ASSERT_EQ(data.train.size(), 40u) << name;
    const std::string& input = data.inputs[0].name;
    for (const Example& example : data.train) {
      const Values& values = example.values.at(input);
      const auto& gold = example.gold.at(input);
      ASSERT_EQ(gold.size(), values.length());
      for (std::size_t i = 0; i < gold.size(); ++i) {
        const auto first = values.data.begin() + static_cast<std::ptrdiff_t>(i) * values.width;
        const bool lit = std::find(first, first + values.width, 1.0f) != first + values.width;
        ASSERT_EQ(gold[i] > 0, lit) << name << ": only what is drawn has the full light";
      }
    }
  }
}

TEST(ImageCorpora, TheCrowdIsAsManyAsItSays) {
  const Dataset data = load_dataset({.kind = "count", .data = "builtin:crowd?size=60"});
  for (const Example& example : data.train) {
    const auto& pixels = example.values.at("image").data;
    const auto lit = std::ranges::count(pixels, 1.0f);
    EXPECT_EQ(static_cast<double>(lit), 4 * example.number);
  }
}

TEST(Idx, ReadsMnistWhenItIsThere) {
  const fs::path folder = fs::path(kSourceDir).parent_path() / "shared" / "data" / "img-mnist";
  if (!fs::exists(folder)) GTEST_SKIP() << "no ../shared/data/img-mnist beside the source tree";
  const Dataset data = load_dataset(
      {.kind = "image", .data = "", .train = (folder / "val-images.idx3.gz").string()});
  EXPECT_EQ(data.train.size() + data.val.size(), 2000u);
  EXPECT_EQ(data.labels.size(), 10u);
  EXPECT_THAT(data.inputs[0].grid, ElementsAre(28, 28));
}

}  // namespace
}  // namespace heed
