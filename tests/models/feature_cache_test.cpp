#include "models/feature_cache.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "data/scratch.hpp"
#include "heed/base/file.hpp"

namespace heed {
namespace {

using testing::expect_parts;
using testing::message_of;
using testing::Scratch;

Tensor vectors_for(int seed, std::int64_t positions) {
  torch::manual_seed(static_cast<std::uint64_t>(seed));
  return torch::randn({positions, 3});
}

TEST(FeatureCache, WhatIsAddedIsFoundAlsoLaterAndInMemory) {
  const Scratch scratch;
  for (const std::filesystem::path& file : {scratch.folder() / "new" / "c", {}}) {
    FeatureCache cache(file, 3);
    EXPECT_FALSE(cache.find("a b").defined());
    cache.add({{"a b", vectors_for(1, 2)}, {"é", vectors_for(2, 1)}});
    cache.add({{"", vectors_for(3, 0)}});
    EXPECT_TRUE(torch::equal(cache.find("a b"), vectors_for(1, 2)));
    EXPECT_TRUE(torch::equal(cache.find("é"), vectors_for(2, 1)));
    EXPECT_EQ(cache.find("").size(0), 0);
    EXPECT_FALSE(cache.find("a").defined());
  }
  FeatureCache again(scratch.folder() / "new" / "c", 3);
  EXPECT_TRUE(torch::equal(again.find("a b"), vectors_for(1, 2)));
}

TEST(FeatureCache, TwoThatWriteSeeEachOtherAndLoseNothing) {
  const Scratch scratch;
  FeatureCache one(scratch.folder() / "c", 3), two(scratch.folder() / "c", 3);
  one.add({{"first", vectors_for(1, 2)}});
  two.add({{"second", vectors_for(2, 4)}});
  one.add({{"third", vectors_for(3, 1)}});
  EXPECT_TRUE(torch::equal(two.find("first"), vectors_for(1, 2)));
  EXPECT_TRUE(torch::equal(one.find("second"), vectors_for(2, 4)));
  FeatureCache all(scratch.folder() / "c", 3);
  for (const char* text : {"first", "second", "third"}) EXPECT_TRUE(all.find(text).defined());
}

TEST(FeatureCache, AFileCutAnywhereLosesOnlyWhatWasCut) {
  const Scratch scratch;
  const auto path = scratch.folder() / "c";
  std::int64_t first_end = 0;
  {
    FeatureCache cache(path, 3);
    cache.add({{"one", vectors_for(1, 2)}});
    first_end = static_cast<std::int64_t>(std::filesystem::file_size(path));
    cache.add({{"two", vectors_for(2, 2)}});
  }
  const std::string bytes = read_file(path);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    const std::string short_file = scratch.write("cut", bytes.substr(0, cut));
    FeatureCache cache(short_file, 3);
    const bool first = static_cast<std::int64_t>(cut) >= first_end;
    EXPECT_EQ(cache.find("one").defined(), first) << cut;
    EXPECT_FALSE(cache.find("two").defined()) << cut;
    cache.add({{"three", vectors_for(3, 1)}});
    FeatureCache again(short_file, 3);
    EXPECT_EQ(again.find("one").defined(), first) << cut;
    EXPECT_TRUE(torch::equal(again.find("three"), vectors_for(3, 1))) << cut;
  }
}

TEST(FeatureCache, AnAlteredRecordIsNotBelieved) {
  const Scratch scratch;
  const auto path = scratch.folder() / "c";
  {
    FeatureCache cache(path, 3);
    cache.add({{"one", vectors_for(1, 2)}});
  }
  const std::string bytes = read_file(path);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 0x10);
    FeatureCache cache(scratch.write("altered", changed), 3);
    EXPECT_FALSE(cache.find("one").defined()) << i;
  }
}

TEST(FeatureCache, AFolderThatCannotBeWrittenIsAnInputError) {
  expect_parts(message_of([] { FeatureCache("/proc/none/c", 3); }), {"/proc"});
}

TEST(ContentHash, SeesEveryByteAndTheLength) {
  std::set<std::uint64_t> seen;
  std::string text(100, 'x');
  for (std::size_t i = 0; i <= text.size(); ++i) seen.insert(content_hash(text.substr(0, i)));
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = 'y';
    seen.insert(content_hash(other));
  }
  seen.insert(content_hash(std::string(3, '\0')));
  seen.insert(content_hash(std::string(4, '\0')));
  EXPECT_EQ(seen.size(), 203u);
}

}  // namespace
}  // namespace heed
