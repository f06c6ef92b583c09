#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "cli/command.hpp"
#include "cli/jobs.hpp"
#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/words.hpp"
#include "heed/data/split.hpp"
#include "heed/explain/audit.hpp"
#include "heed/explain/importance.hpp"

namespace heed::cli {
namespace {

struct ExplainArgs {
  std::string run, data, out, methods = "attention,gradient,leave-one-out", test;
  explain::AuditOptions options;
  std::size_t jobs = std::max(1u, std::thread::hardware_concurrency());
  bool audit = false, json = false, no_retrain = false;
};

/// The arguments of the child process that runs one test of the audit.
std::vector<std::string> test_arguments(const ExplainArgs& args, const std::string& test) {
  const explain::AuditOptions& o = args.options;
  std::vector<std::string> words = {"explain",
                                    args.run,
                                    "--audit",
                                    "--test",
                                    test,
                                    "--threads",
                                    "1",
                                    "--split",
                                    o.split,
                                    "--examples",
                                    std::to_string(o.examples),
                                    "--permutations",
                                    std::to_string(o.permutations),
                                    "--epsilon",
                                    fmt::format("{}", o.epsilon),
                                    "--seeds",
                                    std::to_string(o.seeds)};
  for (const double lambda : o.lambdas) {
    words.emplace_back("--lambda");
    words.push_back(fmt::format("{}", lambda));
  }
  if (!o.input.empty()) {
    words.emplace_back("--input");
    words.push_back(o.input);
  }
  return words;
}

std::vector<Example> explained_examples(const LoadedRun& run, const ExplainArgs& args) {
  const DataSource& source = run.config.task.source;
  std::vector<Example> examples = args.data.empty()
                                      ? load_split(source, args.options.split, args.run)
                                      : load_examples(args.data, source);
  if (static_cast<std::int64_t>(examples.size()) > args.options.examples)
    examples.resize(static_cast<std::size_t>(args.options.examples));
  return run.info.seen(std::move(examples));
}

void run_audit(const ExplainArgs& args) {
  if (!args.test.empty()) return explain::run_audit_test(args.run, args.test, args.options);
  const LoadedRun run = load(args.run);
  // A wrong run, part or input fails here, once.
  explain::Subject(run, explained_examples(run, args).front(), args.options.input);
  std::vector<Job> jobs;
  std::vector<std::string> names;
  for (const std::string& test : explain::audit_tests(args.options)) {
    if (explain::is_audited(args.run, test, args.options)) continue;
    jobs.push_back({.arguments = test_arguments(args, test)});
    names.push_back(test);
  }
  std::size_t finished = 0;
  std::vector<std::string> failed;
  if (!jobs.empty())
    fmt::print(stderr, "{} tests, {} at a time; what is finished is kept in {}/audit\n",
               jobs.size(), std::min(args.jobs, jobs.size()), args.run);
  run_jobs(jobs, args.jobs, [&](std::size_t i, const std::string& failure) {
    if (!failure.empty()) failed.push_back(names[i]);
    fmt::print(stderr, "[{:>2}/{}] {}{}\n", ++finished, jobs.size(), names[i],
               failure.empty() ? "" : " failed");
  });
  HEED_CHECK(failed.empty(), "explain: {} failed, for the reason above; the others are kept",
             join(failed, ", "));
  const std::string audit = explain::collect_audit(args.run, args.options);
  fmt::print("{}", args.json ? nlohmann::ordered_json::parse(audit).dump() + "\n"
                             : explain::readable_audit(audit));
  if (!args.json) fmt::print("\nNumbers: {}/audit/audit.json\n", args.run);
}

/// The three heaviest positions.
std::string heaviest_words(const std::vector<std::string>& tokens,
                           const std::vector<double>& importance) {
  std::vector<std::size_t> order(importance.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return importance[a] > importance[b]; });
  order.resize(std::min<std::size_t>(3, order.size()));
  std::string line;
  for (const std::size_t i : order) {
    line += fmt::format("{} {:.3f}  ", i < tokens.size() ? tokens[i] : fmt::format("[{}]", i),
                        importance[i]);
  }
  return line;
}

void run_importances(const ExplainArgs& args) {
  const LoadedRun run = load(args.run);
  const std::vector<Example> examples = explained_examples(run, args);
  const explain::Subject subject(run, examples.front(), args.options.input);
  std::map<std::string, explain::Importances> found;
  for (const std::string& id : split(args.methods, ','))
    found[id] = explain::method(id).find(subject, examples);
  const Tensor answers = subject.answers(examples);
  std::string text;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const auto words = examples[i].inputs.find(subject.input());
    const std::vector<std::string> tokens =
        words == examples[i].inputs.end() ? std::vector<std::string>() : words->second;
    const Tensor p = answers[static_cast<std::int64_t>(i)];
    const auto label = static_cast<std::size_t>(p.argmax().item<std::int64_t>());
    if (args.json || !args.out.empty()) {
      nlohmann::ordered_json line{{"id", examples[i].id},
                                  {"input", subject.input()},
                                  {"tokens", tokens},
                                  {"prediction", subject.labels()[label]},
                                  {"probability", p.max().item<double>()}};
      for (const std::string& id : split(args.methods, ',')) line["importances"][id] = found[id][i];
      text += line.dump() + "\n";
      continue;
    }
    text += fmt::format("{}\t{} {:.1f} %\t{}\n", examples[i].id, subject.labels()[label],
                        100 * p.max().item<double>(), join(tokens, " "));
    for (const std::string& id : split(args.methods, ','))
      text += fmt::format("    {:<22} {}\n", id, heaviest_words(tokens, found[id][i]));
  }
  if (args.out.empty()) return fmt::print("{}", text);
  write_file(args.out, text);
}

