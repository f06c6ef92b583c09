#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "cli/command.hpp"
#include "cli/farm.hpp"
#include "heed/ablate/cell.hpp"
#include "heed/ablate/table.hpp"
#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/words.hpp"
#include "heed/dist/launcher.hpp"
#include "heed/models/task_model.hpp"
#include "heed/report/report.hpp"

namespace heed::cli {
namespace {

using ablate::AblationFiles;
using ablate::Cell;
using ablate::CellResult;
using ablate::Grid;

/// This rank's share of the machine it is on.
std::size_t own_cores() {
  const auto here = static_cast<unsigned>(std::max(1, dist::launched().here));
  return std::max(1u, std::thread::hardware_concurrency() / here);
}

struct AblateArgs {
  std::string config, out, baseline = "config", split = "test", cell;
  std::vector<std::string> over, set;
  std::int64_t seeds = 3;
  std::size_t jobs = own_cores();
  bool plan = false, json = false, quiet = false;
  std::string command;  // as it was typed, for the report
};

/// One ablation at a time in a directory; the kernel lets go of it however this process ends.
class FolderLock {
 public:
  explicit FolderLock(const AblationFiles& files)
      : file_(open(files.lock().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    HEED_CHECK(file_ >= 0 && flock(file_, LOCK_EX | LOCK_NB) == 0,
               "{}: another 'heed ablate' is at work there; wait for it, or choose another --out",
               files.folder.string());
  }
  ~FolderLock() { close(file_); }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int file_;
};

/// Writes what the cells are made from. A directory that holds another grid is left alone.
void lay_out(const Grid& grid, const std::vector<Cell>& cells, const AblationFiles& files) {
  const std::string description = describe(grid);
  HEED_CHECK(!std::filesystem::exists(files.grid()) || read_file(files.grid()) == description,
             "{}: holds another grid (config, --over, --set, --baseline or heed's version differ); "
             "choose another --out, or give the same to go on with it",
             files.folder.string());
  for (const char* folder : {"configs", "results", "logs", "runs"})
    make_writable_folder(files.folder / folder);
  for (const Cell& cell : cells) {
    if (!std::filesystem::exists(files.config(cell.id)))
      write_file(files.config(cell.id), to_toml(cell_config(grid, cell)));
  }
  write_file(files.grid(), description);
}

/// What a cell that ended without a result left in its log.
std::string last_line(const std::filesystem::path& log) {
  std::string last;
  for (const std::string& line : split(read_file(log), '\n')) {
    if (!trim(line).empty()) last = trim(line);
  }
  return last;
}

/// Runs the cells that have no result yet, each in a process and on one thread of its own, here and
/// at the other ranks.
class CellRunner {
 public:
  CellRunner(const Grid& grid, const AblationFiles& files, const AblateArgs& args,
             dist::Mailbox* mailbox)
      : grid_(grid), files_(files), args_(args), mailbox_(mailbox) {}

  ablate::Results run(const std::vector<Cell>& cells) {
    for (const Cell& cell : cells) {
      const auto result = read_result(files_, cell.id);
      if (result && result->failure.empty()) {
        results_[cell.id] = *result;
      } else {
        std::filesystem::remove(files_.result(cell.id));  // a failure is tried again
        todo_.push_back(cell);
      }
    }
    const std::string ranks = mailbox_ ? fmt::format(" at each of {} ranks", mailbox_->size()) : "";
    tell(fmt::format("{} cells: {} done before, {} to run, {} at a time{}", cells.size(),
                     results_.size(), todo_.size(), std::min(args_.jobs, cells.size()), ranks));
    std::vector<std::string> ids;
    for (const Cell& cell : todo_) ids.push_back(cell.id);
    run_cells(
        files_, ids, args_.jobs, mailbox_,
        {.ended = [&](std::size_t i, const std::string& failure) { ended(todo_[i], failure); },
         .lost =
             [&](int rank, std::size_t lost) {
               tell(fmt::format("rank {} is gone; {} of its cells go to others", rank, lost));
             }});
    return std::move(results_);
  }

