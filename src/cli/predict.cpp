#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "cli/command.hpp"
#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/words.hpp"
#include "heed/data/fields.hpp"
#include "heed/dist/mpi.hpp"
#include "heed/train/evaluation.hpp"

namespace heed::cli {
namespace {

struct PredictArgs {
  std::string run, text, data, out;
  std::vector<std::string> inputs;
  bool json = false;
};

/// `--input NAME=TEXT`, or the text alone where the task reads one.
std::map<std::string, std::string> prediction_fields(const LoadedRun& run,
                                                     const PredictArgs& args) {
  const std::string& kind = run.config.task.source.kind;
  const std::vector<std::string> names = text_fields(kind);
  HEED_CHECK(!names.empty(), "predict: examples of kind '{}' are no text; {}", kind,
             data_kind(kind).load_examples
                 ? "give --data FILE"
                 : "the run's own are answered in predictions.jsonl and by 'heed serve'");
  std::map<std::string, std::string> fields;
  for (const std::string& input : args.inputs) {
    const std::size_t equals = input.find('=');
    HEED_CHECK(equals != input.npos, "predict: --input '{}' has no '='; write --input {}=TEXT",
               input, names.front());
    fields[input.substr(0, equals)] = input.substr(equals + 1);
  }
  if (args.text.empty()) return fields;
  HEED_CHECK(
      names.size() == 1 && fields.empty(),
      "predict: a task of kind '{}' reads {}; give --input {}=TEXT and so on, or --data FILE", kind,
      join(names, ", "), names.front());
  return {{names.front(), args.text}};
}

std::vector<Example> prediction_inputs(const LoadedRun& run, const PredictArgs& args) {
  const bool typed = !args.text.empty() || !args.inputs.empty();
  HEED_CHECK(typed == args.data.empty(),
             "predict: give a text in quotes, --input NAME=TEXT, or --data FILE");
  if (!args.data.empty()) return load_examples(args.data, run.config.task.source);
  return {read_fields(run.config.task.source, run.info.inputs, prediction_fields(run, args))};
}

/// The words of the input that got most weight; "" where there are none to show.
std::string heaviest(const Example& example, const Prediction& p) {
  for (const auto& [name, tokens] : example.inputs) {
    const std::vector<double> weights = token_weights(p, example, name, tokens.size());
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
  dist::Group& group = dist::mpi_world();
  const LoadedRun loaded = load(args.run);
  const std::vector<Example> examples = loaded.info.seen(prediction_inputs(loaded, args));
  const Evaluation evaluation = evaluate(loaded, examples, {}, group);
  if (!group.first()) return;
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
                  "  heed predict runs/aspect --input left=\"the\" --input target=food --input "
                  "right=\"was cold\"\n"
                  "  heed predict runs/reviews --data new.tsv --json --out predictions.jsonl");
  auto args = std::make_shared<PredictArgs>();
  command->add_option("run", args->run, "a run directory")->required();
  command->add_option("text", args->text, "a text in quotes");
  command->add_option("--input", args->inputs, "NAME=TEXT, for tasks that read several texts")
      ->allow_extra_args(false);
  command->add_option("--data", args->data, "a TSV, CSV or JSONL file with a text column");
  command->add_option("--out", args->out, "write here, not to the screen");
  command->add_flag("--json", args->json, "a JSON line an example, with all weights");
  add_threads(command);
  command->callback([args] { run_predict(*args); });
}

}  // namespace heed::cli
