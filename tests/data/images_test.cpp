#include <gmock/gmock.h>

#include "data/scratch.hpp"
#include "heed/data/dataset.hpp"
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

TEST(Pngs, NameTheRowOfAMistake) {
  struct Wrong {
    std::string row, reason;
  };
  const Wrong cases[] = {{"none.png\ta\ttrain", "none.png"},
                         {"bad.png\ta\ttrain", "PNG"},
                         {"bad.png\t\ttrain", "label is empty"}};
  for (const Wrong& wrong : cases) {
    const Scratch scratch;
    scratch.write("bad.png", "no picture");
    const DataSource source{
        .kind = "image", .data = scratch.write("d.tsv", "file\tlabel\tsplit\n" + wrong.row + "\n")};
    expect_parts(message_of([&] { load_dataset(source); }), {wrong.reason});
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
