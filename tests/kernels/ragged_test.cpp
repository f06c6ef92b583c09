#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>

#include "kernels/compare.hpp"
#include "kernels/support.hpp"

namespace heed::kernels::testing {

/// A [total, heads, width] tensor of a ragged batch, seen as (ignored batch, head, row, column).
static std::array<std::int64_t, 4> packed(std::int64_t heads, std::int64_t width) {
  return {0, width, heads * width, 1};
}

static std::vector<float> normals(std::int64_t n, std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<std::size_t>(n));
  for (float& each : x) each = normal(random);
  return x;
}

TEST(Ragged, EveryEntryHasTheBitsItHasAlone) {
  std::mt19937_64 random(51);
  constexpr std::int64_t H = 4, G = 2, D = 19, V = 11;
  const std::vector<std::int64_t> q_at{0, 5, 5, 70, 71}, k_at{0, 9, 30, 30, 160};
  const std::int64_t B = 4, Q = q_at.back(), K = k_at.back();
  const auto q = normals(Q * H * D, random), k = normals(K * G * D, random),
             v = normals(K * G * V, random), go = normals(Q * H * V, random);
  for_each_target([&] {
    for (const Causal causal : {Causal::none, Causal::bottom_right}) {
      AttentionProblem p;
      p.batch = B, p.heads = H, p.kv_heads = G, p.queries = 65, p.keys = 130, p.width = D,
      p.value_width = V;
      p.query = {q.data(), packed(H, D)}, p.key = {k.data(), packed(G, D)},
      p.value = {v.data(), packed(G, V)};
      p.causal = causal;
      p.scale = 0.3;
      p.query_offsets = q_at.data(), p.key_offsets = k_at.data();
      const auto nan = std::numeric_limits<float>::quiet_NaN();
      std::vector<float> out(go.size(), nan), lse(static_cast<std::size_t>(H * Q), nan),
          state(kRowState * lse.size(), nan);
      std::vector<float> dq(q.size(), nan), dk(k.size(), nan), dv(v.size(), nan);
      attention_forward(
          p, {.out = {out.data(), packed(H, V)}, .lse = lse.data(), .state = state.data()});
      attention_backward(p,
                         {.out = {out.data(), packed(H, V)},
                          .grad_out = {go.data(), packed(H, V)},
                          .state = state.data()},
                         {.query = {dq.data(), packed(H, D)},
                          .key = {dk.data(), packed(G, D)},
                          .value = {dv.data(), packed(G, V)}});
      for (std::size_t b = 0; b < 4; ++b) {
        AttentionProblem one = p;
        one.batch = 1;
        one.query_offsets = one.key_offsets = nullptr;
        one.queries = q_at[b + 1] - q_at[b], one.keys = k_at[b + 1] - k_at[b];
        one.query.data = q.data() + q_at[b] * H * D;
        one.key.data = k.data() + k_at[b] * G * D, one.value.data = v.data() + k_at[b] * G * V;
        std::vector<float> out1(static_cast<std::size_t>(one.queries * H * V) + 1),
            state1(static_cast<std::size_t>(kRowState * H * one.queries) + 1);
        std::vector<float> lse1(static_cast<std::size_t>(H * one.queries) + 1);
        std::vector<float> dq1(static_cast<std::size_t>(one.queries * H * D) + 1),
            dk1(static_cast<std::size_t>(one.keys * G * D) + 1),
            dv1(static_cast<std::size_t>(one.keys * G * V) + 1);
        attention_forward(
            one, {.out = {out1.data(), packed(H, V)}, .lse = lse1.data(), .state = state1.data()});
        attention_backward(one,
                           {.out = {out1.data(), packed(H, V)},
                            .grad_out = {go.data() + q_at[b] * H * V, packed(H, V)},
                            .state = state1.data()},
                           {.query = {dq1.data(), packed(H, D)},
                            .key = {dk1.data(), packed(G, D)},
                            .value = {dv1.data(), packed(G, V)}});
        const auto same = [](const std::vector<float>& all, std::int64_t from,
                             const std::vector<float>& part) {
          return std::equal(part.begin(), part.end() - 1, all.begin() + from);
        };
        EXPECT_TRUE(same(out, q_at[b] * H * V, out1)) << "entry " << b;
        EXPECT_TRUE(same(dq, q_at[b] * H * D, dq1)) << "entry " << b;
        EXPECT_TRUE(same(dk, k_at[b] * G * D, dk1)) << "entry " << b;
        EXPECT_TRUE(same(dv, k_at[b] * G * V, dv1)) << "entry " << b;
        for (std::int64_t h = 0; h < H; ++h) {
          for (std::int64_t i = 0; i < one.queries; ++i) {
            EXPECT_EQ(lse[static_cast<std::size_t>(h * Q + q_at[b] + i)],
                      lse1[static_cast<std::size_t>(h * one.queries + i)]);
          }
        }
      }
    }
  });
}

