#include <fmt/format.h>

#include <memory>

#include "cli/command.hpp"
#include "heed/base/words.hpp"
#include "heed/metrics/evaluate.hpp"

namespace heed::cli {
namespace {

struct MetricsArgs {
  metrics::MetricRequest request;
  bool json = false, list = false;
};

void print_catalogue() {
  for (const metrics::MetricInfo& info : metrics::catalogue()) {
    fmt::print("{:<12} {} ({})\n{:13}files: --{}", info.name, info.title, info.paper, "",
               join(info.files, " --"));
    if (!info.options.empty()) fmt::print("; options: --{}", join(info.options, " --"));
    fmt::print("\n");
  }
}

void run_metrics(const MetricsArgs& args) {
  if (args.list) return print_catalogue();
  const metrics::Metric metric = metrics::evaluate_files(args.request);
  if (args.json) return fmt::print("{}\n", metrics::to_json(metric));
  fmt::print("{} = {:.6g}\n", metric.name, metric.value);
  for (const auto& [name, value] : metric.details) fmt::print("  {} = {:.6g}\n", name, value);
  fmt::print("{}\n", metric.signature);
}

}  // namespace

void add_metrics(CLI::App& app) {
  CLI::App* command = add_command(
      app, "metrics", "Measure files: BLEU, METEOR, WER, F1, AER, SSIM …, with a signature",
      "  heed metrics --list\n  heed metrics bleu --hyp out.txt --ref gold.txt --json\n"
      "  heed metrics f1 --pred p.txt --gold g.txt --average weighted\n"
      "  heed metrics wer --hyp out.txt --ref gold.txt --bootstrap 1000");
  auto args = std::make_shared<MetricsArgs>();
  metrics::MetricRequest& r = args->request;
  command->add_option("name", r.name, "which metric; --list shows them all");
  command->add_flag("--list", args->list, "the metrics, their files and options");
  command->add_flag("--json", args->json, "{name, value, signature, details}");
  command->add_option("--hyp", r.hyp, "what a system wrote, one segment a line");
  command->add_option("--ref", r.refs, "a reference, parallel to --hyp; repeat for more")
      ->allow_extra_args(false);
  command->add_option("--pred", r.pred, "predictions, one a line; or a PNG");
  command->add_option("--gold", r.gold, "the truth, parallel to --pred or --hyp");
  command->add_option("--logprobs", r.logprobs,
                      "natural logs of token probabilities, one segment a line");
  command->add_option("--a", r.a, "a PNG; repeat for more")->allow_extra_args(false);
  command->add_option("--b", r.b, "a PNG to compare with --a")->allow_extra_args(false);
  command->add_option("--other", r.other, "another system's file: adds the paired bootstrap");
  command->add_option("--average", r.average, "macro, micro, weighted or binary (macro)");
  command->add_option("--positive", r.positive, "the positive label of --average binary");
  command->add_option("--labels", r.labels, "labels that may stand in one file only")
      ->delimiter(',');
  command->add_option("--variant", r.variant, "meteor: nltk; ssim: gaussian");
  command->add_option("--mode", r.mode, "per: pi; ndcg: graded");
  command->add_option("--tokeniser", r.tokeniser, "bleu, meteor: 13a, none, char");
  command->add_option("--smooth", r.smooth, "bleu's smoothing");
  command->add_option("--smooth-value", r.smooth_value, "its value");
  command->add_option("--threshold", r.threshold, "iou-f1: the least overlap that counts");
  command->add_option("--max-order", r.max_order, "bleu: the longest n-gram");
  command->add_option("--k", r.k, "hr, ndcg: how many items count");
  command->add_flag("--lowercase", r.lowercase, "compare without case");
  command->add_flag("--effective-order", r.effective_order,
                    "bleu: leave out orders with no n-gram");
  command->add_option("--wordnet", r.wordnet, "meteor: WordNet's folder");
  command->add_flag("--no-wordnet", r.no_wordnet, "meteor: no synonyms, even if WordNet is there");
  command->add_flag("--segments", r.segments, "also each segment alone");
  command->add_option("--bootstrap", r.bootstrap, "resamples of the interval; 0: none");
  command->add_option("--seed", r.seed, "of the bootstrap (1)");
  command->add_option("--confidence", r.confidence, "of the interval (0.95)");
  command->callback([args] { run_metrics(*args); });
}

}  // namespace heed::cli
