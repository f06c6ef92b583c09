#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "cli/command.hpp"
#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/words.hpp"
#include "heed/train/evaluation.hpp"

namespace heed::cli {
namespace {

struct PredictArgs {
  std::string run, text, data, out;
  bool json = false;
};

std::vector<Example> prediction_inputs(const LoadedRun& run, const PredictArgs& args) {
  HEED_CHECK(args.text.empty() != args.data.empty(),
             "predict: give a text in quotes, or --data FILE");
  if (!args.data.empty()) return load_examples(args.data, run.config.task.source);
  HEED_CHECK(!invalid_utf8(args.text), "predict: the text is not valid UTF-8");
  const bool one_text = run.info.inputs.size() == 1 && run.info.inputs[0].name == "text" &&
                        run.info.inputs[0].width == 0;
  HEED_CHECK(one_text, "predict: a task of kind '{}' needs more than one text; give --data FILE",
             run.config.task.source.kind);
  Example example{.id = "1"};
  example.inputs["text"] =
      split_words(run.config.task.source.lowercase ? lower(args.text) : args.text);
  HEED_CHECK(!example.inputs["text"].empty(), "predict: the text has no words");
  if (run.info.inputs[0].levels > 0)
    example.levels["text"] = {{static_cast<std::int64_t>(example.inputs["text"].size())}};
  return {example};
}

/// The words of the input that got most weight; "" where there are none to show.
std::string heaviest(const Example& example, const Prediction& p) {
  for (const auto& [name, tokens] : example.inputs) {
    const std::vector<double> weights = token_weights(p, tokens.size(), name);
    if (weights.empty()) continue;
    std::vector<std::size_t> order(tokens.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return weights[a] > weights[b]; });
    order.resize(std::min<std::size_t>(3, order.size()));
    std::string line = "\t";
    for (const std::size_t i : order) line += fmt::format("{} {:.2f}  ", tokens[i], weights[i]);
    return line;
  }
  return "";
}

/// The answer, how sure, and the words that got most weight.
std::string readable(const LoadedRun& run, const Example& example, const Prediction& p) {
  std::string line = example.id + "\t";
  if (!p.probabilities.empty()) {
    line += fmt::format("{}\t{:.1f} %", run.info.labels[p.label], 100 * p.probabilities[p.label]);
  } else if (!p.sequence.empty()) {
    return line + written(p.sequence, run.info.segmenter.get()) + "\n";
  } else {
    line += fmt::format("{:.4g}", p.number);
  }
  return std::string(trim(line + heaviest(example, p))) + "\n";
}

void run_predict(const PredictArgs& args) {
  const LoadedRun loaded = load(args.run);
  const std::vector<Example> examples = loaded.info.seen(prediction_inputs(loaded, args));
  const Evaluation evaluation = evaluate(loaded, examples);
  std::string text;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const Prediction& p = evaluation.predictions[i];
    text += args.json ? to_json_line(loaded, examples[i], p) : readable(loaded, examples[i], p);
  }
  if (args.out.empty()) return fmt::print("{}", text);
  write_file(args.out, text);
}

}  // namespace

void add_predict(CLI::App& app) {
  CLI::App* command =
      add_command(app, "predict", "Label new text, with the weights behind each label",
                  "  heed predict runs/reviews \"the food was not good\"\n"
                  "  heed predict runs/reviews --data new.tsv --json --out predictions.jsonl");
  auto args = std::make_shared<PredictArgs>();
  command->add_option("run", args->run, "a run directory")->required();
  command->add_option("text", args->text, "a text in quotes");
  command->add_option("--data", args->data, "a TSV, CSV or JSONL file with a text column");
  command->add_option("--out", args->out, "write here, not to the screen");
  command->add_flag("--json", args->json, "a JSON line an example, with all weights");
  add_threads(command);
  command->callback([args] { run_predict(*args); });
}

}  // namespace heed::cli
