// The heed command: parses, runs one subcommand, prints errors on one line. Exit 0, 1 (failed), 2
// (usage or input).
#include <ATen/Parallel.h>
#include <c10/util/Logging.h>
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <limits>

#include "cli/command.hpp"
#include "cli/complain.hpp"
#include "heed/base/error.hpp"
#include "heed/base/words.hpp"
#include "heed/dist/launcher.hpp"

namespace heed::cli {

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& description,
                      const std::string& examples) {
  CLI::App* command = app.add_subcommand(name, description);
  command->footer("Examples:\n" + examples);
  return command;
}

void add_threads(CLI::App* command) {
  command
      ->add_option_function<int>(
          "--threads", [](int n) { at::set_num_threads(n); },
          "threads to use (all cores; under mpirun a rank's share)")
      ->check(CLI::Range(1, 4096));
}

namespace {

/// All cores, or their share where mpirun started several processes here.
void set_default_threads() {
  const int here = dist::launched().here;
  if (here <= 1) return;
  const int cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  // mpirun may have tied the process to fewer.
  at::set_num_threads(std::min(at::get_num_threads(), std::max(1, cores / here)));
}

// The first word CLI11 did not expect, with the nearest one it knows.
std::string unknown_word(const CLI::App& app, int argc, char** argv) {
  const CLI::App* command = nullptr;
  for (const CLI::App* sub : app.get_subcommands({})) {
    if (argc > 1 && sub->get_name() == argv[1]) command = sub;
  }
  std::vector<std::string> known;
  if (!command) {
    for (const CLI::App* sub : app.get_subcommands({})) known.push_back(sub->get_name());
    const std::string word = argc > 1 ? argv[1] : "";
    return fmt::format("unknown command '{}'{}", word, suggestion(word, known));
  }
  for (const CLI::Option* option : command->get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  for (int i = 2; i < argc; ++i) {
    const std::string word = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
    if (word.starts_with("--") && std::find(known.begin(), known.end(), word) == known.end()) {
      return fmt::format("{}: unknown flag '{}'{}", command->get_name(), word,
                         suggestion(word, known));
    }
  }
  return fmt::format("{}: too many arguments; see 'heed {} --help'", command->get_name(),
                     command->get_name());
}

int run(int argc, char** argv) {
  CLI::App app("heed: choose an attention mechanism by evidence", "heed");
  app.set_version_flag("--version", "heed " HEED_VERSION);
  app.require_subcommand(0, 1);
  app.footer("Start with 'heed demo', then 'heed list' and 'heed train --help'.");
  for (const auto add :
       {add_demo, add_list, add_advise, add_describe, add_train, add_eval, add_predict, add_ablate,
        add_explain, add_align, add_metrics, add_report, add_serve, add_bench, add_import})
    add(app);
  // What is not shared between ranks, each of them would do.
  constexpr std::array kAlone = {"align", "bench", "demo", "explain", "import", "report", "serve"};
  const bool alone =
      argc > 1 && std::ranges::find(kAlone, std::string_view(argv[1])) != kAlone.end();
  if (alone && dist::launched().size > 1)
    return complain_of_usage(
        fmt::format("{}: is done by one process; call it without mpirun", argv[1]));
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) std::cout << app.help();
    return 0;
  } catch (const CLI::Success& help) {
    return dist::launched().rank > 0 ? 0 : app.exit(help);
  } catch (const CLI::ExtrasError&) {
    return complain_of_usage(unknown_word(app, argc, argv));
  } catch (const CLI::ParseError& error) {
    const CLI::App* command = app.get_subcommands().empty() ? &app : app.get_subcommands().front();
    return complain_of_usage(
        fmt::format("{}{}; see 'heed {}--help'", command == &app ? "" : command->get_name() + ": ",
                    error.what(), command == &app ? "" : command->get_name() + " "));
  }
}

}  // namespace
}  // namespace heed::cli

int main(int argc, char** argv) {
  // What tensors leave is kept: pages that go back to the system and are faulted in again at the
  // next step cost a tenth of a Transformer's time and more.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  heed::cli::set_default_threads();
  FLAGS_caffe2_use_fatal_for_enforce = false;  // torch would abort where memory is short
  try {
    return heed::cli::run(argc, argv);
  } catch (const heed::InputError& error) {
    return heed::cli::complain(error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    return heed::cli::complain(
        fmt::format("{}: {}", error.path1().string(), error.code().message()));
  } catch (const std::bad_alloc&) {
    return heed::cli::complain_of_memory(0);
  } catch (const c10::Error& error) {
    return heed::cli::complain_of_torch(error);
  } catch (const std::exception& error) {
    return heed::cli::complain(error.what(), 1);
  }
}
