#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/progress.hpp"
#include "heed/dist/mpi.hpp"
#include "heed/kernels/simd.hpp"
#include "heed/models/task_model.hpp"
#include "heed/train/trainer.hpp"

namespace heed::cli {
namespace {

struct TrainArgs {
  std::string config, out, log;
  std::vector<std::string> changes;
  bool resume = false, json = false, quiet = false;
};

/// Without such instructions torch emulates them, at a third of the speed of float32.
bool emulates_bfloat16() {
  return std::ranges::none_of(kernels::simd_targets(), [](const std::string& target) {
    return target == "avx512bf16" || target == "neon";
  });
}

void run_train(const TrainArgs& args) {
  dist::Group& group = dist::mpi_world();  // first, so that all ranks end when one finds a mistake
  const Config config = load_config(args.config, registry(), args.changes);
  Progress progress({.quiet = args.quiet || args.json || !group.first(),
                     .ranks = group.size(),
                     .log = group.first() ? args.log : ""});
  if (config.train.precision == "bfloat16" && emulates_bfloat16())
    progress.warn(
        "this processor has no bfloat16 instructions, so that bfloat16 is slower than float32; "
        "--set train.precision=float32 is the faster way");
  const TrainResult result = train(config, args.out, args.resume, progress, make_task_model, group);
  if (!group.first()) return;
  if (args.json) {
    const nlohmann::ordered_json json{{"run", args.out},
                                      {"best_epoch", result.best_epoch},
                                      {"epochs", result.epochs.size()},
                                      {"parameters", result.parameters},
                                      {"seconds", result.seconds},
                                      {"test", result.test}};
    return fmt::print("{}\n", json.dump());
  }
  if (args.quiet) return;
  fmt::print("best epoch {} of {}, {} parameters, {:.1f} s\n", result.best_epoch,
             result.epochs.size(), result.parameters, result.seconds);
  for (const auto& [name, value] : result.test) fmt::print("test {:<12} {:.4f}\n", name, value);
  fmt::print("run: {}; next: heed report {}\n", args.out, args.out);
}

}  // namespace

void add_train(CLI::App& app) {
  CLI::App* command = add_command(app, "train", "Train a model from a config file",
                                  "  heed train examples/reviews/config.toml --out runs/reviews\n"
                                  "  heed train my.toml --out runs/my --resume\n"
                                  "  heed train my.toml --out runs/my-2 --set train.seed=2\n"
                                  "  mpirun -n 4 --bind-to none heed train my.toml --out runs/my");
  auto args = std::make_shared<TrainArgs>();
  command->add_option("config", args->config, "the config file (TOML)")->required();
  command->add_option("--out", args->out, "the run directory to write")->required();
  command
      ->add_option("--set", args->changes,
                   "another value for a key of the config, as train.seed=2; may be repeated")
      ->allow_extra_args(false);
  command->add_option("--log-steps", args->log,
                      "write the loss of each step here, a JSON line each");
  command->add_flag("--resume", args->resume, "go on with a run that was stopped");
  command->add_flag("--quiet", args->quiet, "print errors only");
  command->add_flag("--json", args->json, "for programs");
  add_threads(command);
  command->callback([args] { run_train(*args); });
}

}  // namespace heed::cli