TEST(Ragged, AnEntryLongerThanSaidIsAnError) {
  const std::int64_t offsets[] = {0, 9};
  AttentionProblem p;
  p.batch = p.heads = p.kv_heads = 1, p.queries = 8, p.keys = 8;
  p.query_offsets = offsets;
  EXPECT_THROW(attention_forward(p, {}), std::invalid_argument);
}

/// Numbers that end where a page without access begins: a read past them ends the test.
class Guarded {
 public:
  explicit Guarded(const std::vector<float>& x, Type type = Type::float32) {
    Buffer stored(type, static_cast<std::int64_t>(x.size()));
    for (std::size_t i = 0; i < x.size(); ++i) stored.set(static_cast<std::int64_t>(i), x[i]);
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t bytes = x.size() * (type == Type::float32 ? 4 : 2);
    size_ = (bytes + page - 1) / page * page + page;
    base_ = static_cast<char*>(
        mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + size_ - page, page, PROT_NONE);
    data_ = base_ + size_ - page - bytes;
    std::memcpy(data_, stored.data(), bytes);
  }
  ~Guarded() { munmap(base_, size_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  void* data() const { return data_; }

 private:
  char* base_;
  char* data_;
  std::size_t size_;
};

static void run_between_guards(Type type, std::int64_t Q, std::int64_t K, std::int64_t D,
                               std::mt19937_64& random) {
  const std::array<std::int64_t, 4> rows{0, 0, D, 1};
  const Guarded q(normals(Q * D, random), type), k(normals(K * D, random), type),
      v(normals(K * D, random), type), go(normals(Q * D, random), type),
      bias(normals(Q * K, random));
  const Guarded out(normals(Q * D, random), type), state(normals(kRowState * Q, random)),
      dq(normals(Q * D, random), type), dk(normals(K * D, random), type),
      dv(normals(K * D, random), type);
  AttentionProblem p;
  p.type = type;
  p.batch = p.heads = p.kv_heads = 1, p.queries = Q, p.keys = K, p.width = p.value_width = D;
  p.query = {q.data(), rows}, p.key = {k.data(), rows}, p.value = {v.data(), rows};
  p.bias = {bias.data(), {0, 0, K, 1}};
  attention_forward(p, {.out = {out.data(), rows}, .lse = nullptr, .state = state.data()});
  attention_backward(
      p, {.out = {out.data(), rows}, .grad_out = {go.data(), rows}, .state = state.data()},
      {.query = {dq.data(), rows}, .key = {dk.data(), rows}, .value = {dv.data(), rows}});
  const std::int64_t last = K * D - 1;
  if (type == Type::float32) {
    EXPECT_TRUE(std::isfinite(static_cast<const float*>(dv.data())[last]));
  } else {
    EXPECT_NE(static_cast<const std::uint16_t*>(dv.data())[last] & 0x7F80, 0x7F80);
  }
}

TEST(Guards, NothingIsReadOrWrittenPastABuffer) {
  std::mt19937_64 random(61);
  for_each_target([&] {
    for (const Type type : {Type::float32, Type::bfloat16}) {
      for (const std::int64_t Q : {1, 3, 8, 17, 65}) {
        for (const std::int64_t K : {1, 5, 97}) {
          for (const std::int64_t D : {1, 3, 6, 13, 32}) {
            run_between_guards(type, Q, K, D, random);
          }
        }
      }
    }
  });
}

}  // namespace heed::kernels::testing
