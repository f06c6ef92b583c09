#pragma once
#include <fstream>
#include <string>

#include "heed/train/trainer.hpp"

namespace heed::cli {

struct ProgressOptions {
  bool quiet = false;
  int ranks = 1;
  std::string log = {};  // a file for the losses of all steps; empty: none
};

/// A bar on a terminal, plain lines elsewhere; nothing when quiet. Writes to standard error.
class Progress : public TrainObserver {
 public:
  explicit Progress(const ProgressOptions& options);

  /// Something to know before it starts.
  void warn(const std::string& message);

  void on_data(std::size_t train, std::size_t val, std::size_t test) override;
  void on_resume(std::int64_t epoch, std::size_t step) override;
  void on_other_ranks(int before, int now) override;
  void on_step(std::int64_t epoch, std::size_t step, std::size_t steps, double loss) override;
  void on_epoch(const EpochRecord& record, bool best) override;

 private:
  bool quiet_, terminal_;
  std::string ranks_;  // what the bar says of them
  std::ofstream log_;
  double shown_ = 0;
};

}  // namespace heed::cli
