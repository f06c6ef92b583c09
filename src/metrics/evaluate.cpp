#include "heed/metrics/evaluate.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "heed/base/error.hpp"
#include "heed/base/words.hpp"
#include "heed/metrics/bleu.hpp"
#include "heed/metrics/bootstrap.hpp"
#include "heed/metrics/classification.hpp"
#include "heed/metrics/error_rate.hpp"
#include "heed/metrics/image.hpp"
#include "heed/metrics/meteor.hpp"
#include "heed/metrics/perplexity.hpp"
#include "metrics/lines.hpp"

namespace heed::metrics {
namespace {

namespace fs = std::filesystem;
using Request = MetricRequest;
using Measure = Metric (*)(const Request&);

struct Text {
  std::vector<std::string> hypotheses;
  std::vector<std::vector<std::string>> references;
};

Text read_text(const Request& request) {
  const Lines hypotheses = read_lines(request.hyp);
  Text text{.hypotheses = hypotheses.lines, .references = {}};
  for (const fs::path& path : request.refs) {
    const Lines reference = read_lines(path);
    check_parallel(hypotheses, reference);
    text.references.push_back(reference.lines);
  }
  return text;
}

/// `value` must be one of `known`; what an unset option means is `known.front()`.
std::string choose(const char* option, const std::optional<std::string>& value,
                   const std::vector<std::string>& known) {
  if (!value) return known.front();
  HEED_CHECK(std::ranges::find(known, *value) != known.end(), "unknown {} '{}'{}", option, *value,
             suggestion(*value, known));
  return *value;
}

Metric measure_bleu(const Request& request) {
  BleuOptions options{.lowercase = request.lowercase,
                      .smooth_value = request.smooth_value,
                      .effective_order = request.effective_order};
  options.tokeniser = request.tokeniser.value_or(options.tokeniser);
  options.smooth = request.smooth.value_or(options.smooth);
  options.max_order = request.max_order.value_or(options.max_order);
  const Text text = read_text(request);
  return bleu(text.hypotheses, text.references, options);
}

Metric measure_meteor(const Request& request) {
  MeteorOptions options;
  const std::string variant = choose("variant", request.variant, {"fewest-chunks", "nltk"});
  if (variant == "nltk") options.variant = MeteorVariant::nltk;
  options.tokeniser = request.tokeniser.value_or(options.tokeniser);
  std::optional<WordNet> wordnet;
  if (!request.no_wordnet) {
    wordnet = request.wordnet.empty() ? WordNet::find() : WordNet(request.wordnet);
  }
  options.wordnet = wordnet ? &*wordnet : nullptr;
  const Text text = read_text(request);
  return meteor(text.hypotheses, text.references, options);
}

Metric measure_wer(const Request& request) {
  const Text text = read_text(request);
  return wer(text.hypotheses, text.references);
}

Metric measure_per(const Request& request) {
  const std::string mode = choose("mode", request.mode, {"phoneme", "pi"});
  const Text text = read_text(request);
  return per(text.hypotheses, text.references,
             mode == "pi" ? PerMode::position_independent : PerMode::phoneme);
}

Metric measure_perplexity(const Request& request) {
  const Lines lines = read_lines(request.logprobs);
  const std::vector<std::vector<double>> rows = parse_numbers(lines, true);
  bool any = false;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const double value : rows[i]) {
      HEED_CHECK(value <= 1e-6, "{}{} is no log probability; natural logs are needed, at most 0",
                 lines.place(i), value);
    }
    any = any || !rows[i].empty();
  }
  HEED_CHECK(any, "{}: has no log probability", lines.file);
  return perplexity(rows);
}

/// The labels of `lines` must all be in `known`, which stand in `where`.
void check_labels(const Lines& lines, const std::vector<std::string>& labels,
                  const std::vector<std::string>& known, const std::string& where) {
  const std::set<std::string> set(known.begin(), known.end());
  const std::vector<std::string> distinct(set.begin(), set.end());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    HEED_CHECK(set.contains(labels[i]), "{}label '{}' is not in {}{}", lines.place(i), labels[i],
               where, suggestion(labels[i], distinct));
  }
}

struct Labels {
  std::vector<std::string> predicted, gold;
};

Labels read_labels(const Request& request) {
  const Lines predicted = read_lines(request.pred), gold = read_lines(request.gold);
  check_parallel(predicted, gold);
  Labels labels{.predicted = parse_labels(predicted), .gold = parse_labels(gold)};
  if (request.labels.empty()) {
    const std::string hint = " (if it is meant to, name all labels with --labels)";
    check_labels(predicted, labels.predicted, labels.gold, gold.file + hint);
    check_labels(gold, labels.gold, labels.predicted, predicted.file + hint);
  } else {
    check_labels(predicted, labels.predicted, request.labels, "--labels");
    check_labels(gold, labels.gold, request.labels, "--labels");
  }
  return labels;
}

