#include "heed/metrics/bleu.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "heed/base/error.hpp"
#include "metrics/text.hpp"

namespace heed::metrics {
namespace {

using Lines = std::vector<std::string>;
using References = std::vector<Lines>;

TEST(Bleu, IsTheFormulaOnASentenceWorkedOutByHand) {
  // 6 words; matches 5 of 6, 3 of 5, 1 of 4, 0 of 3: exp smoothing makes the last ½ of 3.
  const Lines hypothesis = {"the cat sat on a mat"};
  const References references = {{"the cat is on a mat"}};
  const auto metric = bleu(hypothesis, references);
  const double product = (5.0 / 6) * (3.0 / 5) * (1.0 / 4) * (0.5 / 3);
  EXPECT_NEAR(metric.value, 100 * std::pow(product, 0.25), 1e-12);
  EXPECT_EQ(metric.details.at("correct3"), 1);
  EXPECT_EQ(metric.details.at("total4"), 3);
  EXPECT_EQ(metric.details.at("bp"), 1);

  const auto with = [&](BleuOptions options) {
    return bleu(hypothesis, references, options).value;
  };
  EXPECT_EQ(with({.smooth = "none"}), 0);
  EXPECT_NEAR(with({.smooth = "floor"}),
              100 * std::pow((5.0 / 6) * (3.0 / 5) * (1.0 / 4) * (0.1 / 3), 0.25), 1e-12);
  EXPECT_NEAR(with({.smooth = "add-k"}),
              100 * std::pow((5.0 / 6) * (4.0 / 6) * (2.0 / 5) * (1.0 / 4), 0.25), 1e-12);
  EXPECT_NEAR(with({.max_order = 2}), 100 * std::sqrt((5.0 / 6) * (3.0 / 5)), 1e-12);
}

TEST(Bleu, PenalisesBrevityAgainstTheClosestReference) {
  const Lines hypothesis = {"a b c d"};
  EXPECT_NEAR(bleu(hypothesis, References{{"a b c d e f"}}).value, 100 * std::exp(1 - 6.0 / 4),
              1e-12);
  // Lengths 3 and 5 are as close: the shorter counts, so there is no penalty.
  EXPECT_NEAR(bleu(hypothesis, References{{"a b c d e"}, {"x y z"}}).value, 100, 1e-12);
}

TEST(Bleu, ClipsByTheReferenceThatHasMost) {
  const auto metric = bleu(Lines{"a a a"}, References{{"a b a"}, {"a c d"}}, {.max_order = 1});
  EXPECT_NEAR(metric.value, 100 * 2.0 / 3, 1e-12);
}

TEST(Bleu, EffectiveOrderStopsWhereThereAreNoNgrams) {
  EXPECT_EQ(bleu(Lines{"a b"}, References{{"a b"}}).value, 0);
  EXPECT_NEAR(bleu(Lines{"a b"}, References{{"a b"}}, {.effective_order = true}).value, 100, 1e-12);
}

TEST(Bleu, IsZeroForNothing) {
  EXPECT_EQ(bleu(Lines{}, References{{}}).value, 0);
  EXPECT_EQ(bleu(Lines{""}, References{{"a b c d"}}).value, 0);
  EXPECT_EQ(bleu(Lines{"a"}, References{{""}}).value, 0);
}

TEST(Bleu, RejectsWhatItCannotMeasure) {
  EXPECT_THROW(bleu(Lines{"a"}, References{}), InputError);
  EXPECT_THROW(bleu(Lines{"a"}, References{{"a", "b"}}), InputError);
  EXPECT_THROW(bleu(Lines{"a"}, References{{"a"}}, {.smooth = "expo"}), InputError);
  EXPECT_THROW(bleu(Lines{"a"}, References{{"a"}}, {.tokeniser = "14a"}), InputError);
  EXPECT_THROW(bleu(Lines{"a"}, References{{"a"}}, {.max_order = 0}), InputError);
}

TEST(Bleu, SignatureNamesEveryParameter) {
  const auto metric = bleu(Lines{"a"}, References{{"a"}, {"b"}},
                           {.lowercase = true, .smooth = "floor", .smooth_value = 0.25});
  EXPECT_EQ(metric.signature, "bleu|nrefs:2|case:lc|eff:no|tok:13a|smooth:floor[0.25]|order:4|v:" +
                                  std::string(version()));
}

TEST(Tokenise13a, SplitsSymbolsPointsAndDashes) {
  EXPECT_EQ(tokenise_13a("Hello, world! (1,000.5 km/h)"),
            (Lines{"Hello", ",", "world", "!", "(", "1,000.5", "km", "/", "h", ")"}));
  EXPECT_EQ(tokenise_13a("3-4 well-known it's"), (Lines{"3", "-", "4", "well-known", "it's"}));
  EXPECT_EQ(tokenise_13a("&quot;a&amp;lt;b&quot;<skipped>"), (Lines{"\"", "a", "<", "b", "\""}));
  EXPECT_EQ(tokenise_13a("é.à"), (Lines{"é", ".", "à"}));
  EXPECT_EQ(tokenise_13a(""), Lines{});
}

TEST(Text, KnowsUnicodeSpacesAndCases) {
  EXPECT_EQ(split_unicode(" a\u00A0b\u3000c\u2028\td "), (Lines{"a", "b", "c", "d"}));
  EXPECT_EQ(split_spaces(" a\tb \u00A0c\td\t"), (Lines{"a\tb", "c\td"}));
  EXPECT_EQ(lower_utf8("ÀÉŽΣΑΣ ЖԱ𐐀 ẞ"), "àéžσας жա𐐨 ß");
  EXPECT_EQ(lower_utf8("İ"), "i\u0307");
  EXPECT_EQ(tokenise_characters("né à"), (Lines{"n", "é", "à"}));
  const std::string broken = "a\xFF\xC3";  // stays inside the text and loses nothing
  EXPECT_EQ(decode(broken).size(), 3u);
}

}  // namespace
}  // namespace heed::metrics
