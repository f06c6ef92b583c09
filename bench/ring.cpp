// One long sequence over ranks: memory and time of a training step, and how much of the transfers
// hides behind computing.
//
//   ninja -C build bench_ring && mpirun -n 2 build/bench/bench_ring [LENGTH [WIDTH]]
#include <fmt/format.h>
#include <torch/torch.h>

#include <chrono>
#include <fstream>

#include "heed/attention/attend.hpp"
#include "heed/attention/ring.hpp"
#include "heed/dist/mpi.hpp"

namespace heed {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A line of /proc/self/status in MiB: VmRSS, or VmHWM, the most since the last reset.
double status(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    double kib = 0;
    if (word == name + ":" && file >> kib) return kib / 1024;
  }
  return 0;
}

void reset_peak() { std::ofstream("/proc/self/clear_refs") << 5; }

double sum_of(dist::Group& group, double mine) {
  group.sum(std::span(&mine, 1))->wait();
  return mine;
}

/// The same ranks without the transfers: what is left is computing.
class Muted final : public dist::Group {
 public:
  explicit Muted(dist::Group& group) : group_(group) {}
  int rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }
  std::unique_ptr<dist::Work> sum(std::span<float> x) override { return group_.sum(x); }
  std::unique_ptr<dist::Work> sum(std::span<double> x) override { return group_.sum(x); }
  std::unique_ptr<dist::Work> sum(std::span<std::int64_t> x) override { return group_.sum(x); }
  std::unique_ptr<dist::Work> exchange(std::span<const std::byte> out, int, std::span<std::byte> in,
                                       int) override {
    // Numbers of the same kind: the kernel looks closer at what is not finite.
    std::copy_n(out.begin(), std::min(out.size(), in.size()), in.begin());
    return dist::alone().sum(std::span<float>());
  }
  std::vector<std::string> gather(const std::string& mine) override { return group_.gather(mine); }

 private:
  dist::Group& group_;
};

/// One training step of causal attention with one head on a part of `length` × `width`.
void step(dist::Group& group, std::int64_t length, std::int64_t width) {
  const RingSpans spans = ring_spans(length, group.rank(), group.size());
  const std::int64_t mine = spans[0].count + spans[1].count;
  torch::manual_seed(group.rank());
  std::vector<Tensor> x;
  for (int i = 0; i < 3; ++i) x.push_back(torch::randn({1, 1, mine, width}).requires_grad_());
  AttendOptions options{.causal = Causal::same()};
  if (group.size() > 1) options.group = &group;
  const Tensor out = attend(x[0], x[1], x[2], options).output;
  out.backward(torch::ones_like(out));
}

void measure_training(dist::Group& group, std::int64_t length, std::int64_t width) {
  step(group, 2048, width);  // what the first call takes once
  const double before = status("VmRSS");
  reset_peak();
  const double start = now();
  step(group, length, width);
  const double seconds = now() - start, grown = status("VmHWM") - before;
  const double mean = sum_of(group, grown) / group.size();
  if (!group.first()) return;
  const double pairs = static_cast<double>(length) * static_cast<double>(length) / 2;
  const double work = 14 * pairs * static_cast<double>(width);  // seven products
  fmt::print(
      "training step, {} × {}, causal: {} ranks, {:.1f} s, {:.0f} MiB a rank above the start, "
      "{:.1f} "
      "GFLOP/s a rank\n",
      length, width, group.size(), seconds, mean, work / seconds / 1e9 / group.size());
}

/// Seconds of a causal forward pass over these ranks.
double forward_seconds(dist::Group& group, const std::vector<Tensor>& x) {
  const torch::NoGradGuard no_grad;
  sum_of(group, 0);  // together
  const double start = now();
  attend(x[0], x[1], x[2], {.causal = Causal::same(), .group = &group});
  return sum_of(group, now() - start) / group.size();
}

double transfer_seconds(dist::Group& group, std::size_t bytes, int times) {
  const int N = group.size();
  std::vector<std::byte> out(bytes), in(bytes);
  sum_of(group, 0);
  const double start = now();
  for (int i = 0; i < times; ++i)
    group.exchange(out, (group.rank() + 1) % N, in, (group.rank() + N - 1) % N)->wait();
  return sum_of(group, now() - start) / N;
}

double median(std::vector<double> x) {
  std::ranges::sort(x);
  return x[x.size() / 2];
}

void measure_overlap(dist::Group& group, std::int64_t length, std::int64_t width) {
  const int N = group.size();
  torch::manual_seed(1);
  std::vector<Tensor> x;
  for (int i = 0; i < 3; ++i)
    x.push_back(ring_split(torch::randn({1, 1, length, width}), 2, group));
  const std::int64_t keys = x[0].size(2);
  const std::int64_t pieces = std::max<std::int64_t>((keys * width * 8 + (1 << 20) - 1) >> 20, 1);
  const int passes = static_cast<int>(pieces) * (N - 1);
  const auto bytes = static_cast<std::size_t>(keys * width * 8 / pieces);
  Muted muted(group);
  std::vector<double> both, computing, moving;
  for (int i = 0; i < 5; ++i) {
    computing.push_back(forward_seconds(muted, x));
    both.push_back(forward_seconds(group, x));
    moving.push_back(transfer_seconds(group, bytes, passes));
  }
  const double a = median(both), c = median(computing), t = median(moving);
  if (!group.first()) return;
  fmt::print("{:>8} {:>6} {:>10} {:>12.2f} {:>12.2f} {:>12.2f} {:>14.2f}\n", length, passes, bytes,
             t / passes * 1e3, c * 1e3, a * 1e3, (c + t) * 1e3);
}

}  // namespace
}  // namespace heed

int main(int argc, char** argv) {
  using namespace heed;
  torch::set_num_threads(1);
  dist::Group& group = dist::mpi_world();
  const std::int64_t length = argc > 1 ? std::atoll(argv[1]) : 131072;
  const std::int64_t width = argc > 2 ? std::atoll(argv[2]) : 64;
  if (group.size() > 1) {
    if (group.first()) {
      fmt::print(
          "forward, causal, {} ranks; times in ms\n{:>8} {:>6} {:>10} {:>12} {:>12} {:>12} "
          "{:>14}\n",
          group.size(), "length", "passes", "bytes each", "a transfer", "computing", "ring",
          "one by one");
    }
    for (const std::int64_t n : {1024, 2048, 4096, 8192, 16384}) measure_overlap(group, n, width);
  }
  measure_training(group, length, width);
}
