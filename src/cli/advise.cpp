#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "heed/base/error.hpp"
#include "heed/base/words.hpp"
#include "heed/models/advise.hpp"
#include "heed/models/task_model.hpp"

namespace heed::cli {
namespace {

using Json = nlohmann::ordered_json;

struct AdviseArgs {
  std::string config;
  Needs needs;
  bool each = false, latency = false, interpretable = false, list = false, json = false;
  std::size_t count = 5;
};

void print_needs() {
  fmt::print("{:<20} {}\n", "need", "parts that suit it");
  for (const KnownNeed& need : known_needs(registry()))
    fmt::print("{:<20} {}\n", need.word, join(need.parts, ", "));
}

/// Sizes from a config: the longest text of nineteen in twenty, the width of its features.
void take_config(const std::string& file, Needs& needs) {
  const Config config = load_config(file, registry());
  const Dataset data = load_dataset(config.task.source);
  std::vector<std::int64_t> lengths;
  for (const Example& example : data.train) {
    for (const auto& [name, words] : example.inputs)
      lengths.push_back(static_cast<std::int64_t>(words.size()));
  }
  HEED_CHECK(!lengths.empty(), "{}: there is no training text to measure", file);
  std::sort(lengths.begin(), lengths.end());
  needs.length = std::max<std::int64_t>(1, lengths[lengths.size() * 19 / 20]);
  needs.width = config.feature.dim;
}

Json to_json(const Advice& advice) {
  return {{"mechanism", advice.parts.mechanism.id},
          {"queries", advice.parts.queries.id},
          {"score", advice.parts.score.id},
          {"align", advice.parts.align.id},
          {"points", advice.points},
          {"ms", advice.ms},
          {"why", advice.why},
          {"lacks", advice.lacks},
          {"config", attention_table(advice.parts)}};
}

void run_advise(AdviseArgs& args) {
  if (args.list) return print_needs();
  if (!args.config.empty()) take_config(args.config, args.needs);
  if (args.latency) args.needs.wanted.emplace_back("latency");
  if (args.interpretable) args.needs.wanted.emplace_back("interpretable");
  if (args.each) args.needs.queries = args.needs.length;
  torch::manual_seed(0);
  const std::vector<Advice> advice = advise(args.needs, registry(), args.count);
  HEED_CHECK(!advice.empty(), "advise: nothing fits these sizes; try a smaller --length");
  if (args.json) {
    Json all = Json::array();
    for (const Advice& one : advice) all.push_back(to_json(one));
    return fmt::print("{}\n", all.dump(2));
  }
  fmt::print("{} queries on {} keys, width {}; needs: {}\n\n", args.needs.queries,
             args.needs.length, args.needs.width,
             args.needs.wanted.empty() ? "none named (`heed advise --needs` lists them)"
                                       : join(args.needs.wanted, ", "));
  fmt::print("{:>2}  {:<22} {:<11} {:<18} {:<11} {:>9}\n", "", "mechanism", "queries", "score",
             "align", "ms");
  for (std::size_t i = 0; i < advice.size(); ++i) {
    const Advice& one = advice[i];
    fmt::print("{:>2}  {:<22} {:<11} {:<18} {:<11} {:>9.3f}\n", i + 1, one.parts.mechanism.id,
               one.parts.queries.id, one.parts.score.id, one.parts.align.id, one.ms);
    for (const std::string& why : one.why) fmt::print("      + {}\n", why);
    for (const std::string& need : one.lacks)
      fmt::print("      - nothing in it serves '{}'\n", need);
  }
  fmt::print("\nms: one forward pass of these sizes, measured here. The first, for a config:\n\n{}",
             attention_table(advice.front().parts));
}

}  // namespace

void add_advise(CLI::App& app) {
  auto args = std::make_shared<AdviseArgs>();
  CLI::App* command = add_command(
      app, "advise", "which mechanism suits a need, by the survey's advice and cost measured here",
      "  heed advise --length 4000 --need sparse --latency\n"
      "  heed advise examples/reviews/config.toml --interpretable\n"
      "  heed advise --needs          what can be needed, and which parts suit it\n");
  command->add_option("config", args->config, "a config file: lengths and widths come from it");
  command->add_option("--length", args->needs.length, "keys of one example");
  command->add_option("--width", args->needs.width, "width of queries and keys");
  command->add_flag("--each", args->each, "every position asks, not one query");
  command->add_option("--need", args->needs.wanted, "what it must give; may be repeated");
  command->add_flag("--latency", args->latency, "time counts: the same as --need latency");
  command->add_flag("--interpretable", args->interpretable,
                    "weights are to be read: the same as --need interpretable");
  command->add_option("--count", args->count, "how many to show")->check(CLI::Range(1, 50));
  command->add_flag("--needs", args->list, "list what can be needed");
  command->add_flag("--json", args->json, "for programs");
  add_threads(command);
  command->callback([args] { run_advise(*args); });
}

}  // namespace heed::cli
