// A chunk of steps of linear attention, compiled per target.
//
// Inside a chunk that starts from state S0, with F_t the product of the decays since the start,
// E_ts that of the steps after s up to t, and w_t what step t writes:
//   S_t = F_t S0 + Σ_{s ≤ t} E_ts k_s ⊗ w_s
//   w_t = v_t, or β_t (v_t − (F_t k_t)ᵀ S0 − Σ_{s < t} (k_t · E_ts k_s) w_s) for the delta rules
//   out_t = (F_t q_t)ᵀ S0 + Σ_{s ≤ t} (q_t · E_ts k_s) w_s
// so states are read and written once a chunk, by matrix products (Yang et al. 2024, "Gated Linear
// Attention" and "Gated Delta Networks"). E and F are built up by multiplication, step by step, as
// the recurrence does: no quotient of decays, no difference of logarithms, nothing to overflow or
// cancel.
#if defined(HEED_KERNELS_LINEAR_CHUNK_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_LINEAR_CHUNK_INL
#undef HEED_KERNELS_LINEAR_CHUNK_INL
#else
#define HEED_KERNELS_LINEAR_CHUNK_INL
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/linear_call.hpp"
#include "kernels/pack-inl.hpp"
#include "kernels/scores-inl.hpp"
#include "kernels/scratch.hpp"
#include "kernels/tile-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// out += Σ_n weight[n * weight_stride] * rows[n], over a multiple of the lanes. Rows outside the
/// count are not touched, not even with a weight of zero: they may be NaN.
template <class T>
HWY_INLINE void add_rows(const T* weight, std::ptrdiff_t weight_stride, const T* rows,
                         std::ptrdiff_t stride, std::int64_t count, std::int64_t width, T* out) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t c = 0;
  const auto run = [&](auto vectors) HWY_ATTR {
    constexpr int NV = decltype(vectors)::value;
    for (; c + NV * lanes <= width; c += NV * lanes) {
      hn::Vec<decltype(d)> sum[NV];
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) sum[v] = hn::Load(d, out + c + v * lanes);
      const T* at = rows + c;
      for (std::int64_t n = 0; n < count; ++n, at += stride) {
        const auto factor = hn::Set(d, weight[n * weight_stride]);
#pragma GCC unroll 8
        for (int v = 0; v < NV; ++v) {
          sum[v] = hn::MulAdd(factor, hn::Load(d, at + v * lanes), sum[v]);
        }
      }
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) hn::Store(sum[v], d, out + c + v * lanes);
    }
  };
  run(std::integral_constant<int, 8>());
  run(std::integral_constant<int, 4>());
  run(std::integral_constant<int, 1>());
}

/// x ← e^x over a multiple of the lanes; NaN stays NaN.
template <class T>
void exp_row(T* x, std::int64_t width) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  constexpr T kFar = sizeof(T) == 8 ? 700 : 80;  // where Highway's exp is good; NaN is outside too
  for (std::int64_t c = 0; c < width; c += lanes) {
    const auto v = hn::Load(d, x + c);
    const auto near = hn::Le(hn::Abs(v), hn::Set(d, kFar));
    const auto result = hn::Exp(d, hn::IfThenElseZero(near, v));
    if (hn::AllTrue(d, near)) {
      hn::Store(result, d, x + c);
      continue;
    }
    // Lane by lane: what a number becomes must not depend on its neighbours.
    HWY_ALIGN T lane[HWY_MAX_BYTES / sizeof(T)];
    hn::Store(result, d, lane);
    for (std::int64_t i = 0; i < lanes; ++i) {
      x[c + i] = std::abs(x[c + i]) <= kFar ? lane[i] : std::exp(x[c + i]);
    }
  }
}

enum class Pairs { none, overlaps, all };  // which products of steps are needed

/// The operands of a chunk, and what follows from them alone. Rows are padded to whole vectors with
/// zeros (decays with ones). Pairs (t, s) of steps are at t * pitch + s.
template <class T>
struct LinearChunk {
  explicit LinearChunk(const LinearProblem& p)
      : group(p.heads / p.kv_heads),
        limit(chunk_length(p)),
        pitch(padded<T>(limit)),
        width(padded<T>(p.width)),
        columns(padded<T>(std::min(p.value_width, kLinearSlice))),
        decays(has_decay(p.rule) && p.width > 0),
        wide_decay(decays && p.decay_width > 1),
        delta(has_beta(p.rule)),
        query(memory.take(group * limit * width)),
        key(memory.take(limit * width)),
        value(memory.take(limit * columns)),
        write(delta ? memory.take(limit * columns) : value),
        beta(memory.take(limit)),
        step(memory.take(limit * width)),
        from(memory.take(limit * width)),
        to(memory.take(limit * width)),
        from_query(decays ? memory.take(group * limit * width) : query),
        from_key(decays ? memory.take(limit * width) : key),
        to_key(decays ? memory.take(limit * width) : key),
        fade(memory.take(limit * pitch)),
        score(memory.take(group * limit * pitch)),
        overlap(memory.take(limit * pitch)),
        panel(memory.take(std::max(width, columns) * pitch)) {
    std::fill(fade, fade + limit * pitch, T{0});  // s > t is multiplied, never used
  }

