// Few queries, many keys: all rows that share a key/value head are served by one pass over it. Long
// key axes are split in parts of kPart keys, merged in order.
#include "kernels/decode.hpp"

#include <atomic>
#include <cstddef>

#include "kernels/parallel.hpp"
#include "kernels/scratch.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/decode.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/context-inl.hpp"
#include "kernels/dropout-inl.hpp"
#include "kernels/exp-inl.hpp"
#include "kernels/finish-inl.hpp"

#ifndef HEED_KERNELS_DECODE_ONCE
#define HEED_KERNELS_DECODE_ONCE
namespace heed::kernels {

constexpr std::int64_t kPart = 1920;  // keys of a part: whole key blocks
constexpr std::int64_t kMaxRows = 16;
constexpr std::int64_t kDirectRows = 3;  // up to so many read keys and values where they lie

/// A unit of work: keys `key` .. `end` for all rows of one key/value head.
struct DecodePart {
  std::int64_t entry, kv_head, key, end;
  std::int64_t first, parts;  // index of the head's first part, and their number
};

struct DecodeCall {
  const AttentionProblem& problem;
  const ForwardResult& result;
  const std::vector<Entry>& entries;
  const std::vector<DecodePart>& parts;
  std::byte* partial;  // a DecodeRow after another: kMaxRows for each part
  std::vector<std::atomic<std::int64_t>>& left;  // parts of a head still to come, at its first
  WorkQueue& queue;
};

/// What a row's partial result takes, in working-type numbers: maximum, sum, seen, context.
inline std::int64_t decode_row_size(const AttentionProblem& p) { return 3 + p.value_width; }

}  // namespace heed::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
static_assert(kPart % kKeyBlock == 0);

template <class T>
struct DecodeScratch {
  explicit DecodeScratch(const AttentionProblem& p)
      : width(padded<T>(p.value_width)),
        queries(memory.take(kMaxRows * p.width)),
        context(memory.take(kMaxRows * width)),
        keys(memory.take(kKeyBlock * p.width)),
        panel(memory.take(kKeyBlock * p.width)),
        values(memory.take(kKeyBlock * width)),
        scores(memory.take(kMaxRows * kKeyBlock)),
        valid(memory.take(kKeyBlock)),
        extra(memory.take(kKeyBlock)),
        spread(memory.take(kKeyBlock)) {}

  Scratch<T> memory;
  std::int64_t width;  // of values, whole_count to whole vectors
  T* queries;          // [rows][D]
  T* context;          // [rows][width]
  T* keys;
  T* panel;   // [D][keys]
  T* values;  // [keys][width]
  T* scores;  // [rows][kKeyBlock]
  T* valid;
  T* extra;
  T* spread;
  T top[kMaxRows], sum[kMaxRows], keep[kMaxRows];
  bool seen[kMaxRows];
  std::uint8_t bad[kKeyBlock];
};

/// Scores of one row to weights: 2^((score - max) * factor), 0 behind masks. False: none takes
/// part.
template <class T>
bool weigh_row(const ScoreSetup<T>& setup, std::int64_t query, std::int64_t key, std::int64_t count,
               std::int64_t row, Cover& cover, DecodeScratch<T>& x) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const T lowest = -std::numeric_limits<T>::infinity();
  T* score = x.scores + row * kKeyBlock;
  const Panel panel{query, 1, 1};
  const ScoreTile<T> tile{score, x.valid, x.extra, nullptr, x.spread, nullptr};
  x.keep[row] = 1;
  cover = mask_tile(setup, panel, key, count, x.valid);
  if (cover == Cover::none) return false;
  if (!setup.plain) shape_scores(setup, panel, key, count, tile, cover);
  const auto* bits = reinterpret_cast<const LaneBits<T>*>(x.valid);
  bool any = cover == Cover::all;
  if (cover == Cover::part) {
    for (std::int64_t r = 0; r < count; ++r) {
      any |= bits[r] != 0;
      score[r] = bits[r] != 0 ? score[r] : lowest;
    }
  }
  const std::int64_t whole_count = padded<T>(count);
  std::fill(score + count, score + whole_count, lowest);
  auto highest = hn::Set(d, lowest);
  for (std::int64_t r = 0; r < whole_count; r += lanes)
    highest = hn::Max(highest, hn::Load(d, score + r));
  const T old = x.top[row];
  const T top = std::max(old, hn::GetLane(hn::MaxOfLanes(d, highest)));
  const auto base = hn::Set(d, top == lowest ? T{0} : top), factor = hn::Set(d, setup.factor());
  const auto weight = [&](auto at) HWY_ATTR { return exp2_drop(d, hn::Sub(base, at), factor); };
  x.top[row] = top;
  x.keep[row] = hn::GetLane(weight(hn::Set(d, old)));
  for (std::int64_t r = 0; r < whole_count; r += lanes) {
    hn::Store(weight(hn::Load(d, score + r)), d, score + r);
  }
  T sum = 0;
  for (std::int64_t r = 0; r < count; ++r) sum += score[r];
  x.sum[row] =
      hn::GetLane(hn::MulAdd(hn::Set(d, x.sum[row]), hn::Set(d, x.keep[row]), hn::Set(d, sum)));
  x.seen[row] |= any;
  if (setup.p.dropout > 0) {
    dropout_tile(setup, panel, key, count, x.extra);
    for (std::int64_t r = 0; r < count; ++r) score[r] *= x.extra[r];
  }
  return true;
}

