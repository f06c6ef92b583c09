#pragma once
#include <CLI/CLI.hpp>

namespace heed::cli {

/// One function a subcommand: declares its flags and what it does. A file each.
void add_ablate(CLI::App& app);
void add_advise(CLI::App& app);
void add_align(CLI::App& app);
void add_bench(CLI::App& app);
void add_describe(CLI::App& app);
void add_demo(CLI::App& app);
void add_explain(CLI::App& app);
void add_import(CLI::App& app);
void add_list(CLI::App& app);
void add_train(CLI::App& app);
void add_eval(CLI::App& app);
void add_predict(CLI::App& app);
void add_metrics(CLI::App& app);
void add_report(CLI::App& app);
void add_serve(CLI::App& app);

/// A subcommand with a description and examples at the foot of its --help.
CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& description,
                      const std::string& examples);

/// `--threads N`, applied before the command runs; all cores by default.
void add_threads(CLI::App* command);

}  // namespace heed::cli
