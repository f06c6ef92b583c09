// Rows of nodes with heads in the lanes of the vectors, and what both passes do with them, compiled
// per target.
#if defined(HEED_KERNELS_GRAPH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_GRAPH_INL
#undef HEED_KERNELS_GRAPH_INL
#else
#define HEED_KERNELS_GRAPH_INL
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <numbers>
#include <type_traits>

#include "heed/kernels/random.hpp"
#include "kernels/exp-inl.hpp"
#include "kernels/graph_nodes.hpp"
#include "kernels/kept_scratch.hpp"
#include "kernels/pack-inl.hpp"
#include "kernels/parallel.hpp"
#include "kernels/scratch.hpp"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Vectors of at most 32 bytes: graphs rarely have more than eight heads, and wider vectors, which
/// hold several columns of a head, were slower on Zen 4 (8 heads of 8, 1 M edges: 73 against 40
/// ms).
template <class T>
using NodeTag = hn::CappedTag<T, 32 / sizeof(T)>;

/// How the H x D numbers of a node lie: groups of heads, each [D][slots], filled up with zeros to
/// whole vectors. A lane holds the same head in every vector of a group, so a weight multiplies a
/// row without being spread over it, and a dot product of every head is a plain sum of vectors.
/// With fewer heads than lanes a vector holds several columns, and `fold` adds those of a head.
template <class T>
struct NodeRows {
  NodeRows(std::int64_t of_heads, std::int64_t of_width)
      : heads(of_heads),
        width(of_width),
        slots(std::min(lanes(), static_cast<std::int64_t>(
                                    std::bit_ceil(static_cast<std::uint64_t>(of_heads))))),
        groups((heads + slots - 1) / slots),
        vectors((width * slots + lanes() - 1) / lanes()) {}

  /// A constant where the target's vectors have one length.
  static HWY_INLINE std::int64_t lanes() {
    return static_cast<std::int64_t>(hn::Lanes(NodeTag<T>()));
  }

  std::int64_t group() const { return vectors * lanes(); }  // elements of a group's row
  std::int64_t row() const { return groups * group(); }
  std::int64_t per_head() const { return groups * lanes(); }  // of a number a head
  std::int64_t heads_in(std::int64_t g) const { return std::min(slots, heads - g * slots); }

  std::int64_t heads, width;
  std::int64_t slots;  // heads in a group, a power of two
  std::int64_t groups;
  std::int64_t vectors;  // of a group's row
};

/// Node `node` of [nodes, H, D] as a row; `plain` has room for H x D numbers.
template <class T>
void pack_node(const NodeRows<T>& rows, const void* data, Type type, std::int64_t node, T* plain,
               T* to) {
  const std::int64_t size = rows.heads * rows.width;
  const Rows<T> from =
      view_rows<T>({data, {0, 0, size, 1}}, type, node * size, 1, size, plain, size);
  for (std::int64_t g = 0; g < rows.groups; ++g) {
    T* group = to + g * rows.group();
    rows_to_panel(Rows<T>{from.at + g * rows.slots * rows.width, rows.width}, rows.heads_in(g),
                  rows.width, rows.slots, group);
    std::fill(group + rows.width * rows.slots, group + rows.group(), T{0});
  }
}

/// The inverse, into [nodes, H, D].
template <class T>
void unpack_node(const NodeRows<T>& rows, const T* from, void* data, Type type, std::int64_t node,
                 T* plain) {
  const std::int64_t size = rows.heads * rows.width;
  const bool direct = type == (sizeof(T) == 8 ? Type::float64 : Type::float32);
  T* to = direct ? static_cast<T*>(data) + node * size : plain;
  for (std::int64_t g = 0; g < rows.groups; ++g) {
    panel_to_rows(from + g * rows.group(), rows.heads_in(g), rows.width, rows.slots,
                  to + g * rows.slots * rows.width, rows.width);
  }
  if (!direct) store_row(plain, size, Output{data, {0, 0, 0, 1}}, type, node * size);
}

