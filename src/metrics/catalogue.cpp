#include "heed/metrics/evaluate.hpp"

namespace heed::metrics {

std::span<const MetricInfo> catalogue() {
  static const std::vector<std::string> kText = {"hyp", "ref"}, kPair = {"pred", "gold"};
  static const std::vector<std::string> kClasses = {"average", "positive", "labels", "other"};
  static const std::vector<MetricInfo> kAll = {
      {"bleu",
       "BLEU, 0–100",
       "Papineni et al. 2002",
       kText,
       {"tokeniser", "lowercase", "smooth", "smooth-value", "max-order", "effective-order",
        "other"}},
      {"meteor",
       "METEOR, 0–100",
       "Banerjee & Lavie 2005; Lavie & Agarwal 2007",
       kText,
       {"variant", "tokeniser", "wordnet", "no-wordnet", "other"}},
      {"perplexity", "Perplexity over tokens", "Jelinek et al. 1977", {"logprobs"}, {"other"}},
      {"wer", "Word error rate", "Levenshtein 1966", kText, {"other"}},
      {"per",
       "Phoneme (or with pi position-independent) error rate",
       "Levenshtein 1966; Tillmann et al. 1997",
       kText,
       {"mode", "other"}},
      {"psnr", "Peak signal-to-noise ratio in dB", "Huynh-Thu & Ghanbari 2008", {"a", "b"}, {}},
      {"ssim", "Structural similarity", "Wang et al. 2004", {"a", "b"}, {"variant"}},
      {"iou", "Intersection over union of masks", "Jaccard 1901", kPair, {}},
      {"accuracy", "Share of right labels", "", kPair, {"labels", "other"}},
      {"precision", "Precision of labels", "van Rijsbergen 1979", kPair, kClasses},
      {"recall", "Recall of labels", "van Rijsbergen 1979", kPair, kClasses},
      {"f1", "Harmonic mean of precision and recall", "van Rijsbergen 1979", kPair, kClasses},
      {"aer", "Alignment error rate", "Och & Ney 2003", {"hyp", "gold"}, {"other"}},
      {"token-f1", "Agreement of marked tokens", "DeYoung et al. 2020", kPair, {"other"}},
      {"iou-f1", "Agreement of marked spans", "DeYoung et al. 2020", kPair, {"threshold", "other"}},
      {"auprc",
       "Area under the precision-recall curve of token weights",
       "DeYoung et al. 2020",
       kPair,
       {"other"}},
      {"correctness",
       "Share of attention inside the gold region",
       "Liu et al. 2017",
       kPair,
       {"other"}},
      {"hr",
       "Hit rate among the first k",
       "Deshpande & Karypis 2004",
       kPair,
       {"k", "mode", "other"}},
      {"ndcg",
       "Normalised discounted cumulative gain",
       "Järvelin & Kekäläinen 2002",
       kPair,
       {"k", "mode", "other"}},
  };
  return kAll;
}

}  // namespace heed::metrics
