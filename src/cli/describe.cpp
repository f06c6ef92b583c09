#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/models/describe.hpp"

namespace heed::cli {
namespace {

namespace fs = std::filesystem;

struct DescribeArgs {
  std::string what, svg;
  bool json = false;
};

nlohmann::ordered_json description_of(const std::string& what) {
  if (fs::is_directory(what)) {
    const LoadedRun run = load_untrained(what);
    return describe(run.config, *run.model);
  }
  if (!fs::exists(what) && !what.ends_with(".toml")) return describe(PartSpec{what});
  const Config config = load_config(what, registry());
  const Dataset data = load_dataset(config.task.source);
  const auto model = make_task_model(config, data_info(config, data));
  return describe(config, *model);
}

void run_describe(const DescribeArgs& args) {
  const auto description = description_of(args.what);
  if (!args.svg.empty()) {
    write_file(args.svg, to_svg(description));
    fmt::print("{}\n", args.svg);
    return;
  }
  fmt::print("{}", args.json ? description.dump(2) + "\n" : to_table(description));
}

}  // namespace

void add_describe(CLI::App& app) {
  auto args = std::make_shared<DescribeArgs>();
  CLI::App* command = add_command(
      app, "describe",
      "A model's place in the taxonomy: its modules, what feeds what, sizes, parameters",
      "  heed describe examples/reviews/config.toml\n  heed describe runs/demo/additive-1\n"
      "  heed describe rotatory --svg rotatory.svg\n  heed describe CONFIG --json\n");
  command->add_option("what", args->what, "a config file, a run directory, or a mechanism's id")
      ->required();
  command->add_flag("--json", args->json, "for programs");
  command->add_option("--svg", args->svg, "write the wiring as a picture to this file");
  command->callback([args] { run_describe(*args); });
}

}  // namespace heed::cli