  /// Reads steps `first` .. `first + number`, without values, and their decays and pairs.
  void load(const LinearProblem& p, const LinearUnit& unit, std::int64_t first, std::int64_t number,
            Pairs pairs) {
    count = number;
    for (std::int64_t h = 0; h < group; ++h) {
      copy_rows(p.query.data, p.type,
                row_element(p.query.stride, unit.entry, unit.kv_head * group + h, first),
                p.query.stride[2], p.query.stride[3], count, p.width, query_of(h), width);
      const T scale = static_cast<T>(p.scale);
      for (std::int64_t i = 0; i < count * width; ++i) query_of(h)[i] *= scale;
    }
    copy_rows(p.key.data, p.type, row_element(p.key.stride, unit.entry, unit.kv_head, first),
              p.key.stride[2], p.key.stride[3], count, p.width, key, width);
    if (delta) {
      copy_rows(p.beta.data, p.beta_type,
                row_element(p.beta.stride, unit.entry, unit.kv_head, first), p.beta.stride[2], 0,
                count, 1, beta, 1);
    }
    if (decays) load_decays(p, unit, first);
    const bool scores = pairs == Pairs::all, overlaps = delta && pairs != Pairs::none;
    if (!scores && !overlaps) return;
    if (wide_decay) {
      pairs_by_elements(scores, overlaps);
    } else {
      pairs_by_products(p, scores, overlaps);
    }
  }

  void load_values(const LinearProblem& p, const LinearUnit& unit, std::int64_t first) {
    copy_rows(p.value.data, p.type,
              row_element(p.value.stride, unit.entry, unit.kv_head, first) +
                  unit.column * p.value.stride[3],
              p.value.stride[2], p.value.stride[3], count, unit.columns, value, columns);
  }

  /// What each step writes. For the delta rules value ← v − what the state before the step holds
  /// for its key, and write ← β times that; for the others values are written as they are.
  void solve(const LinearProblem& p, const T* state) {
    if (!delta) return;
    const hn::ScalableTag<T> d;
    product(count, Broadcast<T>{from_key, width, 1}, state, columns, p.width, columns,
            [&](std::int64_t t, std::int64_t c, auto sum)
                HWY_ATTR { hn::Store(sum, d, write + t * columns + c); });
    for (std::int64_t t = 0; t < count; ++t) {
      T* row = write + t * columns;
      T* error = value + t * columns;
      add_rows(overlap + t * pitch, 1, write, columns, t, columns, row);
      for (std::int64_t c = 0; c < columns; ++c) {
        error[c] -= row[c];
        row[c] = beta[t] * error[c];
      }
    }
  }

  /// The state after the chunk.
  void advance(const LinearProblem& p, const T* state, T* next) const {
    const hn::ScalableTag<T> d;
    const T* kept = from + (count - 1) * width;
    product(p.width, Broadcast<T>{to_key, 1, width}, write, columns, count, columns,
            [&](std::int64_t i, std::int64_t c, auto sum) HWY_ATTR {
              const auto old = hn::Load(d, state + i * columns + c);
              hn::Store(decays ? hn::MulAdd(hn::Set(d, kept[i]), old, sum) : hn::Add(old, sum), d,
                        next + i * columns + c);
            });
  }

  T* query_of(std::int64_t h) const { return query + h * limit * width; }
  T* from_query_of(std::int64_t h) const { return from_query + h * limit * width; }
  T* score_of(std::int64_t h) const { return score + h * limit * pitch; }

  Scratch<T> memory;
  const std::int64_t group, limit;
  const std::int64_t pitch, width, columns;  // padded
  const bool decays, wide_decay, delta;
  std::int64_t count = 0;
  T* query;  // [group][limit][width], times the scale
  T* key;    // [limit][width]
  T* value;  // [limit][columns]
  T* write;  // [limit][columns]; the values themselves but for the delta rules
  T* beta;   // [limit]
  T* step;   // e^g of each step: [limit][width], or [limit] when it is one number
  T* from;   // decay since the chunk's start, [limit][width]
  T* to;     // decay until the chunk's end
  T* from_query;
  T* from_key;
  T* to_key;
  T* fade;     // E_ts when it is one number
  T* score;    // [group], q_t · E_ts k_s for s <= t
  T* overlap;  // k_t · E_ts k_s for s < t
  T* panel;    // scratch for rows turned into columns

