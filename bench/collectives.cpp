// What it costs to add up numbers over ranks, and to pass them round the ring, by size. Rank 0
// prints a JSON line a size: mpirun -n 4 build/bench/bench_collectives
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <vector>

#include "heed/dist/mpi.hpp"

namespace {

using heed::dist::Group;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds a call takes at the slowest rank: the least of several rounds, each of calls enough to
/// be timed.
template <class Call>
double least_seconds(Group& group, std::size_t bytes, const Call& call) {
  constexpr int kRounds = 15;
  const int calls = static_cast<int>(std::clamp<std::size_t>((1 << 22) / bytes, 1, 200));
  double least = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::int64_t> ready = {0};
    group.sum(std::span(ready))->wait();
    const double start = now();
    for (int i = 0; i < calls; ++i) call();
    std::vector<double> spent(static_cast<std::size_t>(group.size()));
    spent[static_cast<std::size_t>(group.rank())] = (now() - start) / calls;
    group.sum(std::span(spent))->wait();
    least = std::min(least, *std::ranges::max_element(spent));
  }
  return least;
}

}  // namespace

int main() {
  Group& group = heed::dist::mpi_world();
  const int next = (group.rank() + 1) % group.size();
  const int last = (group.rank() + group.size() - 1) % group.size();
  for (std::size_t bytes = 8; bytes <= (std::size_t{1} << 26); bytes *= 4) {
    std::vector<float> out(bytes / sizeof(float)), in(out.size());
    const double sum = least_seconds(group, bytes, [&] { group.sum(std::span(out))->wait(); });
    const double pass = least_seconds(group, bytes, [&] {
      group
          .exchange(std::as_bytes(std::span(out)), next, std::as_writable_bytes(std::span(in)),
                    last)
          ->wait();
    });
    if (group.first()) {
      fmt::print("{{\"ranks\": {}, \"bytes\": {}, \"sum\": {:.3e}, \"pass\": {:.3e}}}\n",
                 group.size(), bytes, sum, pass);
      std::fflush(stdout);
    }
  }
}
