#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "heed/base/words.hpp"
#include "heed/models/task_model.hpp"
#include "heed/report/report.hpp"

namespace heed::cli {
namespace {

struct ReportArgs {
  std::vector<std::string> runs;
  std::string out, title;
  std::size_t examples = 200;
  bool json = false;
};

void run_report(const ReportArgs& args) {
  const std::vector<std::filesystem::path> runs(args.runs.begin(), args.runs.end());
  const std::filesystem::path out =
      args.out.empty() ? RunFiles{runs.front()}.report() : std::filesystem::path(args.out);
  write_report(runs, out,
               {.title = args.title.empty() ? "Attention report" : args.title,
                .command = "heed report " + join(args.runs, " "),
                .max_examples = args.examples});
  if (args.json)
    return fmt::print("{}\n", nlohmann::json{{"report", out.string()}, {"runs", args.runs}}.dump());
  fmt::print("report: {}\n", out.string());
}

}  // namespace

void add_report(CLI::App& app) {
  CLI::App* command =
      add_command(app, "report", "One HTML file of one or more runs, to look at offline",
                  "  heed report runs/reviews\n  heed report runs/a runs/b --out compare.html");
  auto args = std::make_shared<ReportArgs>();
  command->add_option("runs", args->runs, "run directories")->required();
  command->add_option("--out", args->out, "the file to write (report.html in the first run)");
  command->add_option("--title", args->title, "the title");
  command->add_option("--examples", args->examples, "most examples shown of a run (200)");
  command->add_flag("--json", args->json, "for programs");
  command->callback([args] { run_report(*args); });
}

}  // namespace heed::cli