 private:
  void load_decays(const LinearProblem& p, const LinearUnit& unit, std::int64_t first) {
    const std::int64_t element = row_element(p.decay.stride, unit.entry, unit.kv_head, first);
    if (wide_decay) {
      copy_rows(p.decay.data, p.decay_type, element, p.decay.stride[2], p.decay.stride[3], count,
                p.width, step, width);
      exp_row(step, count * width);
      std::copy(step, step + width, from);
      std::fill(to + (count - 1) * width, to + count * width, T{1});
      for (std::int64_t i = width; i < count * width; ++i) from[i] = from[i - width] * step[i];
      for (std::int64_t i = (count - 1) * width; i-- > 0;) to[i] = to[i + width] * step[i + width];
    } else {
      std::fill(step, step + pitch, T{0});
      copy_rows(p.decay.data, p.decay_type, element, p.decay.stride[2], 0, count, 1, step, 1);
      exp_row(step, pitch);
      T product = 1;
      for (std::int64_t t = 0; t < count; ++t) {
        product *= step[t];
        std::fill(from + t * width, from + (t + 1) * width, product);
        for (std::int64_t s = 0; s < t; ++s) fade[t * pitch + s] = fade_at(t - 1, s) * step[t];
        fade[t * pitch + t] = 1;
      }
      for (std::int64_t t = 0; t < count; ++t) {
        std::fill(to + t * width, to + (t + 1) * width, fade_at(count - 1, t));
      }
    }
    for (std::int64_t i = 0; i < count * width; ++i) {
      from_key[i] = from[i] * key[i];
      to_key[i] = to[i] * key[i];
    }
    for (std::int64_t h = 0; h < group; ++h) {
      for (std::int64_t i = 0; i < count * width; ++i)
        from_query_of(h)[i] = from[i] * query_of(h)[i];
    }
  }

  T fade_at(std::int64_t t, std::int64_t s) const { return fade[t * pitch + s]; }

  void pairs_by_products(const LinearProblem& p, bool scores, bool overlaps) {
    const hn::ScalableTag<T> d;
    rows_to_panel(Rows<T>{key, width}, count, p.width, pitch, panel);
    const auto fill = [&](const T* rows, T* pairs) HWY_ATTR {
      product(count, Broadcast<T>{rows, width, 1}, panel, pitch, p.width, pitch,
              [&](std::int64_t t, std::int64_t s, auto sum) HWY_ATTR {
                if (decays) sum = hn::Mul(sum, hn::Load(d, fade + t * pitch + s));
                hn::Store(sum, d, pairs + t * pitch + s);
              });
    };
    for (std::int64_t h = 0; h < group && scores; ++h) fill(query_of(h), score_of(h));
    if (overlaps) fill(key, overlap);
  }

  void pairs_by_elements(bool scores, bool overlaps) {
    const hn::ScalableTag<T> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    T* faded = panel;  // E_ts k_s
    for (std::int64_t s = 0; s < count; ++s) {
      std::copy(key + s * width, key + (s + 1) * width, faded);
      for (std::int64_t t = s; t < count; ++t) {
        if (t > s) {
          for (std::int64_t c = 0; c < width; c += lanes) {
            const auto decay = hn::Load(d, step + t * width + c);
            hn::Store(hn::Mul(decay, hn::Load(d, faded + c)), d, faded + c);
          }
          if (overlaps) overlap[t * pitch + s] = dot(key + t * width, faded, width);
        }
        for (std::int64_t h = 0; h < group && scores; ++h) {
          score_of(h)[t * pitch + s] = dot(query_of(h) + t * width, faded, width);
        }
      }
    }
  }

 public:
  /// Σ_c a[c] * b[c] over a multiple of the lanes.
  static HWY_INLINE T dot(const T* a, const T* b, std::int64_t size) {
    const hn::ScalableTag<T> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    auto sum = hn::Zero(d);
    for (std::int64_t c = 0; c < size; c += lanes) {
      sum = hn::MulAdd(hn::Load(d, a + c), hn::Load(d, b + c), sum);
    }
    return hn::GetLane(hn::SumOfLanes(d, sum));
  }
};

/// Columns of a state, as rows of whole vectors; zeros where there is none.
template <class T>
void load_state(const LinearProblem& p, const Input& from, const LinearUnit& unit, T* state,
                std::int64_t columns) {
  if (from.data == nullptr) {
    std::fill(state, state + p.width * columns, T{0});
    return;
  }
  copy_rows(from.data, sizeof(T) == 8 ? Type::float64 : Type::float32,
            row_element(from.stride, unit.entry, unit.kv_head, 0) + unit.column * from.stride[3],
            from.stride[2], from.stride[3], p.width, unit.columns, state, columns);
}

template <class T>
void store_state(const LinearProblem& p, const T* state, const LinearUnit& unit, const Output& to,
                 std::int64_t columns) {
  if (to.data == nullptr) return;
  for (std::int64_t i = 0; i < p.width; ++i) {
    store_row(state + i * columns, unit.columns, to, sizeof(T) == 8 ? Type::float64 : Type::float32,
              row_element(to.stride, unit.entry, unit.kv_head, i) + unit.column * to.stride[3]);
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
