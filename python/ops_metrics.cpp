// torch.ops.heed.metrics: the metrics on plain data. A call comes as JSON, pictures as tensors.
#include <torch/library.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "heed/base/error.hpp"
#include "heed/base/words.hpp"
#include "heed/metrics/alignment.hpp"
#include "heed/metrics/bleu.hpp"
#include "heed/metrics/bootstrap.hpp"
#include "heed/metrics/classification.hpp"
#include "heed/metrics/compare.hpp"
#include "heed/metrics/error_rate.hpp"
#include "heed/metrics/evaluate.hpp"
#include "heed/metrics/image.hpp"
#include "heed/metrics/meteor.hpp"
#include "heed/metrics/perplexity.hpp"
#include "heed/metrics/ranking.hpp"
#include "heed/metrics/rationale.hpp"

namespace {

using namespace heed;
using namespace heed::metrics;
using Json = nlohmann::ordered_json;
using Lists = std::vector<std::vector<std::string>>;

/// What a call has: `data` by name, `options` by name, and pictures.
struct Call {
  const Json& data;
  const Json& options;
  const std::vector<at::Tensor>& pictures;

  template <class T>
  T get(const char* name) const {
    return data.at(name).get<T>();
  }
  template <class T>
  void set(const char* name, T& place) const {
    if (options.contains(name)) place = options.at(name).get<T>();
  }
  std::string choice(const char* name, const std::vector<std::string>& known) const {
    std::string value = known.front();
    set(name, value);
    HEED_CHECK(std::ranges::find(known, value) != known.end(), "unknown {} '{}'{}", name, value,
               suggestion(value, known));
    return value;
  }
};

Metric bleu_of(const Call& call) {
  BleuOptions options;
  call.set("tokeniser", options.tokeniser);
  call.set("lowercase", options.lowercase);
  call.set("smooth", options.smooth);
  call.set("max_order", options.max_order);
  call.set("effective_order", options.effective_order);
  if (call.options.contains("smooth_value"))
    options.smooth_value = call.options.at("smooth_value").get<double>();
  return bleu(call.get<std::vector<std::string>>("hyps"), call.get<Lists>("refs"), options);
}

Metric meteor_of(const Call& call) {
  MeteorOptions options;
  if (call.choice("variant", {"fewest-chunks", "nltk"}) == "nltk")
    options.variant = MeteorVariant::nltk;
  call.set("tokeniser", options.tokeniser);
  std::string folder;
  bool synonyms = true;
  call.set("wordnet", folder);
  call.set("synonyms", synonyms);
  std::optional<WordNet> wordnet;
  if (synonyms) wordnet = folder.empty() ? WordNet::find() : WordNet(folder);
  options.wordnet = wordnet ? &*wordnet : nullptr;
  return meteor(call.get<std::vector<std::string>>("hyps"), call.get<Lists>("refs"), options);
}

Metric wer_of(const Call& call) {
  return wer(call.get<std::vector<std::string>>("hyps"), call.get<Lists>("refs"));
}

Metric per_of(const Call& call) {
  const bool bags = call.choice("mode", {"phoneme", "pi"}) == "pi";
  return per(call.get<std::vector<std::string>>("hyps"), call.get<Lists>("refs"),
             bags ? PerMode::position_independent : PerMode::phoneme);
}

/// JSON has no infinity: null is log 0.
Metric perplexity_of(const Call& call) {
  std::vector<std::vector<double>> rows;
  for (const Json& segment : call.data.at("log_probs")) {
    std::vector<double>& row = rows.emplace_back();
    for (const Json& value : segment)
      row.push_back(value.is_null() ? -std::numeric_limits<double>::infinity()
                                    : value.get<double>());
  }
  return perplexity(rows);
}

Metric accuracy_of(const Call& call) {
  return accuracy(call.get<std::vector<std::string>>("pred"),
                  call.get<std::vector<std::string>>("gold"));
}

template <auto kMeasure>
Metric classes_of(const Call& call) {
  ClassificationOptions options;
  std::string average = "macro";
  call.set("average", average);
  call.set("positive", options.positive);
  call.set("labels", options.labels);
  options.average = parse_average(average);
  HEED_CHECK((options.average == Average::binary) == call.options.contains("positive"),
             "average \"binary\" and a positive label go together");
  return kMeasure(call.get<std::vector<std::string>>("pred"),
                  call.get<std::vector<std::string>>("gold"), options);
}

Metric aer_of(const Call& call) {
  const auto parsed = [&](const char* name) {
    std::vector<Alignment> alignments;
    for (const auto& line : call.get<std::vector<std::string>>(name))
      alignments.push_back(parse_pharaoh(line));
    return alignments;
  };
  const std::vector<Alignment> hyps = parsed("hyps");
  for (const Alignment& alignment : hyps)
    HEED_CHECK(alignment.possible.empty(), "aer: only gold alignments have possible links (i?j)");
  return aer(hyps, parsed("gold"));
}

template <auto kMeasure>
Metric marks_of(const Call& call) {
  return kMeasure(call.get<std::vector<Marks>>("pred"), call.get<std::vector<Marks>>("gold"));
}

Metric iou_f1_of(const Call& call) {
  double threshold = 0.5;
  call.set("threshold", threshold);
  return iou_f1(call.get<std::vector<Marks>>("pred"), call.get<std::vector<Marks>>("gold"),
                threshold);
}

Metric auprc_of(const Call& call) {
  return auprc(call.get<std::vector<Weights>>("pred"), call.get<std::vector<Marks>>("gold"));
}

Metric correctness_of(const Call& call) {
  return correctness(call.get<std::vector<Weights>>("pred"),
                     call.get<std::vector<Weights>>("gold"));
}

template <auto kMeasure>
Metric ranking_of(const Call& call) {
  std::size_t k = 10;
  call.set("k", k);
  return kMeasure(call.get<std::vector<Ranking>>("pred"), call.get<std::vector<Relevant>>("gold"),
                  k);
}

/// [height, width] or [height, width, channels], bytes.
Image picture(const at::Tensor& tensor) {
  HEED_CHECK(tensor.scalar_type() == at::kByte && (tensor.dim() == 2 || tensor.dim() == 3),
             "a picture is [height, width] or [height, width, channels] of bytes");
  const at::Tensor whole = tensor.contiguous();
  const auto* bytes = whole.const_data_ptr<std::uint8_t>();
  return {.width = static_cast<std::size_t>(whole.size(1)),
          .height = static_cast<std::size_t>(whole.size(0)),
          .channels = static_cast<std::size_t>(whole.dim() == 3 ? whole.size(2) : 1),
          .pixels = {bytes, bytes + whole.numel()}};
}

/// The first half against the second.
template <class Compare>
Metric pictures_of(const Call& call, const Compare& compare) {
  std::vector<Image> a, b;
  const std::size_t half = call.pictures.size() / 2;
  for (std::size_t i = 0; i < half; ++i) {
    a.push_back(picture(call.pictures[i]));
    b.push_back(picture(call.pictures[half + i]));
  }
  return compare(a, b);
}

Metric psnr_of(const Call& call) { return pictures_of(call, psnr); }
Metric iou_of(const Call& call) { return pictures_of(call, iou); }
Metric ssim_of(const Call& call) {
  const bool gaussian = call.choice("variant", {"uniform", "gaussian"}) == "gaussian";
  return pictures_of(call, [=](const auto& a, const auto& b) {
    return ssim(a, b, gaussian ? SsimWindow::gaussian : SsimWindow::uniform);
  });
}

using Measure = Metric (*)(const Call&);
const std::map<std::string, Measure> kMetrics = {
    {"bleu", bleu_of},
    {"meteor", meteor_of},
    {"perplexity", perplexity_of},
    {"wer", wer_of},
    {"per", per_of},
    {"psnr", psnr_of},
    {"ssim", ssim_of},
    {"iou", iou_of},
    {"accuracy", accuracy_of},
    {"precision", classes_of<precision>},
    {"recall", classes_of<recall>},
    {"f1", classes_of<f1>},
    {"aer", aer_of},
    {"token-f1", marks_of<token_f1>},
    {"iou-f1", iou_f1_of},
    {"auprc", auprc_of},
    {"correctness", correctness_of},
    {"hr", ranking_of<hit_rate>},
    {"ndcg", ranking_of<ndcg>},
};

std::string metrics_op(const std::string& text, const std::vector<at::Tensor>& pictures) try {
  const Json call = Json::parse(text);
  Metric metric = kMetrics.at(call.at("name").get<std::string>())(
      {.data = call.at("data"), .options = call.at("options"), .pictures = pictures});
  if (const auto resamples = call.at("bootstrap").get<std::size_t>(); resamples > 0)
    add_interval(metric, {.resamples = resamples, .seed = call.at("seed").get<std::uint64_t>()});
  for (std::size_t i = 0; call.at("segments").get<bool>() && i < metric.segments; ++i)
    metric.per_segment.push_back(metric.resample(std::span(&i, 1)));
  return to_json(metric);
} catch (const InputError& error) {
  TORCH_CHECK_VALUE(false, error.what());
} catch (const Json::exception& error) {
  TORCH_CHECK_VALUE(false, "metrics: ", error.what());
}

/// A tensor [seeds, examples] as the comparison wants it.
SeedScores seed_scores(const at::Tensor& scores) {
  HEED_CHECK(scores.dim() == 2, "compare: a list a seed, a number an example, not {} axes",
             scores.dim());
  const at::Tensor rows = scores.to(at::kCPU, at::kDouble).contiguous();
  SeedScores all;
  for (std::int64_t s = 0; s < rows.size(0); ++s) {
    const double* row = rows.data_ptr<double>() + s * rows.size(1);
    all.emplace_back(row, row + rows.size(1));
  }
  return all;
}

std::vector<double> compare_op(const at::Tensor& a, const at::Tensor& b, double confidence) try {
  HEED_CHECK(confidence > 0 && confidence < 1, "compare: confidence {} is not between 0 and 1",
             confidence);
  const CrossedComparison found =
      compare_crossed(seed_scores(a), seed_scores(b), {.confidence = confidence});
  return {found.difference.mean, found.difference.low, found.difference.high,
          found.p_value,         found.p_examples,     found.p_seeds};
} catch (const InputError& error) {
  TORCH_CHECK_VALUE(false, error.what());
}

std::vector<double> holm_op(const std::vector<double>& p_values) { return holm(p_values); }

}  // namespace

TORCH_LIBRARY_FRAGMENT(heed, library) {
  library.def("metrics(str call, Tensor[] pictures) -> str", metrics_op);
  library.def("compare_crossed(Tensor a, Tensor b, float confidence) -> float[]", compare_op);
  library.def("holm(float[] p_values) -> float[]", holm_op);
}