 private:
  void ended(const Cell& cell, const std::string& failure) {
    auto result = read_result(files_, cell.id);
    if (!result) {
      const std::string how = failure.empty() ? "ended without a result" : failure;
      const std::string said = last_line(files_.log(cell.id));
      result = CellResult{.failure = how + (said.empty() ? "" : ": " + said)};
      write_result(files_, cell.id, *result);
    }
    const std::string outcome =
        result->failure.empty() ? fmt::format("val {} {:.4f}, {:.1f} s", result->metric,
                                              result->val.metrics[result->metric], result->seconds)
                                : "failed: " + result->failure;
    ++count_;
    tell(fmt::format("[{:>{}}/{}] {}, seed {}: {}{}", count_, std::to_string(todo_.size()).size(),
                     todo_.size(), grid_.rows[cell.row].name, cell.seed, outcome, time_left()));
    results_[cell.id] = std::move(*result);
  }

  /// By the cells so far; nothing to say of less than a minute.
  std::string time_left() const {
    using Minutes = std::chrono::duration<double, std::ratio<60>>;
    const double spent = Minutes(std::chrono::steady_clock::now() - started_).count();
    const double left =
        spent * static_cast<double>(todo_.size() - count_) / static_cast<double>(count_);
    return left < 1 ? "" : fmt::format("; about {:.0f} min left", left);
  }

  void tell(const std::string& line) const {
    if (!args_.quiet && !args_.json) fmt::print(stderr, "{}\n", line);
  }

