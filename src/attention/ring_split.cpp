// Which positions a rank holds, and how a whole tensor becomes parts and comes back.
#include <torch/torch.h>

#include <numeric>

#include "attention/ring.hpp"
#include "heed/base/error.hpp"

namespace heed {
namespace {

std::int64_t count_of(const RingSpans& spans) { return spans[0].count + spans[1].count; }

}  // namespace

RingSpans ring_spans(std::int64_t length, int rank, int ranks) {
  const auto chunk = [&](std::int64_t c) {
    const std::int64_t first = length * c / (2 * ranks);
    return RingSpan{first, length * (c + 1) / (2 * ranks) - first};
  };
  return {chunk(rank), chunk(2 * ranks - 1 - rank)};
}

Tensor ring_positions(std::int64_t length, const dist::Group& group) {
  const RingSpans spans = ring_spans(length, group.rank(), group.size());
  std::vector<Tensor> runs;
  for (const RingSpan& span : spans)
    runs.push_back(torch::arange(span.first, span.first + span.count, torch::kInt64));
  return torch::cat(runs);
}

Tensor ring_split(const Tensor& whole, std::int64_t dim, const dist::Group& group) {
  const RingSpans spans = ring_spans(whole.size(dim), group.rank(), group.size());
  return torch::cat({whole.narrow(dim, spans[0].first, spans[0].count),
                     whole.narrow(dim, spans[1].first, spans[1].count)},
                    dim);
}

Tensor ring_join(const Tensor& part, std::int64_t dim, dist::Group& group) {
  const int N = group.size(), rank = group.rank();
  std::vector<std::int64_t> counts(static_cast<std::size_t>(N));
  counts[static_cast<std::size_t>(rank)] = part.size(dim);
  group.sum(counts)->wait();
  const std::int64_t length = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  for (int r = 0; r < N; ++r) {
    const std::int64_t given = counts[static_cast<std::size_t>(r)];
    const std::int64_t due = count_of(ring_spans(length, r, N));
    HEED_CHECK(given == due, "ring_join: rank {} holds {} of {} positions; ring_split gives it {}",
               r, given, length, due);
  }
  const Tensor mine = part.detach().movedim(dim, 0).contiguous();
  std::vector<std::int64_t> shape = mine.sizes().vec();
  shape[0] = length;
  Tensor whole = torch::empty(shape, mine.options());
  for (int step = 0; step < N; ++step) {
    const int from = (rank + N - step) % N;
    const RingSpans spans = ring_spans(length, from, N);
    shape[0] = count_of(spans);
    Tensor theirs = step == 0 ? mine : torch::empty(shape, mine.options());
    if (step > 0) group.exchange(bytes_of(mine), (rank + step) % N, bytes_of(theirs), from)->wait();
    std::int64_t row = 0;
    for (const RingSpan& span : spans) {
      whole.narrow(0, span.first, span.count).copy_(theirs.narrow(0, row, span.count));
      row += span.count;
    }
  }
  return whole.movedim(0, dim).contiguous();
}

}  // namespace heed