/// A vector of numbers as they are stored.
template <class D>
HWY_INLINE hn::Vec<D> load_stored(D d, const hn::TFromD<D>* from) {
  return hn::LoadU(d, from);
}
template <class D>
HWY_INLINE hn::Vec<D> load_stored(D d, const BFloat16* from) {
  const hn::Rebind<hwy::bfloat16_t, D> half;
  return hn::PromoteTo(d, hn::LoadU(half, reinterpret_cast<const hwy::bfloat16_t*>(from)));
}
template <class D>
HWY_INLINE hn::Vec<D> load_stored(D d, const Float16* from) {
  const hn::Rebind<hwy::float16_t, D> half;
  return hn::PromoteTo(d, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(from)));
}

/// scores[key] = query · keys[key], along the width: for few rows quicker than keys in lanes, which
/// have to be transposed first.
template <class T, class From>
void dot_rows(const T* query, const From* keys, std::ptrdiff_t stride, std::int64_t count,
              std::int64_t width, T* scores) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t whole = width / lanes * lanes;
  const auto run = [&](auto rows, const From* row, T* to) HWY_ATTR {
    constexpr int R = decltype(rows)::value;
    hn::Vec<decltype(d)> sum[R];
    for (int r = 0; r < R; ++r) sum[r] = hn::Zero(d);
    for (std::int64_t c = 0; c < whole; c += lanes) {
      const auto q = hn::LoadU(d, query + c);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) {
        sum[r] = hn::MulAdd(q, load_stored(d, row + r * stride + c), sum[r]);
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      T score = hn::GetLane(hn::SumOfLanes(d, sum[r]));
      for (std::int64_t c = whole; c < width; ++c) {
        score += query[c] * from_stored<T>(row[r * stride + c]);
      }
      to[r] = score;
    }
  };
  std::int64_t r = 0;
  for (; r + 4 <= count; r += 4)
    run(std::integral_constant<int, 4>(), keys + r * stride, scores + r);
  for (; r < count; ++r) run(std::integral_constant<int, 1>(), keys + r * stride, scores + r);
}

/// The scores of all rows of a group, with keys in the lanes.
template <class T>
void score_panel(const AttentionProblem& p, Rows<T> keys, std::int64_t rows, std::int64_t count,
                 DecodeScratch<T>& x) {
  const hn::ScalableTag<T> d;
  const std::int64_t whole_count = padded<T>(count);
  rows_to_panel(keys, count, p.width, whole_count, x.panel);
  T* scores = x.scores;
  product(rows, Broadcast<T>{x.queries, p.width, 1}, x.panel, whole_count, p.width, whole_count,
          [=](std::int64_t r, std::int64_t c, auto sum)
              HWY_ATTR { hn::Store(sum, d, scores + r * kKeyBlock + c); });
}

/// sums[c] = sums[c] * keep + Σ_r weights[r] * rows[r][c]; `width` in whole vectors. Up to eight of
/// them at once, as the sums of one row must hide each other's latency.
template <class T, class From>
void add_weighted(const T* weights, const From* rows, std::ptrdiff_t stride, std::int64_t count,
                  std::int64_t width, T keep, T* sums) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto run = [&](auto vectors, std::int64_t column) HWY_ATTR {
    constexpr int NV = decltype(vectors)::value;
    hn::Vec<decltype(d)> sum[NV];
    for (int v = 0; v < NV; ++v) sum[v] = hn::Zero(d);
    const From* row = rows + column;
    for (std::int64_t r = 0; r < count; ++r, row += stride) {
      const auto weight = hn::Set(d, weights[r]);
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) {
        sum[v] = hn::MulAdd(weight, load_stored(d, row + v * lanes), sum[v]);
      }
    }
    for (int v = 0; v < NV; ++v) {
      T* at = sums + column + v * lanes;
      hn::Store(hn::MulAdd(hn::Load(d, at), hn::Set(d, keep), sum[v]), d, at);
    }
  };
  std::int64_t c = 0;
  for (; c + 8 * lanes <= width; c += 8 * lanes) run(std::integral_constant<int, 8>(), c);
  for (; c + 4 * lanes <= width; c += 4 * lanes) run(std::integral_constant<int, 4>(), c);
  for (; c < width; c += lanes) run(std::integral_constant<int, 1>(), c);
}

