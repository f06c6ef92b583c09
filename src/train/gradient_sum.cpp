#include "train/gradient_sum.hpp"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <ranges>
#include <span>

#include "train/gradient_rows.hpp"

namespace heed {
namespace {

// Large enough that a message costs its bytes and not its start, small enough that the first is
// under way early.
constexpr std::int64_t kBucketFloats = std::int64_t{1} << 18;

std::span<float> floats_of(const Tensor& tensor) {
  return {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

}  // namespace

/// Told by torch when the gradient of a parameter is complete for this pass.
class GradientSum::Hook final : public torch::autograd::PostAccumulateGradHook {
 public:
  Hook(GradientSum& sum, std::size_t slot) : sum_(sum), slot_(slot) {}
  void operator()(const torch::autograd::Variable&) override { sum_.on_gradient(slot_); }

 private:
  GradientSum& sum_;
  std::size_t slot_;
};

GradientSum::GradientSum(const std::vector<Tensor>& parameters, dist::Group& group)
    : group_(group) {
  if (group.size() == 1) return;
  for (const Tensor& parameter : std::views::reverse(parameters)) {
    if (is_table(parameter)) {
      tables_.push_back({.parameter = parameter});
    } else {
      assign(parameter);
    }
  }
  allocate();
  for (std::size_t i = 0; i < slots_.size(); ++i)
    torch::autograd::impl::set_post_acc_grad_hooks(slots_[i].parameter,
                                                   std::make_unique<Hook>(*this, i));
}

GradientSum::~GradientSum() {
  for (const Slot& slot : slots_)
    torch::autograd::impl::set_post_acc_grad_hooks(slot.parameter, nullptr);
}

void GradientSum::assign(const Tensor& parameter) {
  std::int64_t used = 0;
  if (!buckets_.empty()) {
    for (const std::size_t slot : buckets_.back().slots) used += slots_[slot].parameter.numel();
  }
  if (buckets_.empty() || (used > 0 && used + parameter.numel() > kBucketFloats))
    buckets_.emplace_back();
  buckets_.back().slots.push_back(slots_.size());
  slots_.push_back({.parameter = parameter, .bucket = buckets_.size() - 1});
}

void GradientSum::allocate() {
  for (Bucket& bucket : buckets_) {
    std::int64_t size = 0, place = 0;
    for (const std::size_t slot : bucket.slots) size += slots_[slot].parameter.numel();
    bucket.values = torch::zeros({size});
    bucket.missing = bucket.slots.size();
    for (const std::size_t slot : bucket.slots) {
      const Tensor& parameter = slots_[slot].parameter;
      slots_[slot].sum = bucket.values.narrow(0, place, parameter.numel()).view(parameter.sizes());
      place += parameter.numel();
    }
  }
}

void GradientSum::on_gradient(std::size_t slot) {
  if (!sending_) return;
  take(slots_[slot]);
  send_complete();
  // MPI moves only when it is called.
  for (std::size_t i = 0; i < sent_; ++i) buckets_[i].work->done();
}

void GradientSum::take(Slot& slot) {
  torch::NoGradGuard no_grad;
  const Tensor& gradient = slot.parameter.grad();
  if (gradient.defined()) {
    slot.sum.copy_(gradient);
  } else {
    slot.sum.zero_();
  }
  slot.ready = true;
  --buckets_[slot.bucket].missing;
}

void GradientSum::send_complete() {
  for (; sent_ < buckets_.size() && buckets_[sent_].missing == 0; ++sent_)
    buckets_[sent_].work = group_.sum(floats_of(buckets_[sent_].values));
}

/// Parameters that the pass did not reach, at this rank or at all.
void GradientSum::send_rest() {
  for (Slot& slot : slots_) {
    if (!slot.ready) take(slot);
  }
  send_complete();
}

/// How many ranks have a gradient of each slot and of each table, and how many rows of each table
/// they touched.
std::vector<std::int64_t> GradientSum::counts() {
  std::vector<std::int64_t> counts;
  const auto count = [&](const Tensor& parameter) {
    counts.push_back(parameter.grad().defined() ? 1 : 0);
  };
  for (const Slot& slot : slots_) count(slot.parameter);
  for (const Table& table : tables_) count(table.parameter);
  for (Table& table : tables_) {
    table.touched = touched_rows(table.parameter.grad());
    counts.push_back(static_cast<std::int64_t>(table.touched.size()));
  }
  group_.sum(counts)->wait();
  return counts;
}

void GradientSum::sum_table(Table& table, std::int64_t touched) {
  Tensor& gradient = table.parameter.mutable_grad();
  if (worth_sending_as_rows(table.parameter, touched)) {
    gradient = sum_as_rows(table.parameter, table.touched, group_);
    return;
  }
  gradient = gradient.defined() ? gradient.contiguous() : torch::zeros_like(table.parameter);
  group_.sum(floats_of(gradient))->wait();
}

void GradientSum::finish() {
  if (group_.size() == 1) return;
  torch::NoGradGuard no_grad;
  send_rest();
  const std::vector<std::int64_t> present = counts();
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    if (present[slots_.size() + i] > 0)
      sum_table(tables_[i], present[slots_.size() + tables_.size() + i]);
  }
  for (Bucket& bucket : buckets_) {
    bucket.work->wait();
    bucket.work.reset();
    bucket.missing = bucket.slots.size();
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].parameter.mutable_grad() = present[i] > 0 ? slots_[i].sum : Tensor();
    slots_[i].ready = false;
  }
  sent_ = 0;
  sending_ = false;
}

}  // namespace heed
