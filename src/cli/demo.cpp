// The main job on an embedded default: which attention finds what decides a review?
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <thread>

#include "cli/command.hpp"
#include "cli/jobs.hpp"
#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/words.hpp"
#include "heed/models/task_model.hpp"
#include "heed/report/report.hpp"

namespace heed::cli {
namespace {

namespace fs = std::filesystem;

struct DemoArgs {
  std::string out = "runs/demo";
  int seeds = 3;
};

struct DemoVariant {
  const char* name;
  const char* mechanism;
  const char* score;
};

constexpr DemoVariant kVariants[] = {{"mean-pool", "mean-pool", "additive"},
                                     {"additive", "singular", "additive"},
                                     {"scaled-dot", "singular", "scaled-dot"},
                                     {"general", "singular", "general"}};

Config demo_config(const DemoVariant& variant, int seed) {
  Config config;
  config.task.source.data = "builtin:reviews";
  config.feature = {.model = "bigru", .dim = 64, .embedding = 32, .dropout = 0};
  config.attention.mechanism = variant.mechanism;
  config.attention.score = variant.score;
  config.train.epochs = 8;
  config.train.seed = seed;
  return config;
}

std::string percent(const VariantMetric& m) {
  return fmt::format("{:.1f} ± {:.1f} %", 100 * m.mean, 100 * m.sd);
}

const VariantMetric& metric(const Variant& variant, const std::string& name) {
  const auto found = variant.metrics.find(name);
  HEED_CHECK(found != variant.metrics.end(), "demo: run '{}' has no {}", variant.name, name);
  return found->second;
}

// What won and by how much, over the seeds; the same sentences stand in the report.
std::vector<std::string> verdict(const std::vector<Variant>& variants) {
  const auto mean_of = [](const Variant& v, const char* name) { return metric(v, name).mean; };
  const auto best_by = [&](const char* name) -> const Variant& {
    return *std::max_element(
        variants.begin(), variants.end(),
        [&](const Variant& a, const Variant& b) { return mean_of(a, name) < mean_of(b, name); });
  };
  const Variant& baseline = variants.front();
  const Variant& winner = best_by("accuracy");
  const Variant& focused = best_by("correctness");
  const double lead = 100 * (mean_of(winner, "accuracy") - mean_of(baseline, "accuracy"));
  return {fmt::format("'{}' has the highest test accuracy: {} over {} seeds, {:.1f} points above "
                      "mean pooling ({}).",
                      winner.name, percent(metric(winner, "accuracy")), winner.runs.size(), lead,
                      percent(metric(baseline, "accuracy"))),
          fmt::format("'{}' looks best at what decides the label: {} of its weight lies on the "
                      "true rationale, against "
                      "{} for mean pooling.",
                      focused.name, percent(metric(focused, "correctness")),
                      percent(metric(baseline, "correctness")))};
}

void run_demo(const DemoArgs& args) {
  const fs::path out = args.out;
  make_writable_folder(out / "configs");
  std::vector<Job> jobs;
  std::vector<fs::path> runs;
  for (const DemoVariant& variant : kVariants) {
    for (int seed = 1; seed <= args.seeds; ++seed) {
      const std::string name = fmt::format("{}-{}", variant.name, seed);
      const fs::path config = out / "configs" / (name + ".toml");
      write_file(config, to_toml(demo_config(variant, seed)));
      runs.push_back(out / name);
      // A demo of another version is made anew; one of this version goes on where it was.
      const fs::path made_with = RunFiles{runs.back()}.config();
      if (fs::exists(made_with) &&
          read_file(made_with) != to_toml(load_config(config, registry()))) {
        fs::remove_all(runs.back());
      }
      jobs.push_back({.arguments = {"train", config.string(), "--out", runs.back().string(),
                                    "--resume", "--quiet", "--threads", "1"}});
    }
  }
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  fmt::print("training {} models on builtin:reviews, {} at a time\n", jobs.size(),
             std::min(cores, jobs.size()));
  std::size_t finished = 0;
  run_jobs(jobs, cores, [&](std::size_t i, const std::string& failure) {
    // The child has printed its own one-line reason.
    HEED_CHECK(failure.empty(), "'heed {}' {}", join(jobs[i].arguments, " "), failure);
    const Variant variant = group_runs(std::span(&runs[i], 1)).front();
    fmt::print(
        "[{:>2}/{}] {:<14} accuracy {:.1f} %, {:.1f} % of the weight on the rationale, {:.0f} s\n",
        ++finished, jobs.size(), runs[i].filename().string(),
        100 * metric(variant, "accuracy").mean, 100 * metric(variant, "correctness").mean,
        metric(variant, "seconds").mean);
    std::fflush(stdout);
  });
  const std::vector<std::string> lines = verdict(group_runs(runs));
  const fs::path report = out / "report.html";
  write_report(runs, report,
               {.title = "Which attention finds what decides a review?",
                .command = "heed demo",
                .summary = lines,
                .max_examples = 120});
  for (const std::string& line : lines) fmt::print("{}\n", line);
  fmt::print("Report: {}\n", report.string());
}

}  // namespace

void add_demo(CLI::App& app) {
  CLI::App* command =
      add_command(app, "demo", "Compare four ways to attend on a built-in corpus, and report",
                  "  heed demo\n  heed demo --out runs/demo --seeds 5");
  auto args = std::make_shared<DemoArgs>();
  command->add_option("--out", args->out, "where the runs and the report go (runs/demo)");
  command->add_option("--seeds", args->seeds, "seeds of each variant (3)")
      ->check(CLI::Range(1, 100));
  command->callback([args] { run_demo(*args); });
}

}  // namespace heed::cli
