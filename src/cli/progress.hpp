#pragma once
#include "heed/train/trainer.hpp"

namespace heed::cli {

/// A bar on a terminal, plain lines elsewhere; nothing when quiet. Writes to standard error.
class Progress : public TrainObserver {
 public:
  explicit Progress(bool quiet);

  void on_data(std::size_t train, std::size_t val, std::size_t test) override;
  void on_resume(std::int64_t epoch, std::size_t step) override;
  void on_step(std::int64_t epoch, std::size_t step, std::size_t steps, double loss) override;
  void on_epoch(const EpochRecord& record, bool best) override;

 private:
  bool quiet_, terminal_;
  double shown_ = 0;
};

}  // namespace heed::cli