Metric measure_accuracy(const Request& request) {
  const Labels labels = read_labels(request);
  return accuracy(labels.predicted, labels.gold);
}

template <auto kMeasure>
Metric measure_classes(const Request& request) {
  ClassificationOptions options{.average = parse_average(request.average.value_or("macro")),
                                .positive = request.positive.value_or(""),
                                .labels = request.labels};
  const bool binary = options.average == Average::binary;
  HEED_CHECK(!binary || request.positive,
             "{}: average binary needs the positive label (--positive)", request.name);
  HEED_CHECK(binary || !request.positive, "{}: a positive label is for --average binary, not {}",
             request.name, to_string(options.average));
  const Labels labels = read_labels(request);
  return kMeasure(labels.predicted, labels.gold, options);
}

Metric measure_aer(const Request& request) {
  const Lines hypotheses = read_lines(request.hyp), gold = read_lines(request.gold);
  check_parallel(hypotheses, gold);
  return aer(parse_alignments(hypotheses, false), parse_alignments(gold, true));
}

struct Rationales {
  Lines predicted, gold;
};

Rationales read_rationales(const Request& request) {
  Rationales files{read_lines(request.pred), read_lines(request.gold)};
  check_parallel(files.predicted, files.gold);
  return files;
}

void check_not_negative(const Lines& lines, const std::vector<Weights>& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const double weight : rows[i]) {
      HEED_CHECK(weight >= 0, "{}the weight {} is negative", lines.place(i), weight);
    }
  }
}

Metric measure_marks(const Request& request) {
  const Rationales files = read_rationales(request);
  const std::vector<Marks> predicted = parse_marks(files.predicted), gold = parse_marks(files.gold);
  check_tokens(files.predicted, predicted, files.gold, gold);
  if (request.name == "token-f1") return token_f1(predicted, gold);
  return iou_f1(predicted, gold, request.threshold.value_or(0.5));
}

Metric measure_auprc(const Request& request) {
  const Rationales files = read_rationales(request);
  const std::vector<Weights> predicted = parse_numbers(files.predicted);
  const std::vector<Marks> gold = parse_marks(files.gold);
  check_tokens(files.predicted, predicted, files.gold, gold);
  check_not_negative(files.predicted, predicted);
  return auprc(predicted, gold);
}

Metric measure_correctness(const Request& request) {
  const Rationales files = read_rationales(request);
  const std::vector<Weights> predicted = parse_numbers(files.predicted);
  const std::vector<Weights> gold = parse_gold_weights(files.gold, predicted);
  check_tokens(files.predicted, predicted, files.gold, gold);
  check_not_negative(files.predicted, predicted);
  check_not_negative(files.gold, gold);
  return correctness(predicted, gold);
}

Metric measure_ranking(const Request& request) {
  const bool graded = choose("mode", request.mode, {"binary", "graded"}) == "graded";
  const Rationales files = read_rationales(request);
  const std::vector<Ranking> rankings = parse_rankings(files.predicted);
  const std::vector<Relevant> relevant = parse_relevant(files.gold, graded);
  const std::size_t k = request.k.value_or(10);
  return request.name == "hr" ? hit_rate(rankings, relevant, k) : ndcg(rankings, relevant, k);
}

std::vector<Image> read_images(const std::vector<fs::path>& paths, bool grey) {
  std::vector<Image> images;
  images.reserve(paths.size());
  for (const fs::path& path : paths) images.push_back(read_image(path, grey));
  return images;
}

Metric measure_images(const Request& request) {
  HEED_CHECK(request.a.size() == request.b.size(), "{}: {} images as --a but {} as --b",
             request.name, request.a.size(), request.b.size());
  const std::vector<Image> a = read_images(request.a, false), b = read_images(request.b, false);
  if (request.name == "psnr") return psnr(a, b);
  const bool gaussian = choose("variant", request.variant, {"uniform", "gaussian"}) == "gaussian";
  return ssim(a, b, gaussian ? SsimWindow::gaussian : SsimWindow::uniform);
}

Metric measure_iou(const Request& request) {
  return iou(read_images({request.pred}, true), read_images({request.gold}, true));
}

const std::vector<std::pair<std::string_view, Measure>> kMeasures = {
    {"bleu", measure_bleu},
    {"meteor", measure_meteor},
    {"perplexity", measure_perplexity},
    {"wer", measure_wer},
    {"per", measure_per},
    {"psnr", measure_images},
    {"ssim", measure_images},
    {"iou", measure_iou},
    {"accuracy", measure_accuracy},
    {"precision", measure_classes<precision>},
    {"recall", measure_classes<recall>},
    {"f1", measure_classes<f1>},
    {"aer", measure_aer},
    {"token-f1", measure_marks},
    {"iou-f1", measure_marks},
    {"auprc", measure_auprc},
    {"correctness", measure_correctness},
    {"hr", measure_ranking},
    {"ndcg", measure_ranking},
};

