// Runs with any number of ranks: alone by ctest, as two and four by test_groups.py.
#include "train/example_share.hpp"

#include <gtest/gtest.h>

#include "data/scratch.hpp"
#include "heed/base/error.hpp"
#include "heed/dist/mpi.hpp"
#include "train/rank_bytes.hpp"
#include "train/sharing.hpp"

namespace heed {
namespace {

using Indices = ExampleShare::Indices;
using testing::Scratch;

class Counted : public TaskModel {
 public:
  explicit Counted(bool whole = false) : whole_(whole) {}
  Tensor losses(const Batch&, Trace&) override { throw InputError("not asked"); }
  Reply answer(const Batch&, Trace&) override { throw InputError("not asked"); }
  const Mechanism& attention() const override { throw InputError("not asked"); }
  double answers_in(const Example& example) const override {
    return static_cast<double>(example.inputs.at("text").size());
  }
  bool whole() const override { return whole_; }

 private:
  bool whole_;
};

/// `split`: with parts of their own for validation and test.
std::string table(std::size_t rows, bool split = false) {
  std::string text = split ? "text\tlabel\tsplit\n" : "text\tlabel\n";
  for (std::size_t i = 0; i < rows; ++i) {
    text += fmt::format("row {}", i);
    for (std::size_t word = 0; word < i % 4; ++word) text += " more";
    text += i % 3 == 0 ? "\tyes" : "\tno";
    if (split) text += i % 5 == 3 ? "\tdev" : i % 5 == 4 ? "\ttest" : "\ttrain";
    text += "\n";
  }
  return text;
}

DataSource source_of(const std::string& file) {
  return {.train = file, .val_fraction = 0.3, .seed = 4};
}

Dataset read_share(DataSource source, const dist::Group& group) {
  source.share = {.rank = static_cast<std::size_t>(group.rank()),
                  .ranks = static_cast<std::size_t>(group.size())};
  return load_dataset(source);
}

class Shares : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Shares, ReadInPartsAreWhatOneReads) {
  dist::Group& group = dist::mpi_world();
  const Scratch scratch;
  const std::string file = scratch.write("rows.tsv", table(GetParam()));
  const Dataset whole = load_dataset(source_of(file));
  Dataset data = read_share(source_of(file), group);
  if (group.size() > 1) {
    EXPECT_EQ(data.train_held.size, whole.train.size());
    EXPECT_EQ(data.train_held.places.size(), data.train.size());
    const std::size_t most = (GetParam() + 1) / static_cast<std::size_t>(group.size()) + 1;
    EXPECT_LE(data.train.size() + data.val.size(), most);
  }
  complete(data.val, data.val_held, group);
  complete(data.train, data.train_held, group);
  EXPECT_EQ(data.labels, whole.labels);
  EXPECT_EQ(to_bytes(data.train), to_bytes(whole.train));
  EXPECT_EQ(to_bytes(data.val), to_bytes(whole.val));
}

TEST_P(Shares, RanksSeeThatTheirFilesDiffer) {
  dist::Group& group = dist::mpi_world();
  const Scratch scratch;
  const std::string text = table(GetParam());
  const DataSource source = source_of(scratch.write("rows.tsv", text));
  EXPECT_NO_THROW(check_alike({{"data", digest(read_share(source, group))}}, group));
  if (group.size() == 1) return;
  // A row that another rank reads, or this one: the last rank has other words in it.
  const bool last = group.rank() == group.size() - 1;
  for (const std::string row : {"row 0", "row 1"}) {
    std::string other = text;
    if (last) other.replace(other.find(row), row.size(), "rows 0");
    scratch.write("rows.tsv", other);
    EXPECT_THROW(check_alike({{"data", digest(read_share(source, group))}}, group), InputError);
  }
}

TEST_P(Shares, OnlyTrainingRowsAreReadInParts) {
  dist::Group& group = dist::mpi_world();
  const Scratch scratch;
  const DataSource source{.data = scratch.write("rows.tsv", table(GetParam(), /*split=*/true))};
  const Dataset whole = load_dataset(source);
  Dataset data = read_share(source, group);
  EXPECT_EQ(to_bytes(data.test), to_bytes(whole.test));
  EXPECT_EQ(data.val_held.size, 0u);
  complete(data.val, data.val_held, group);
  EXPECT_EQ(to_bytes(data.val), to_bytes(whole.val));
  complete(data.train, data.train_held, group);
  EXPECT_EQ(to_bytes(data.train), to_bytes(whole.train));
}

TEST_P(Shares, ARankHasWhatItLearnsFrom) {
  dist::Group& group = dist::mpi_world();
  const Scratch scratch;
  const std::string file = scratch.write("rows.tsv", table(GetParam()));
  const Dataset whole = load_dataset(source_of(file));
  Dataset parts = read_share(source_of(file), group), all = whole;
  for (Dataset* data : {&parts, &all}) {
    ExampleShare share(group);
    share.take(std::move(data->train), data->train_held, Counted());
    ASSERT_EQ(share.size(), whole.train.size());
    for (const std::uint64_t seed : {1, 2, 3}) {
      const std::vector<Indices> batches = bucket_batches(share.lengths(), 5, seed);
      share.deal(batches);
      std::size_t own = 0;
      for (const Indices& batch : batches) {
        const Indices mine = share.own(batch), places = share.places(mine);
        own += mine.size();
        for (std::size_t i = 0; i < mine.size(); ++i) {
          EXPECT_EQ(to_bytes(share.here().subspan(places[i], 1)),
                    to_bytes(std::span(whole.train).subspan(mine[i], 1)));
        }
        for (const std::size_t index : batch)
          EXPECT_EQ(share.answers_in(index), Counted().answers_in(whole.train[index]));
      }
      EXPECT_EQ(share.here().size(), own);  // and nothing else
    }
  }
}

TEST_P(Shares, WhatMustBeSeenWholeStaysWithTheFirst) {
  dist::Group& group = dist::mpi_world();
  const Scratch scratch;
  Dataset data = load_dataset(source_of(scratch.write("rows.tsv", table(GetParam()))));
  const std::size_t size = data.train.size();
  ExampleShare share(group);
  share.take(std::move(data.train), data.train_held, Counted(/*whole=*/true));
  share.deal(bucket_batches(share.lengths(), size, 1));
  EXPECT_EQ(share.here().size(), group.first() ? size : 0);
}

// Two leave some of four ranks without an example.
INSTANTIATE_TEST_SUITE_P(Rows, Shares, ::testing::Values(2, 7, 64));

TEST(Shares, BytesKeepAllOfAnExample) {
  Example example{.id = "ü", .inputs = {{"text", {"a", ""}}}, .label = "x", .gold = {}};
  example.gold["text"] = {0.1f, 0};
  example.values["points"] = {.width = 2, .data = {1, 2, 3, 4}};
  example.views["left"] = {.of = "text", .begin = 0, .end = 1};
  example.levels["text"] = {{1, 1}, {2}};
  example.target = {"b"};
  example.links = {{0, 1}};
  example.number = 0.1;
  example.node = 7;
  example.group = "story 1";
  const Example read = examples_from(to_bytes(std::span(&example, 1))).at(0);
  EXPECT_EQ(read.id, example.id);
  EXPECT_EQ(read.inputs, example.inputs);
  EXPECT_EQ(read.label, example.label);
  EXPECT_EQ(read.gold, example.gold);
  EXPECT_EQ(read.values.at("points").data, example.values.at("points").data);
  EXPECT_EQ(read.values.at("points").width, 2);
  EXPECT_EQ(read.views.at("left").of, "text");
  EXPECT_EQ(read.views.at("left").end, 1u);
  EXPECT_EQ(read.levels, example.levels);
  EXPECT_EQ(read.target, example.target);
  EXPECT_EQ(read.links, example.links);
  EXPECT_EQ(read.number, example.number);
  EXPECT_EQ(read.node, 7);
  EXPECT_EQ(read.group, example.group);
  EXPECT_THROW(examples_from(to_bytes(std::span(&example, 1)).substr(0, 40)), InputError);
}

}  // namespace
}  // namespace heed
