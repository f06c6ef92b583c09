// Wrong calls: the message names the argument, what was given and what is needed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heed/attention/attend.hpp"
#include "heed/attention/attention.hpp"
#include "heed/base/error.hpp"

namespace heed {
namespace {

using testing::HasSubstr;

struct Errors : testing::Test {
  Tensor q = torch::randn({2, 4, 3, 8}), k = torch::randn({2, 2, 5, 8}),
         v = torch::randn({2, 2, 5, 6});

  std::string of(const AttendOptions& options) { return of(q, k, v, options); }
  static std::string of(const Tensor& query, const Tensor& key, const Tensor& value,
                        const AttendOptions& options = {}) {
    try {
      attend(query, key, value, options);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  }
};

TEST_F(Errors, NameShapesThatDisagree) {
  EXPECT_THAT(of(q[0][0], k, v), HasSubstr("query is 3×8, key is 2×2×5×8"));
  EXPECT_THAT(of(q, k, v.narrow(2, 0, 4)), HasSubstr("key is 2×2×5×8, value is 2×2×4×6"));
  EXPECT_THAT(of(q.narrow(0, 0, 1), k, v),
              HasSubstr("query is 1×4×3×8, key is 2×2×5×8; the batch sizes"));
  EXPECT_THAT(of(q.narrow(1, 0, 3), k, v),
              HasSubstr("query heads must be a multiple of key heads"));
  EXPECT_THAT(of(q.narrow(3, 0, 7), k, v),
              HasSubstr("query width 7 differs from key width 8; 'general' takes both"));
  EXPECT_THAT(of({.mask = torch::ones({4, 5}, torch::kBool)}),
              HasSubstr("mask is 4×5; it must broadcast to batch×heads×queries×keys = 2×4×3×5"));
  EXPECT_THAT(of({.bias = torch::ones({2})}), HasSubstr("bias is 2; it must broadcast"));
  EXPECT_THAT(of({.lengths = torch::tensor({1, 2, 3})}), HasSubstr("lengths is 3"));
  EXPECT_THAT(of({.lengths = torch::tensor({1, 6})}),
              HasSubstr("lengths hold 1 … 6; key has 5 positions"));
  EXPECT_THAT(of({.sink = torch::ones({2})}),
              HasSubstr("sink is 2; needed is one number for each of 4 query heads"));
}

TEST_F(Errors, NameTypes) {
  EXPECT_THAT(of(q.to(torch::kFloat64), k, v),
              HasSubstr("query has type Double, key has type Float"));
  EXPECT_THAT(of(q.to(torch::kInt64), k.to(torch::kInt64), v.to(torch::kInt64)),
              HasSubstr("a floating-point type is needed"));
  EXPECT_THAT(of({.mask = torch::ones({5})}), HasSubstr("a float goes in bias"));
  EXPECT_THAT(of({.bias = torch::ones({5}, torch::kBool)}), HasSubstr("a bool goes in mask"));
}

TEST_F(Errors, RefuseWhatIsAmbiguousOrNotFinite) {
  EXPECT_THAT(of({.causal = Causal::same()}),
              HasSubstr("causal=True with 3 queries and 5 keys is ambiguous"));
  EXPECT_THAT(of({.scale = NAN}), HasSubstr("scale is nan"));
  EXPECT_THAT(of({.scale = INFINITY}), HasSubstr("scale is inf"));
  EXPECT_THAT(of({.softcap = 0.0}), HasSubstr("softcap is 0"));
  EXPECT_THAT(of({.dropout_p = 1.0}), HasSubstr("dropout_p is 1"));
  EXPECT_THAT(of({.window = {{-2, 0}}}), HasSubstr("window is (-2, 0)"));
  EXPECT_THAT(of({.want = {.rows = {3}}}), HasSubstr("rows names query 3; there are 3"));
}

TEST_F(Errors, SuggestTheNearestPart) {
  EXPECT_THAT(of({.score = "scaled-dott"}),
              HasSubstr("unknown score 'scaled-dott'; did you mean 'scaled-dot'?"));
  EXPECT_THAT(of({.align = "reinforced"}),
              HasSubstr("align 'reinforced': parameter Ws (h_s×d_k) is missing from params"));
  EXPECT_THAT(
      of({.score = "location", .params = {{"W", torch::ones({4, 8})}}}),
      HasSubstr("there are 5 keys, W has rows for 4; a module needs the option max_keys = 5"));
  EXPECT_THAT(of({.score = "additive"}), HasSubstr("parameter W1 (h×d_q) is missing"));
  EXPECT_THAT(of({.score = "general", .params = {{"W", torch::ones({8, 7})}}}),
              HasSubstr("parameter W is 8×7, needed is d_k×d_q with d_q = 8"));
  EXPECT_THAT(of({.score = "general", .params = {{"w", torch::ones({8, 8})}}}),
              HasSubstr("parameter W (d_k×d_q) is missing"));
  EXPECT_THAT(of({.params = {{"W", torch::ones({8, 8})}}}),
              HasSubstr("unknown parameter 'W'; it takes none"));
  EXPECT_THAT(of({}, k, v, {.score = "dot"}), HasSubstr("score 'dot' needs a query"));
  EXPECT_THAT(of({.align = {"soft", {{"temperature", 2.0}}}, .kernel = Kernel::fused}),
              HasSubstr("kernel 'fused' cannot serve this call: the alignment has no fused form"));
  const Tensor W = torch::ones({2, 8});
  const Params additive = {{"W1", W}, {"W2", W}, {"w", torch::ones({2})}};
  EXPECT_THAT(of({.score = "additive", .params = additive, .kernel = Kernel::unfused}),
              HasSubstr("kernel 'unfused' cannot serve this call: the score is not a product"));
}

TEST_F(Errors, OfAModuleComeWhenItIsMade) {
  EXPECT_THROW(Attention(AttentionConfig{.score = "dot"},
                         Problem{.query_dim = 3, .key_dim = 4, .value_dim = 4}),
               InputError);
  EXPECT_THROW(Attention(AttentionConfig{.score = {"additive", {{"act", std::string("tan")}}}},
                         Problem{.query_dim = 3, .key_dim = 4, .value_dim = 4}),
               InputError);
}

}  // namespace
}  // namespace heed
