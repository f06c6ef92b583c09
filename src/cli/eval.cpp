#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "heed/data/split.hpp"
#include "heed/dist/mpi.hpp"
#include "heed/train/evaluation.hpp"

namespace heed::cli {
namespace {

struct EvalArgs {
  std::string run, data, split = "test";
  bool json = false;
};

std::vector<Example> eval_examples(const LoadedRun& run, const EvalArgs& args) {
  if (!args.data.empty()) return load_examples(args.data, run.config.task.source);
  return load_split(run.config.task.source, args.split, args.run);
}

void run_eval(const EvalArgs& args) {
  dist::Group& group = dist::mpi_world();
  const LoadedRun loaded = load(args.run);
  const std::vector<Example> examples = loaded.info.seen(eval_examples(loaded, args));
  const Evaluation evaluation = evaluate(loaded, examples, {}, group);
  if (!group.first()) return;
  const auto measured = measure(loaded, examples, evaluation);
  if (args.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const auto& m : measured) {
      list.push_back({{"name", m.name},
                      {"value", m.value},
                      {"signature", m.signature},
                      {"details", m.details}});
    }
    const nlohmann::ordered_json json{{"run", args.run},
                                      {"examples", examples.size()},
                                      {"loss", evaluation.loss},
                                      {"metrics", list}};
    return fmt::print("{}\n", json.dump());
  }
  fmt::print("{} examples, loss {:.4f}\n", examples.size(), evaluation.loss);
  for (const auto& m : measured) {
    fmt::print("{:<12} {:.4f}   {}\n", m.name, m.value, m.signature);
    if (m.name != "correctness") continue;
    fmt::print("{:<12} chance {:.4f}, kl {:.4f}, kendall's tau {:.4f}, spearman's rho {:.4f}\n", "",
               m.details.at("chance"), m.details.at("kl"), m.details.at("tau"),
               m.details.at("rho"));
  }
}

}  // namespace

void add_eval(CLI::App& app) {
  CLI::App* command =
      add_command(app, "eval", "Measure a trained run on held-out data",
                  "  heed eval runs/reviews\n  heed eval runs/reviews --split val --json\n"
                  "  heed eval runs/reviews --data more.tsv\n"
                  "  mpirun -n 4 --bind-to none heed eval runs/reviews");
  auto args = std::make_shared<EvalArgs>();
  command->add_option("run", args->run, "a run directory")->required();
  command->add_option("--data", args->data, "a file with the columns of the run's data");
  command->add_option("--split", args->split, "train, val or test (test)")
      ->check(CLI::IsMember({"train", "val", "test"}));
  command->add_flag("--json", args->json, "for programs");
  add_threads(command);
  command->callback([args] { run_eval(*args); });
}

}  // namespace heed::cli
