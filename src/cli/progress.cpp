#include "cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace heed::cli {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Progress::Progress(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0) {}

void Progress::on_data(std::size_t train, std::size_t val, std::size_t test) {
  if (!quiet_) fmt::print(stderr, "data: {} train, {} val, {} test\n", train, val, test);
}

void Progress::on_resume(std::int64_t epoch, std::size_t step) {
  if (!quiet_) fmt::print(stderr, "resumed at epoch {}, step {}\n", epoch, step);
}

void Progress::on_step(std::int64_t epoch, std::size_t step, std::size_t steps, double loss) {
  if (quiet_ || !terminal_ || (step != steps && now() - shown_ < 0.1)) return;
  shown_ = now();
  constexpr std::size_t kWidth = 30;
  const std::size_t full = kWidth * step / steps;
  fmt::print(stderr, "\repoch {:>3} [{:=<{}}{: <{}}] {:>3} %  loss {:.4f} ", epoch, "", full, "",
             kWidth - full, 100 * step / steps, loss);
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