void run_explain(ExplainArgs args) {
  args.options.retrain = !args.no_retrain;
  HEED_CHECK(args.audit || args.test.empty(), "explain: --test is for --audit");
  HEED_CHECK(!args.audit || args.data.empty(),
             "explain: --audit examines a part of the run's own "
             "data; choose it by --split");
  args.audit ? run_audit(args) : run_importances(args);
}

std::string method_list() {
  std::vector<std::string> ids;
  for (const explain::Method& each : explain::methods()) ids.emplace_back(each.id);
  return join(ids, ", ");
}

}  // namespace

void add_explain(CLI::App& app) {
  CLI::App* command = add_command(
      app, "explain", "Which words matter, by several measures; and an audit of attention",
      "  heed explain runs/sst --examples 5\n"
      "  heed explain runs/sst --methods attention,integrated-gradients --out words.jsonl\n"
      "  heed explain runs/sst --audit              # all tests; goes on where it was stopped\n"
      "  heed explain runs/sst --audit --no-retrain --json");
  auto args = std::make_shared<ExplainArgs>();
  explain::AuditOptions& o = args->options;
  command->add_option("run", args->run, "a run directory of a task with labels")->required();
  command->add_flag("--audit", args->audit, "the tests of attention as explanation, in one table");
  command->add_option("--methods", args->methods, "of " + method_list());
  command->add_option("--data", args->data, "a file with the columns of the run's data");
  command->add_option("--split", o.split, "train, val or test (test)")
      ->check(CLI::IsMember({"train", "val", "test"}));
  command->add_option("--input", o.input, "which input; the first that attention looks at");
  command->add_option("--examples", o.examples, "at most so many (500)")
      ->check(CLI::Range(1, 1 << 30));
  command->add_option("--permutations", o.permutations, "audit: shuffles of each example (100)")
      ->check(CLI::Range(1, 100000));
  command->add_option("--epsilon", o.epsilon, "audit: how far adversarial outputs may go (0.01)")
      ->check(CLI::Range(0.0, 1.0));
  command->add_option("--seeds", o.seeds, "audit: models of other seeds to train (3)")
      ->check(CLI::Range(0, 100));
  command->add_option("--lambda", o.lambdas, "audit: of the trained adversary; may be repeated")
      ->allow_extra_args(false);
  command->add_flag("--no-retrain", args->no_retrain, "audit: only the tests that train nothing");
  command->add_option("--test", args->test, "audit: run this test alone");
  command->add_option("--jobs", args->jobs, "audit: tests at once, a thread each (all cores)")
      ->check(CLI::Range(1, 4096));
  command->add_option("--out", args->out, "write JSON lines here, not to the screen");
  command->add_flag("--json", args->json, "for programs");
  add_threads(command);
  command->callback([args] { run_explain(*args); });
}

}  // namespace heed::cli