  const Grid& grid_;
  const AblationFiles& files_;
  const AblateArgs& args_;
  dist::Mailbox* mailbox_;
  std::vector<Cell> todo_;
  ablate::Results results_;
  std::size_t count_ = 0;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

/// False when the runs cannot stand in one report, as on different data; says so.
bool write_ablation_report(const ablate::Table& table, const AblationFiles& files,
                           const AblateArgs& args) {
  std::vector<std::filesystem::path> runs;
  std::vector<std::string> variants;
  for (const ablate::TableRow& row : table.rows) {
    for (const std::string& cell : row.cells) {
      runs.push_back(files.run(cell));
      variants.push_back(row.name);
    }
  }
  if (runs.empty()) return false;
  constexpr std::size_t kExamples = 1500;  // of all runs: the file stays some megabytes
  try {
    write_report(runs, files.report(),
                 {.title = "Ablation",
                  .command = args.command,
                  .summary = verdict(table),
                  .max_examples = std::clamp<std::size_t>(kExamples / runs.size(), 5, 120),
                  .variants = variants,
                  .ablation = to_json(table)});
  } catch (const InputError& error) {
    fmt::print(stderr, "no {}: {}\n", files.report().filename().string(), error.what());
    return false;
  }
  return true;
}

void print_plan(const Grid& grid, const std::vector<Cell>& cells, bool as_json) {
  if (as_json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Cell& cell : cells)
      list.push_back({{"id", cell.id}, {"row", grid.rows[cell.row].name}, {"seed", cell.seed}});
    return fmt::print("{}\n", list.dump());
  }
  for (const Cell& cell : cells)
    fmt::print("{}  {}, seed {}\n", cell.id, grid.rows[cell.row].name, cell.seed);
  fmt::print("{}", to_text(make_table(grid, {}, "test")));  // what does not fit
  fmt::print("{} cells; baseline: {}\n", cells.size(), grid.rows[grid.baseline].name);
}

void finish(const ablate::Table& table, const AblationFiles& files, const AblateArgs& args) {
  write_file(files.table_json(), to_json(table));
  write_file(files.table_csv(), to_csv(table));
  const bool reported = write_ablation_report(table, files, args);
  if (args.json) {
    fmt::print("{}", to_json(table));
  } else {
    fmt::print("{}\n", to_text(table));
    for (const std::string& line : verdict(table)) fmt::print("{}\n", line);
    fmt::print("Numbers: {}, {}\n", files.table_csv().string(), files.table_json().string());
    if (reported) fmt::print("Report: {}\n", files.report().string());
  }
  std::size_t failed = 0, finished = 0;
  for (const ablate::TableRow& row : table.rows) {
    failed += row.failures.size();
    finished += row.cells.size();
  }
  if (failed > 0)
    throw std::runtime_error(fmt::format("{} of {} cells failed; the same command tries them again",
                                         failed, failed + finished));
}

void run_ablate(const AblateArgs& args) {
  const AblationFiles files{args.out};
  if (!args.cell.empty()) {
    at::set_num_threads(1);  // the same bits whatever runs beside it
    ablate::run_cell(files, args.cell);
    return;
  }
  const std::unique_ptr<dist::Mailbox> mailbox = dist::mpi_mailbox();
  if (mailbox && mailbox->rank() > 0) return work_for_farm(*mailbox, args.jobs);
  HEED_CHECK(!args.config.empty(),
             "ablate: a config is needed, as in 'heed ablate my.toml --over score=all --out DIR'");
  const Grid grid = make_grid({.config = args.config,
                               .set = args.set,
                               .over = args.over,
                               .baseline = args.baseline,
                               .seeds = args.seeds},
                              registry(), ablate::FitCheck());
  const std::vector<Cell> cells = list_cells(grid);
  make_writable_folder(files.folder);
  const FolderLock lock(files);
  lay_out(grid, cells, files);
  if (args.plan) {
    run_cells(files, {}, args.jobs, mailbox.get(), {});  // the other ranks may go
    return print_plan(grid, cells, args.json);
  }
  finish(make_table(grid, CellRunner(grid, files, args, mailbox.get()).run(cells), args.split),
         files, args);
}

}  // namespace

void add_ablate(CLI::App& app) {
  CLI::App* command = add_command(
      app, "ablate", "Train a config with parts exchanged, over seeds, and test the differences",
      "  heed ablate my.toml --over score=all --out runs/scores\n"
      "  heed ablate my.toml --over score=dot,general --over align=soft,sparsemax --seeds 5 --out "
      "runs/grid\n"
      "  heed ablate my.toml --over feature.model=bigru,bilstm --baseline mechanism=mean-pool "
      "--out runs/encoders\n"
      "  mpirun --enable-recovery -n 4 heed ablate my.toml --over score=all --out runs/scores\n"
      "The same command again goes on where a stopped one was, and tries failed cells again.");
  auto args = std::make_shared<AblateArgs>();
  command->add_option("config", args->config, "the config file (TOML)");
  command->add_option("--out", args->out, "the directory to write, or to go on with")->required();
  command
      ->add_option("--over", args->over,
                   "a key and its values, as score=dot,general or align=all; may be repeated")
      ->allow_extra_args(false);
  command
      ->add_option("--set", args->set,
                   "another value for a key in all cells, as train.epochs=3; may be repeated")
      ->allow_extra_args(false);
  command->add_option("--seeds", args->seeds, "seeds of each row (3)")->check(CLI::Range(1, 1000));
  command
      ->add_option("--jobs", args->jobs,
                   "cells at a time at each rank, one thread each (all cores)")
      ->check(CLI::Range(1, 4096));
  command->add_option("--baseline", args->baseline,
                      "what rows are compared with: config, or changes as score=dot,align=soft");
  command->add_option("--split", args->split, "compare on val or test data (test)")
      ->check(CLI::IsMember({"val", "test"}));
  command->add_flag("--plan", args->plan, "lay the grid out and list its cells; run nothing");
  command->add_option("--cell", args->cell,
                      "run this one cell of a grid that is laid out, for schedulers");
  command->add_flag("--quiet", args->quiet, "no line a cell");
  command->add_flag("--json", args->json, "for programs");
  command->callback([args] {
    args->command = "heed ablate " + args->config;
    for (const std::string& over : args->over) args->command += " --over " + over;
    for (const std::string& set : args->set) args->command += " --set " + set;
    args->command += fmt::format(" --seeds {} --out {}", args->seeds, args->out);
    run_ablate(*args);
  });
}

}  // namespace heed::cli