template <class T>
void clear_node(const NodeRows<T>& rows, void* data, Type type, std::int64_t node) {
  const std::int64_t bytes = rows.heads * rows.width *
                             (type == Type::float64   ? 8
                              : type == Type::float32 ? 4
                                                      : 2);
  std::memset(static_cast<char*>(data) + node * bytes, 0, static_cast<std::size_t>(bytes));
}

/// Sums the lanes of each head; every lane of the head gets the sum.
template <class T, class V>
HWY_INLINE V fold(const NodeRows<T>& rows, V v) {
  const NodeTag<T> d;
  const hn::RebindToSigned<decltype(d)> di;
  using Lane = hn::TFromD<decltype(di)>;
  for (std::int64_t step = rows.slots; step < rows.lanes(); step *= 2) {
    const auto other = hn::Xor(hn::Iota(di, 0), hn::Set(di, static_cast<Lane>(step)));
    v = hn::Add(v, hn::TableLookupLanes(v, hn::IndicesFromVec(d, other)));
  }
  return v;
}

/// The numbers of a group's heads, from [H], on every lane of their head; 0 where there is no head.
/// `buffer`: one vector.
template <class From, class T>
HWY_INLINE hn::Vec<NodeTag<T>> spread_heads(const NodeRows<T>& rows, std::int64_t g,
                                            const From* from, T* HWY_RESTRICT buffer) {
  const NodeTag<T> d;
  if constexpr (std::is_same_v<From, T>) {
    if (rows.heads_in(g) == rows.lanes()) return hn::LoadU(d, from + g * rows.slots);
  }
  for (std::int64_t lane = 0; lane < rows.lanes(); ++lane) {
    const std::int64_t head = g * rows.slots + (lane & (rows.slots - 1));
    buffer[lane] = head < rows.heads ? from_stored<T>(from[head]) : T{0};
  }
  return hn::Load(d, buffer);
}

/// The inverse, into [H] of any type.
template <class T>
HWY_INLINE void store_heads(const NodeRows<T>& rows, std::int64_t g, hn::Vec<NodeTag<T>> v,
                            void* to, Type type, std::int64_t at, T* HWY_RESTRICT buffer) {
  const NodeTag<T> d;
  const std::int64_t heads = rows.heads_in(g);
  if (heads == rows.lanes() && type == (sizeof(T) == 8 ? Type::float64 : Type::float32)) {
    hn::StoreU(v, d, static_cast<T*>(to) + at + g * rows.slots);
  } else {
    hn::Store(v, d, buffer);
    store_row(buffer, heads, Output{to, {0, 0, 0, 1}}, type, at + g * rows.slots);
  }
}

/// LeakyReLU and its slope, which at 0 is the negative side's.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V leaky(D d, V x, V slope) {
  return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, hn::Mul(x, slope));
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V leaky_slope(D d, V x, V slope) {
  return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), hn::Set(d, hn::TFromD<D>{1}), slope);
}

/// Σ of a ∘ b over the columns, a head at a time.
template <class T>
HWY_INLINE hn::Vec<NodeTag<T>> dot_heads(const NodeRows<T>& rows, const T* HWY_RESTRICT a,
                                         const T* HWY_RESTRICT b) {
  const NodeTag<T> d;
  auto even = hn::Zero(d), odd = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + 2 <= rows.vectors; i += 2) {
    const std::int64_t at = i * rows.lanes();
    even = hn::MulAdd(hn::Load(d, a + at), hn::Load(d, b + at), even);
    odd = hn::MulAdd(hn::Load(d, a + at + rows.lanes()), hn::Load(d, b + at + rows.lanes()), odd);
  }
  if (i < rows.vectors) {
    even = hn::MulAdd(hn::Load(d, a + i * rows.lanes()), hn::Load(d, b + i * rows.lanes()), even);
  }
  return fold(rows, hn::Add(even, odd));
}

