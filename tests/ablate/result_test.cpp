#include "heed/ablate/result.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "data/scratch.hpp"

namespace heed::ablate {
namespace {

using testing::expect_parts;
using testing::message_of;
using testing::Scratch;

CellResult sample() {
  CellResult result{.metric = "accuracy", .parameters = 12, .best_epoch = 2, .epochs = 5};
  result.test = {.loss = std::numeric_limits<double>::quiet_NaN(),
                 .metrics = {{"accuracy", 0.1 + 0.2}},
                 .scores = {1, 0, 0.25},
                 .examples = "3-abc"};
  result.seconds = 1.5;
  result.memory = 1u << 30;
  return result;
}

TEST(Result, ReadsBackToTheSameBits) {
  const CellResult read = parse_result(to_json(sample()), "r.json");
  EXPECT_EQ(read.metric, "accuracy");
  EXPECT_EQ(read.test.metrics.at("accuracy"), 0.1 + 0.2);
  EXPECT_EQ(read.test.scores, sample().test.scores);
  EXPECT_EQ(read.test.examples, "3-abc");
  EXPECT_TRUE(std::isnan(read.test.loss));
  EXPECT_EQ(read.memory, 1u << 30);
  EXPECT_EQ(to_json(read), to_json(sample()));
}

TEST(Result, OfAFailureIsItsMessage) {
  const CellResult read = parse_result(to_json(CellResult{.failure = "no \"luck\""}), "r.json");
  EXPECT_EQ(read.failure, "no \"luck\"");
}

TEST(Result, ThatIsDamagedNamesItsFile) {
  const std::string whole = to_json(sample());
  for (const std::string& text :
       {std::string(), whole.substr(0, whole.size() / 2), std::string("{}"), std::string("[1]"),
        std::string("{\"metric\": 3}")}) {
    expect_parts(message_of([&] { parse_result(text, "r.json"); }), {"r.json", "damaged"});
  }
}

TEST(Result, IsNoneUntilItIsWritten) {
  const Scratch scratch;
  const AblationFiles files{scratch.folder()};
  std::filesystem::create_directories(files.result("x").parent_path());
  EXPECT_FALSE(read_result(files, "x"));
  write_result(files, "x", sample());
  EXPECT_EQ(read_result(files, "x")->parameters, 12);
}

}  // namespace
}  // namespace heed::ablate
