#pragma once
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "heed/kernels/attention.hpp"
#include "heed/kernels/simd.hpp"

namespace heed::kernels::testing {

/// Runs `f` on every SIMD target of this machine, then goes back to the best.
inline void for_each_target(const std::function<void()>& f) {
  for (const std::string& target : simd_targets()) {
    force_simd_target(target);
    f();
  }
  force_simd_target("");
}

/// Numbers of a stored type, read and written as double.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Type type, std::int64_t size, double fill = 0);

  double get(std::int64_t i) const;
  void set(std::int64_t i, double value);  // rounds to the type
  std::int64_t size() const { return size_; }
  Type type() const { return type_; }
  void* data() { return bytes_.data(); }
  const void* data() const { return bytes_.data(); }
  bool operator==(const Buffer& other) const { return bytes_ == other.bytes_; }

 private:
  Type type_ = Type::float32;
  std::int64_t size_ = 0;
  std::vector<std::uint8_t> bytes_;
};

enum class Layout { bhld, blhd, gaps };  // gaps: every second element, NaN between

/// A [B, H, rows, width] tensor in some layout; unused elements are NaN.
struct Tensor {
  Tensor() = default;
  Tensor(Type type, std::array<std::int64_t, 4> shape, Layout layout = Layout::bhld);

  std::int64_t index(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return b * stride[0] + h * stride[1] + i * stride[2] + j * stride[3];
  }
  double at(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return buffer.get(index(b, h, i, j));
  }
  void set(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j, double x) {
    buffer.set(index(b, h, i, j), x);
  }
  void fill(const std::function<double()>& next);
  Input input() const { return {buffer.data(), stride}; }
  Output output() { return {buffer.data(), stride}; }

  Buffer buffer;
  std::array<std::int64_t, 4> shape{}, stride{};
};

/// A problem with its data. Mask and bias have broadcast strides already in `problem`.
struct Case {
  AttentionProblem problem;
  Tensor query, key, value, bias, mask_bytes, grad_out;
  std::vector<std::uint8_t> mask;
  std::vector<std::int64_t> lengths;
  std::vector<float> slopes;
  Buffer row_bias, column_bias, sink;
  Buffer weight;                  // of additive scores: [H or 1, D]
  Buffer alpha, center;           // of entmax [H], of local_p [B, H, Q]
  std::vector<float> grad_lse{};  // [B, H, Q]; empty: none

  /// Points `problem` at this object's data (again after a copy or move).
  void connect();
  Type working() const { return problem.type == Type::float64 ? Type::float64 : Type::float32; }
  std::string describe() const;
};

struct CaseOptions {
  Type type = Type::float32;
  std::int64_t batch = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1, width = 8,
               value_width = 8;
  double spread = 1;  // standard deviation of queries and keys
  Layout layout = Layout::bhld;
};

/// Standard normal data, scale 1/sqrt(width), no options.
Case make_case(const CaseOptions& options, std::mt19937_64& random);

/// Any shape (lengths 0 and 1, tile sizes and their neighbours) and any mix of options.
Case random_case(Type type, std::mt19937_64& random);

/// The same with an alignment other than soft.
Case random_aligned_case(Type type, Align align, std::mt19937_64& random);

/// Makes a case's scores additive, with any activation.
void make_additive(Case& c, std::mt19937_64& random);

/// NaN and infinities wherever the masks promise that nothing is read.
void poison(Case& c, std::mt19937_64& random);

}  // namespace heed::kernels::testing