/// Takes one block of keys into all rows.
template <class T, class From>
void decode_block(const AttentionProblem& p, const Entry& e, std::int64_t kv_head, std::int64_t key,
                  std::int64_t count, DecodeScratch<T>& x) {
  const std::int64_t group = p.heads / p.kv_heads, rows = group * e.queries;
  const std::int64_t key_at = key_element(p.key.stride, e, kv_head, key);
  if (rows <= kDirectRows && p.key.stride[3] == 1) {
    for (std::int64_t r = 0; r < rows; ++r) {
      dot_rows(x.queries + r * p.width, static_cast<const From*>(p.key.data) + key_at,
               p.key.stride[2], count, p.width, x.scores + r * kKeyBlock);
    }
  } else {
    score_panel(p, view_rows(p.key, p.type, key_at, count, p.width, x.keys, p.width), rows, count,
                x);
  }

  const std::int64_t value_at = key_element(p.value.stride, e, kv_head, key);
  const auto* stored = static_cast<const From*>(p.value.data) + value_at;
  // Else the last vector would read past a row, or the numbers are better converted once.
  const bool direct = p.value.stride[3] == 1 && x.width == p.value_width &&
                      (rows <= kDirectRows || std::is_same_v<From, T>);
  bool copied = false, checked = false, any_bad = false;
  const auto copy = [&] {
    if (copied) return;
    copy_rows(p.value.data, p.type, value_at, p.value.stride[2], p.value.stride[3], count,
              p.value_width, x.values, x.width);
    copied = true;
  };
  const auto add = [&](std::int64_t row, std::int64_t from, std::int64_t to, T keep) HWY_ATTR {
    const T* weights = x.scores + row * kKeyBlock + from;
    T* context = x.context + row * x.width;
    if (direct) {
      add_weighted(weights, stored + from * p.value.stride[2], p.value.stride[2], to - from,
                   x.width, keep, context);
    } else {
      add_weighted(weights, x.values + from * x.width, x.width, to - from, x.width, keep, context);
    }
  };
  if (!direct) copy();
  for (std::int64_t row = 0; row < rows; ++row) {
    const ScoreSetup<T> setup(p, e, kv_head * group + row / e.queries);
    const std::int64_t query = row % e.queries;
    if (e.begin_key(query) >= key + count || e.end_key(query) <= key) continue;
    Cover cover;
    if (!weigh_row(setup, query, key, count, row, cover, x)) continue;
    if (cover == Cover::part && !checked) {
      copy();
      any_bad = find_non_finite(Rows<T>{x.values, x.width}, count, p.value_width, x.bad);
      checked = true;
    }
    if (cover == Cover::all || !any_bad) {
      add(row, 0, count, x.keep[row]);
      continue;
    }
    // Rows of values that are not finite and behind the mask are stepped over.
    const auto* bits = reinterpret_cast<const LaneBits<T>*>(x.valid);
    T keep = x.keep[row];
    for (std::int64_t r = 0; r < count;) {
      std::int64_t end = r;
      while (end < count && !(x.bad[end] && bits[end] == 0)) ++end;
      add(row, r, end, keep);
      keep = 1;
      for (r = end; r < count && x.bad[r] && bits[r] == 0;) ++r;
    }
  }
}

/// Merges the parts of a head in order and writes its rows.
template <class T>
void merge_parts(const DecodeCall& call, const DecodePart& part, DecodeScratch<T>& x) {
  const AttentionProblem& p = call.problem;
  const Entry& e = call.entries[static_cast<std::size_t>(part.entry)];
  const std::int64_t group = p.heads / p.kv_heads, size = decode_row_size(p);
  const T lowest = -std::numeric_limits<T>::infinity();
  for (std::int64_t row = 0; row < group * e.queries; ++row) {
    const ScoreSetup<T> setup(p, e, part.kv_head * group + row / e.queries);
    const double unit = setup.plain ? p.scale : 1.0;
    const auto at = [&](std::int64_t i) {
      return reinterpret_cast<const T*>(call.partial) + ((part.first + i) * kMaxRows + row) * size;
    };
    RowEnd<T> end{lowest, 0, true};
    for (std::int64_t i = 0; i < part.parts; ++i) end.top = std::max(end.top, at(i)[0]);
    T* context = x.context;
    std::fill(context, context + p.value_width, T{0});
    for (std::int64_t i = 0; i < part.parts; ++i) {
      const T* from = at(i);
      if (from[2] == T{0}) continue;  // saw nothing
      end.empty = false;
      // One part is taken as it is, and so keeps its bits.
      const T shrink =
          from[0] == end.top
              ? T{1}
              : static_cast<T>(
                    std::exp((static_cast<double>(from[0]) - static_cast<double>(end.top)) * unit));
      end.sum += from[1] * shrink;
      for (std::int64_t c = 0; c < p.value_width; ++c) context[c] += from[3 + c] * shrink;
    }
    const std::int64_t query = row % e.queries;
    const T divide = finish_row(setup, query, end, call.result);
    if (call.result.out.data == nullptr) continue;
    for (std::int64_t c = 0; c < p.value_width; ++c) context[c] *= divide;
    store_row(context, p.value_width, call.result.out, p.type,
              query_element(call.result.out.stride, e, setup.head, query));
  }
}