/// run(first vector, how many) over `count` vectors, at most kMost of them at a time.
template <int kMost, class Run>
HWY_INLINE void in_chunks(std::int64_t count, const Run& run, std::int64_t first = 0) {
  for (; count - first >= kMost; first += kMost) run(first, std::integral_constant<int, kMost>());
  if constexpr (kMost > 1) {
    if (first < count) in_chunks<kMost / 2>(count, run, first);
  }
}

/// Packs every node of [nodes, H, D], in any number of threads; then(node, row) sees each row while
/// it is in the cache.
template <class T, class Then>
void pack_nodes(const GraphProblem& p, const NodeRows<T>& rows, const void* data,
                std::int64_t nodes, T* packed, const Then& then) {
  constexpr std::int64_t kBlock = 256;
  WorkQueue queue((nodes + kBlock - 1) / kBlock);
  run_workers(queue.count(), static_cast<double>(nodes * rows.row()), [&]() HWY_ATTR {
    Scratch<T> memory;
    T* plain = memory.take(rows.heads * rows.width);
    std::int64_t block;
    while (queue.next(block)) {
      const std::int64_t end = std::min(nodes, (block + 1) * kBlock);
      for (std::int64_t node = block * kBlock; node < end; ++node) {
        T* row = packed + node * rows.row();
        pack_node(rows, data, p.type, node, plain, row);
        then(node, row);
      }
    }
  });
}

/// What scores an edge: packed rows of both sides, the vectors, and for gat the two products.
///
/// Loops take a copy of it: a store may be to anything, so members seen through a pointer would be
/// read again after each.
template <class T, bool kGat>
struct EdgeView {
  using V = hn::Vec<NodeTag<T>>;

  const GraphProblem* p;
  NodeRows<T> rows;
  T slope;
  const T* a_source = nullptr;     // a row
  const T* a_target = nullptr;     // a row, gat only
  const T* source = nullptr;       // [N] rows
  const T* target = nullptr;       // [M] rows, may be `source`
  const T* source_part = nullptr;  // [N][per_head], gat only
  const T* target_part = nullptr;  // [M][per_head], gat only

  /// The score of an edge before gat's LeakyReLU; gatv2's as it is.
  HWY_INLINE V raw(std::int64_t g, std::int64_t from, std::int64_t to) const {
    const NodeTag<T> d;
    const std::int64_t lanes = rows.lanes();
    if constexpr (kGat) {
      return hn::Add(hn::Load(d, source_part + from * rows.per_head() + g * lanes),
                     hn::Load(d, target_part + to * rows.per_head() + g * lanes));
    }
    const T* s = source + from * rows.row() + g * rows.group();
    const T* t = target + to * rows.row() + g * rows.group();
    const T* a = a_source + g * rows.group();
    const auto low = hn::Set(d, slope);
    auto even = hn::Zero(d), odd = hn::Zero(d);
    std::int64_t at = 0;
    for (; at + 2 * lanes <= rows.group(); at += 2 * lanes) {
      const std::int64_t next = at + lanes;
      const auto first = leaky(d, hn::Add(hn::Load(d, s + at), hn::Load(d, t + at)), low);
      const auto second = leaky(d, hn::Add(hn::Load(d, s + next), hn::Load(d, t + next)), low);
      even = hn::MulAdd(hn::Load(d, a + at), first, even);
      odd = hn::MulAdd(hn::Load(d, a + next), second, odd);
    }
    if (at < rows.group()) {
      const auto last = leaky(d, hn::Add(hn::Load(d, s + at), hn::Load(d, t + at)), low);
      even = hn::MulAdd(hn::Load(d, a + at), last, even);
    }
    return fold(rows, hn::Add(even, odd));
  }

  /// The score itself.
  HWY_INLINE V finish(V x) const {
    const NodeTag<T> d;
    if constexpr (!kGat) return x;
    return leaky(d, x, hn::Set(d, slope));
  }

