#pragma once
#include <memory>
#include <vector>

#include "heed/attention/tensor.hpp"
#include "heed/dist/group.hpp"

namespace heed {

/// Adds up the gradients of all ranks, bucket by bucket, while the backward pass still runs.
///
/// Buckets are filled from the last parameter to the first, as backward passes go, and are sent in
/// that order at every rank. Large tables of which a batch touches a few rows are sent as those
/// rows, after the pass. The sums have the same bits at every rank and in every run.
class GradientSum {
 public:
  /// All ranks give the same parameters, of float32; none for a group of one.
  GradientSum(const std::vector<Tensor>& parameters, dist::Group& group);
  ~GradientSum();
  GradientSum(const GradientSum&) = delete;
  GradientSum& operator=(const GradientSum&) = delete;

  /// Before the last backward pass of a step: what is complete is sent from now on. A rank that has
  /// nothing to learn from in this step makes no pass.
  void start() { sending_ = true; }
  /// After it: each parameter has the sum as its gradient, or none where no rank has one.
  void finish();

 private:
  struct Slot {
    Tensor parameter;
    std::size_t bucket = 0;
    Tensor sum = {};     // its part of the bucket, in its shape
    bool ready = false;  // copied there in this step
  };
  struct Bucket {
    Tensor values = {};
    std::vector<std::size_t> slots = {};
    std::size_t missing = 0;  // slots that are not ready
    std::unique_ptr<dist::Work> work = nullptr;
  };
  struct Table {
    Tensor parameter;
    std::vector<std::int64_t> touched = {};  // rows of this rank's gradient
  };
  class Hook;

  void assign(const Tensor& parameter);
  void allocate();
  void on_gradient(std::size_t slot);
  void take(Slot& slot);
  void send_complete();
  void send_rest();
  std::vector<std::int64_t> counts();
  void sum_table(Table& table, std::int64_t touched);

  dist::Group& group_;
  std::vector<Slot> slots_;
  std::vector<Bucket> buckets_;
  std::vector<Table> tables_;
  std::size_t sent_ = 0;  // buckets under way
  bool sending_ = false;
};

}  // namespace heed
