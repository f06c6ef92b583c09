#include "cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "heed/base/error.hpp"

namespace heed::cli {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Progress::Progress(const ProgressOptions& options)
    : quiet_(options.quiet),
      terminal_(isatty(STDERR_FILENO) != 0),
      ranks_(options.ranks > 1 ? fmt::format("{} ranks  ", options.ranks) : "") {
  if (options.log.empty()) return;
  log_.open(options.log);
  HEED_CHECK(log_.is_open(), "{}: cannot be written; choose another --log-steps", options.log);
}

void Progress::warn(const std::string& message) {
  if (!quiet_) fmt::print(stderr, "{}note: {}\n", ranks_, message);
}

void Progress::on_data(std::size_t train, std::size_t val, std::size_t test) {
  if (!quiet_) fmt::print(stderr, "{}data: {} train, {} val, {} test\n", ranks_, train, val, test);
}

void Progress::on_resume(std::int64_t epoch, std::size_t step) {
  if (!quiet_) fmt::print(stderr, "resumed at epoch {}, step {}\n", epoch, step);
}

void Progress::on_other_ranks(int before, int now) {
  if (quiet_) return;
  fmt::print(stderr, "it had {} rank{} until here and has {} now: the last bits may differ\n",
             before, before == 1 ? "" : "s", now);
}

void Progress::on_step(std::int64_t epoch, std::size_t step, std::size_t steps, double loss) {
  if (log_.is_open()) {
    log_ << fmt::format("{{\"epoch\": {}, \"step\": {}, \"loss\": {}}}\n", epoch, step, loss);
    log_.flush();
  }
  if (quiet_ || !terminal_ || (step != steps && now() - shown_ < 0.1)) return;
  shown_ = now();
  constexpr std::size_t kWidth = 30;
  const std::size_t full = kWidth * step / steps;
  fmt::print(stderr, "\r{}epoch {:>3} [{:=<{}}{: <{}}] {:>3} %  loss {:.4f} ", ranks_, epoch, "",
             full, "", kWidth - full, 100 * step / steps, loss);
  std::fflush(stderr);
}

void Progress::on_epoch(const EpochRecord& r, bool best) {
  if (quiet_) return;
  const std::string score = r.metric == "accuracy" ? fmt::format("{:.2f} %", 100 * r.val_score)
                                                   : fmt::format("{:.4f}", r.val_score);
  fmt::print(stderr, "{}epoch {:>3}  train loss {:.4f}  val loss {:.4f}  val {} {}  {:.1f} s{}\n",
             terminal_ ? "\r\033[K" : "", r.epoch, r.train_loss, r.val_loss, r.metric, score,
             r.seconds, best ? "  best" : "");
}

}  // namespace heed::cli