  /// 0 or 1 / (1 - dropout) on the lanes of each head.
  V dropout(std::int64_t g, std::int64_t edge, T* HWY_RESTRICT buffer) const {
    const std::uint64_t threshold = dropout_threshold(p->dropout);
    const T kept = static_cast<T>(1 / (1 - p->dropout));
    std::array<std::uint32_t, 4> words{};
    for (std::int64_t lane = 0; lane < rows.lanes(); ++lane) {
      const std::int64_t head = g * rows.slots + (lane & (rows.slots - 1));
      if (lane == 0 || head % 4 == 0) {
        words = philox(
            {static_cast<std::uint32_t>(head / 4), static_cast<std::uint32_t>(edge)},
            {static_cast<std::uint32_t>(p->seed), static_cast<std::uint32_t>(p->seed >> 32)});
      }
      buffer[lane] = words[static_cast<std::size_t>(head % 4)] >= threshold ? kept : T{0};
    }
    return hn::Load(NodeTag<T>(), buffer);
  }
};

constexpr std::int64_t kAhead = 8;  // edges between asking for a row and using it

/// Asks for the start of a row early: the next edges lead anywhere in memory.
template <class T>
HWY_INLINE void prefetch_row(const T* row, std::int64_t size) {
  constexpr std::int64_t kLine = 64 / sizeof(T);
  const std::int64_t most = std::min(size, 8 * kLine);
  for (std::int64_t i = 0; i < most; i += kLine) hwy::Prefetch(row + i);
}

/// The tables of an EdgeView.
template <class T, bool kGat>
class EdgeTables {
 public:
  explicit EdgeTables(const GraphProblem& p)
      : view{.p = &p,
             .rows = NodeRows<T>(p.heads, p.width),
             .slope = static_cast<T>(p.negative_slope)} {
    const NodeRows<T>& rows = view.rows;
    T* plain = memory_.take(rows.heads * rows.width);
    const auto vector = [&](const void* data) HWY_ATTR {
      T* packed = memory_.take(rows.row());
      pack_node(rows, data, p.type, 0, plain, packed);
      return packed;
    };
    view.a_source = vector(p.a_source);
    if (kGat) view.a_target = vector(p.a_target);
    const std::int64_t N = p.graph.sources, M = p.graph.targets;
    T* source = memory_.take(N * rows.row());
    T* source_part = kGat ? memory_.take(N * rows.per_head()) : nullptr;
    T* target_part = kGat ? memory_.take(M * rows.per_head()) : nullptr;
    view.source = view.target = source;
    view.source_part = source_part, view.target_part = target_part;
    pack(p.source, N, source, source_part, p.own_targets ? nullptr : target_part);
    if (p.own_targets) {
      T* target = memory_.take(M * rows.row());
      view.target = target;
      pack(p.target, M, target, nullptr, target_part);
    }
  }

 private:
  /// Packs every node; also its product with `a_source` and with `a_target` where asked.
  void pack(const void* data, std::int64_t nodes, T* packed, T* with_source, T* with_target) {
    const NodeRows<T> rows = view.rows;
    pack_nodes(*view.p, rows, data, nodes, packed,
               [=, this](std::int64_t node, const T* row) HWY_ATTR {
                 const NodeTag<T> d;
                 const auto product = [&](const T* a, T* to) HWY_ATTR {
                   if (to == nullptr) return;
                   for (std::int64_t g = 0; g < rows.groups; ++g) {
                     hn::Store(dot_heads(rows, row + g * rows.group(), a + g * rows.group()), d,
                               to + node * rows.per_head() + g * rows.lanes());
                   }
                 };
                 product(view.a_source, with_source);
                 product(view.a_target, with_target);
               });
  }

  KeptScratch<T> memory_;

 public:
  EdgeView<T, kGat> view;
};

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
