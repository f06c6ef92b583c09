#pragma once
#include <random>
#include <string>
#include <vector>

#include "heed/kernels/linear.hpp"
#include "kernels/support.hpp"

namespace heed::kernels::testing {

/// A problem of linear attention with its data.
struct LinearCase {
  LinearProblem problem;
  Tensor query, key, value, decay, beta, state;
  Tensor grad_out, grad_state;
  bool with_state = true, with_grad_out = true, with_grad_state = true;

  /// Points `problem` at this object's data (again after a copy or move).
  void connect();
  LinearOutputGradients given() const;
  Type working() const { return problem.type == Type::float64 ? Type::float64 : Type::float32; }
  std::string describe() const;
};

struct LinearCaseOptions {
  Type type = Type::float32;
  LinearRule rule = LinearRule::linear;
  std::int64_t batch = 1, heads = 1, kv_heads = 1, length = 1, width = 8, value_width = 8;
  bool wide_decay = false;
  Layout layout = Layout::bhld;
};

/// Normal queries and values, keys of about unit length, decays below 0, betas in 0 .. 1.
LinearCase make_linear_case(const LinearCaseOptions& options, std::mt19937_64& random);

/// Any rule, shape (lengths 0 and 1, chunks and slices and their neighbours) and layout.
LinearCase random_linear_case(Type type, std::mt19937_64& random);

/// Contiguous [B, H, L, V] and the like; gradients only if asked for.
struct LinearReference {
  std::vector<double> out, state;
  std::vector<double> query, key, value, decay, beta, initial;  // gradients
};

/// Step by step in plain loops that share no code with the kernels; with `Rounded` = float every
/// operation is rounded to float: the plain formula in that type.
template <class Rounded>
LinearReference linear_reference(const LinearCase& c, bool backward);

extern template LinearReference linear_reference<double>(const LinearCase&, bool);
extern template LinearReference linear_reference<float>(const LinearCase&, bool);

}  // namespace heed::kernels::testing