/// Every member of the request that is set, by its command-line name.
std::vector<std::string> set_members(const Request& r) {
  std::vector<std::string> set;
  const auto note = [&](const char* name, bool is_set) {
    if (is_set) set.emplace_back(name);
  };
  note("hyp", !r.hyp.empty());
  note("ref", !r.refs.empty());
  note("pred", !r.pred.empty());
  note("gold", !r.gold.empty());
  note("logprobs", !r.logprobs.empty());
  note("a", !r.a.empty());
  note("b", !r.b.empty());
  note("other", !r.other.empty());
  note("average", r.average.has_value());
  note("positive", r.positive.has_value());
  note("labels", !r.labels.empty());
  note("variant", r.variant.has_value());
  note("mode", r.mode.has_value());
  note("tokeniser", r.tokeniser.has_value());
  note("smooth", r.smooth.has_value());
  note("smooth-value", r.smooth_value.has_value());
  note("threshold", r.threshold.has_value());
  note("max-order", r.max_order.has_value());
  note("k", r.k.has_value());
  note("lowercase", r.lowercase);
  note("effective-order", r.effective_order);
  note("wordnet", !r.wordnet.empty());
  note("no-wordnet", r.no_wordnet);
  return set;
}

const MetricInfo& look_up(std::string_view name) {
  std::vector<std::string> names;
  for (const MetricInfo& info : catalogue()) {
    if (info.name == name) return info;
    names.emplace_back(info.name);
  }
  throw InputError(fmt::format("unknown metric '{}'{}", name, suggestion(name, names)));
}

void check_members(const Request& request) {
  const MetricInfo& info = look_up(request.name);
  const std::vector<std::string> set = set_members(request);
  for (const std::string& file : info.files) {
    HEED_CHECK(std::ranges::find(set, file) != set.end(), "metrics {}: needs --{}", info.name,
               file);
  }
  std::vector<std::string> known = info.files;
  known.insert(known.end(), info.options.begin(), info.options.end());
  for (const std::string& member : set) {
    HEED_CHECK(std::ranges::find(known, member) != known.end(),
               "metrics {}: takes no --{}; only --{}", info.name, member, join(known, ", --"));
  }
}

Metric measure(const Request& request) {
  const auto entry =
      std::ranges::find(kMeasures, request.name, &std::pair<std::string_view, Measure>::first);
  return entry->second(request);
}

/// `hr@5` is hr with k = 5.
Request normalise(Request request) {
  const std::size_t at = request.name.find('@');
  if (at == std::string::npos) return request;
  const std::string digits = request.name.substr(at + 1);
  std::size_t k = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), k);
  HEED_CHECK(error == std::errc{} && end == digits.data() + digits.size() && !request.k,
             "'{}': a number is needed behind @, and no --k beside it", request.name);
  request.k = k;
  request.name.resize(at);
  return request;
}

std::string json_number(double value) {
  if (std::isnan(value)) return "null";
  if (std::isinf(value)) return value > 0 ? "1e999" : "-1e999";
  return fmt::format("{}", value);
}

std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

Metric evaluate_files(const MetricRequest& given) {
  Request request = normalise(given);
  check_members(request);
  Metric metric = measure(request);
  const BootstrapOptions options{.resamples = request.bootstrap > 0 ? request.bootstrap : 1000,
                                 .seed = request.seed,
                                 .confidence = request.confidence};
  for (std::size_t i = 0; request.segments && i < metric.segments; ++i) {
    metric.per_segment.push_back(metric.resample(std::span(&i, 1)));
  }
  if (!request.other.empty()) {
    (!request.hyp.empty()    ? request.hyp
     : !request.pred.empty() ? request.pred
                             : request.logprobs) = request.other;
    add_comparison(metric, measure(request), options);
  } else if (request.bootstrap > 0) {
    add_interval(metric, options);
  }
  return metric;
}

std::string to_json(const Metric& metric) {
  std::string details;
  for (const auto& [key, value] : metric.details) {
    details +=
        fmt::format("{}{}: {}", details.empty() ? "" : ", ", json_text(key), json_number(value));
  }
  std::string segments;
  for (const double value : metric.per_segment) {
    segments += (segments.empty() ? "" : ", ") + json_number(value);
  }
  if (!segments.empty()) segments = fmt::format(R"(, "segments": [{}])", segments);
  return fmt::format(R"({{"name": {}, "value": {}, "signature": {}, "details": {{{}}}{}}})",
                     json_text(metric.name), json_number(metric.value), json_text(metric.signature),
                     details, segments);
}

}  // namespace heed::metrics
