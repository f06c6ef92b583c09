#include "heed/metrics/evaluate.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "heed/base/error.hpp"

namespace heed::metrics {
namespace {

namespace fs = std::filesystem;

class Evaluate : public testing::Test {
 protected:
  void SetUp() override {
    // Named after the process: tests may run side by side.
    folder_ = fs::path(testing::TempDir()) / fmt::format("heed-evaluate-{}", ::getpid());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path file(const std::string& name, std::string_view text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }

  static std::string error(const MetricRequest& request) {
    try {
      evaluate_files(request);
    } catch (const InputError& e) {
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
      return e.what();
    }
    return "no error";
  }

  MetricRequest labels(std::string_view pred, std::string_view gold) const {
    return {.name = "f1", .pred = file("pred", pred), .gold = file("gold", gold)};
  }

  fs::path folder_;
};

#define EXPECT_ERROR(request, part) \
  EXPECT_NE(error(request).find(part), std::string::npos) << error(request)

TEST_F(Evaluate, ReadsLinesWithAnyEnd) {
  const auto ref = file("ref",
                        "\xEF\xBB\xBF"
                        "a b c d e\r\nf g h i");
  const auto hyp = file("hyp", "a b c d e\nf g h i\n");
  EXPECT_DOUBLE_EQ(evaluate_files({.name = "bleu", .hyp = hyp, .refs = {ref}}).value, 100);
  EXPECT_EQ(evaluate_files({.name = "wer", .hyp = hyp, .refs = {ref}}).value, 0);
}

TEST_F(Evaluate, SaysWhatIsMissingOrTooMuch) {
  const auto hyp = file("hyp", "a\n");
  EXPECT_ERROR((MetricRequest{.name = "blue"}), "did you mean 'bleu'");
  EXPECT_ERROR((MetricRequest{.name = "bleu", .hyp = hyp}), "needs --ref");
  EXPECT_ERROR((MetricRequest{.name = "bleu", .hyp = hyp, .refs = {hyp}, .average = "macro"}),
               "takes no --average");
  EXPECT_ERROR((MetricRequest{.name = "bleu", .hyp = folder_ / "nowhere", .refs = {hyp}}),
               "nowhere: cannot open");
  EXPECT_ERROR((MetricRequest{.name = "meteor", .hyp = hyp, .refs = {hyp}, .variant = "ntlk"}),
               "did you mean 'nltk'");
  EXPECT_ERROR((MetricRequest{.name = "hr@x", .pred = hyp, .gold = hyp}),
               "number is needed behind @");
}

TEST_F(Evaluate, RejectsEmptyAndUnequalFilesAndBrokenText) {
  EXPECT_ERROR(labels("", "a\n"), "pred: is empty");
  EXPECT_ERROR(labels("a\na\n", "a\n"), "has 2 lines but");
  EXPECT_ERROR(labels("a\n\na\n", "a\na\na\n"), "pred:2: no label");
  EXPECT_ERROR(labels("a\n\xFF\n", "a\na\n"), "pred:2: byte 1 is not valid UTF-8");
}

TEST_F(Evaluate, AsksAboutLabelsThatStandInOneFileOnly) {
  EXPECT_ERROR(labels("a\nb\nc\n", "a\nb\nb\n"), "pred:3: label 'c' is not in");
  EXPECT_ERROR(labels("a\na\na\n", "a\nb\na\n"), "gold:2: label 'b' is not in");
  MetricRequest request = labels("a\na\na\n", "a\nb\na\n");
  request.labels = {"a", "b"};
  EXPECT_DOUBLE_EQ(evaluate_files(request).value, (0.8 + 0) / 2);
  request.labels = {"a", "c"};
  EXPECT_ERROR(request, "gold:2: label 'b' is not in --labels");
}

TEST_F(Evaluate, TiesThePositiveLabelToBinary) {
  MetricRequest request = labels("a\nb\nb\n", "a\nb\na\n");
  request.average = "binary";
  EXPECT_ERROR(request, "needs the positive label");
  request.positive = "a";
  EXPECT_DOUBLE_EQ(evaluate_files(request).value, 2.0 / 3);
  request.average = "macro";
  EXPECT_ERROR(request, "for --average binary");
}

TEST_F(Evaluate, RejectsMalformedAlignments) {
  const auto gold = file("gold", "0-0\n1?1 0-0\n");
  const auto run = [&](std::string_view hyp) {
    return MetricRequest{.name = "aer", .hyp = file("hyp", hyp), .gold = gold};
  };
  EXPECT_ERROR(run("0-0\n1:1\n"), "hyp:2: '1:1' is no link");
  EXPECT_ERROR(run("0-0\n1?1\n"), "hyp:2: a possible link");
  EXPECT_DOUBLE_EQ(evaluate_files(run("0-0\n\n")).value, 1 - 2.0 / 3);
}

TEST_F(Evaluate, ReadsMarksApartOrTogetherAndRejectsNan) {
  const auto pred = file("pred", "0.5 0.5 0\n0.1 0.2 0.7\n");
  const auto run = [&](const char* name, std::string_view gold, const fs::path& from) {
    return MetricRequest{.name = name, .pred = from, .gold = file("gold", gold)};
  };
  EXPECT_DOUBLE_EQ(evaluate_files(run("correctness", "100\n0 1 1\n", pred)).value, (0.5 + 0.9) / 2);
  EXPECT_DOUBLE_EQ(evaluate_files(run("auprc", "110\n001\n", pred)).value, 1);
  EXPECT_ERROR(run("auprc", "110\n0011\n", pred), "pred:2: 3 tokens but 4");
  EXPECT_ERROR(run("auprc", "110\n002\n", pred), "gold:2: '002' is no mark");
  EXPECT_ERROR(run("correctness", "1 0 0\n0 nan 1\n", pred), "gold:2: NaN");
  EXPECT_ERROR(run("correctness", "1 0 0\n0 x 1\n", pred), "gold:2: 'x' is no number");
  EXPECT_ERROR(run("correctness", "1 0 0\n0 -1 1\n", pred), "gold:2: the weight -1 is negative");
  EXPECT_ERROR(run("correctness", "1 0 0\n0 inf 1\n", pred), "gold:2: 'inf' is not finite");
}

TEST_F(Evaluate, ReadsLogProbabilities) {
  const auto run = [&](std::string_view text) {
    return MetricRequest{.name = "perplexity", .logprobs = file("logs", text)};
  };
  EXPECT_NEAR(evaluate_files(run("-1 -1\n\n-1e0\n")).value, std::exp(1), 1e-12);
  EXPECT_EQ(to_json(evaluate_files(run("-inf\n"))).find("\"value\": 1e999"), 23u);
  EXPECT_ERROR(run("-1\n0.5\n"), "logs:2: 0.5 is no log probability");
  EXPECT_ERROR(run("-1\nnan\n"), "logs:2: NaN");
  EXPECT_ERROR(run("\n\n"), "has no log probability");
}

TEST_F(Evaluate, RanksWithAndWithoutGrades) {
  const auto pred = file("pred", "a b\nc d\n");
  const auto run = [&](const char* name, std::string_view gold, std::optional<std::string> mode) {
    return MetricRequest{.name = name, .pred = pred, .gold = file("gold", gold), .mode = mode};
  };
  EXPECT_DOUBLE_EQ(evaluate_files(run("hr@1", "a\nd\n", {})).value, 0.5);
  EXPECT_DOUBLE_EQ(evaluate_files(run("ndcg@1", "a:1 b:4\nc:2\n", "graded")).value, (0.25 + 1) / 2);
  EXPECT_ERROR(run("ndcg", "a\nc:2\n", "graded"), "gold:1: 'a' is no item:gain");
  EXPECT_ERROR(run("ndcg", "a:1\nc:-2\n", "graded"), "gold:2: the gain -2 is negative");
}

TEST_F(Evaluate, RejectsImagesThatAreNone) {
  const auto text = file("a.png", "no image");
  EXPECT_ERROR((MetricRequest{.name = "psnr", .a = {text}, .b = {text}}),
               "cannot be read as a PNG");
  EXPECT_ERROR((MetricRequest{.name = "psnr", .a = {text, text}, .b = {text}}),
               "2 images as --a but 1");
}

TEST_F(Evaluate, ComparesTwoSystems) {
  MetricRequest request = labels("a\nb\nb\na\n", "a\nb\na\nb\n");
  request.other = file("other", "a\nb\na\nb\n");
  const Metric metric = evaluate_files(request);
  EXPECT_DOUBLE_EQ(metric.details.at("other"), 1);
  EXPECT_DOUBLE_EQ(metric.details.at("difference"), -0.5);
  request.other = file("other", "a\n");
  EXPECT_ERROR(request, "other has 1 lines but");
}

TEST_F(Evaluate, WritesValidJson) {
  Metric metric{.name = "x", .value = -0.25, .signature = "x|v:1", .details = {{"f1[\"\n]", 1e-7}}};
  EXPECT_EQ(
      to_json(metric),
      R"({"name": "x", "value": -0.25, "signature": "x|v:1", "details": {"f1[\"\n]": 1e-07}})");
  metric.per_segment = {1, std::numeric_limits<double>::infinity()};
  EXPECT_TRUE(to_json(metric).ends_with(R"(, "segments": [1, 1e999]})"));
}

TEST(Catalogue, ListsTheContractAndEveryNameRuns) {
  std::vector<std::string> names;
  for (const MetricInfo& info : catalogue()) {
    names.emplace_back(info.name);
    EXPECT_FALSE(info.files.empty()) << info.name;
    // Known to the reader of requests: the complaint is about files, not about the name.
    try {
      evaluate_files({.name = std::string(info.name)});
      ADD_FAILURE() << info.name << " ran without files";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("needs --"), std::string::npos) << error.what();
    }
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"bleu", "meteor", "perplexity", "wer", "per", "psnr", "ssim",
                                      "iou", "accuracy", "precision", "recall", "f1", "aer",
                                      "token-f1", "iou-f1", "auprc", "correctness", "hr", "ndcg"}));
}

}  // namespace
}  // namespace heed::metrics