template <class T, class From>
void decode_worker(const DecodeCall& call) {
  const AttentionProblem& p = call.problem;
  DecodeScratch<T> x(p);
  const std::int64_t group = p.heads / p.kv_heads, size = decode_row_size(p);
  std::int64_t item;
  while (call.queue.next(item)) {
    const DecodePart& part = call.parts[static_cast<std::size_t>(item)];
    const Entry& e = call.entries[static_cast<std::size_t>(part.entry)];
    const std::int64_t rows = group * e.queries;
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t head = part.kv_head * group + row / e.queries;
      copy_rows(p.query.data, p.type, query_element(p.query.stride, e, head, row % e.queries),
                p.query.stride[2], p.query.stride[3], 1, p.width, x.queries + row * p.width,
                p.width);
      x.top[row] = -std::numeric_limits<T>::infinity(), x.sum[row] = 0, x.seen[row] = false;
    }
    std::fill(x.context, x.context + kMaxRows * x.width, T{0});
    for (std::int64_t key = part.key / kKeyBlock * kKeyBlock; key < part.end; key += kKeyBlock) {
      decode_block<T, From>(p, e, part.kv_head, key, std::min(kKeyBlock, part.end - key), x);
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      T* to = reinterpret_cast<T*>(call.partial) + (item * kMaxRows + row) * size;
      to[0] = x.top[row], to[1] = x.sum[row], to[2] = x.seen[row] ? T{1} : T{0};
      std::copy(x.context + row * x.width, x.context + row * x.width + p.value_width, to + 3);
    }
    // Whoever brings the last part of a head merges it.
    if (call.left[static_cast<std::size_t>(part.first)].fetch_sub(1, std::memory_order_acq_rel) ==
        1) {
      merge_parts(call, part, x);
    }
  }
}

void decode_impl(const DecodeCall& call) {
  switch (call.problem.type) {
    case Type::float32:
      return decode_worker<float, float>(call);
    case Type::float64:
      return decode_worker<double, double>(call);
    case Type::bfloat16:
      return decode_worker<float, BFloat16>(call);
    case Type::float16:
      return decode_worker<float, Float16>(call);
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {
HWY_EXPORT(decode_impl);

void decode_forward(const AttentionProblem& p, const ForwardResult& result,
                    const std::vector<Entry>& entries) {
  std::vector<DecodePart> parts;
  for (const Entry& e : entries) {
    if (e.queries == 0 || p.heads == 0 || !is_decode(p, e)) continue;
    const std::int64_t begin = e.begin_key(0), end = std::max(begin, e.end_key(e.queries - 1));
    const std::int64_t count = std::max<std::int64_t>(1, (end - begin + kPart - 1) / kPart);
    for (std::int64_t head = 0; head < p.kv_heads; ++head) {
      const auto first = static_cast<std::int64_t>(parts.size());
      for (std::int64_t i = 0; i < count; ++i) {
        // Parts begin at whole blocks, as blocks do everywhere.
        const std::int64_t from = begin / kPart * kPart + i * kPart;
        const std::int64_t to = i + 1 == count ? end : std::min(end, from + kPart);
        parts.push_back({e.index, head, std::max(from, begin), to, first, count});
      }
    }
  }
  const std::int64_t bytes = p.type == Type::float64 ? 8 : 4;
  std::vector<std::byte> partial(static_cast<std::size_t>(decode_row_size(p) * kMaxRows * bytes) *
                                 parts.size());
  std::vector<std::atomic<std::int64_t>> left(parts.size());
  for (const DecodePart& part : parts) left[static_cast<std::size_t>(part.first)] = part.parts;
  WorkQueue queue(static_cast<std::int64_t>(parts.size()));
  const DecodeCall call{p, result, entries, parts, partial.data(), left, queue};
  run_workers(queue.count(), product_work(p, entries), [&] {
    HWY_DYNAMIC_DISPATCH(decode_impl)(call);
  });
}

}  // namespace heed::kernels
#endif
