#pragma once
#include <string>
#include <vector>

#include "heed/attention/part.hpp"
#include "heed/attention/tensor.hpp"

namespace heed {

/// How a module fills a parameter at the start.
enum class Init { xavier, zeros, ones };

/// A parameter of a formula: its name and its sizes in the formula's letters, `{"W1", {"h",
/// "d_q"}}`. d_q, d_k and d_v come from the inputs; any other letter is free, and the same
/// everywhere.
struct ParamInfo {
  std::string name;
  std::vector<std::string> shape;
  bool optional = false;
  Init init = Init::xavier;
};

/// The sizes of a formula's letters.
using Letters = std::map<std::string, std::int64_t>;

/// Checks given parameters against the formula: unknown names, missing ones, sizes that disagree.
/// A leading dimension of `problem.heads` is legal. `owner` starts the message.
void check_params(const std::string& owner, const std::vector<ParamInfo>& infos,
                  const Params& params, const Problem& problem);

/// x [B, H, L, d] times a matrix [h, d], or one for each head [H, h, d]: [B, H, L, h].
Tensor project(const Tensor& matrix, const Tensor& x);

/// A vector [h], or one for each head [H, h], in a shape that meets [B, H, L, h].
Tensor per_head(const Tensor& vector);

/// A score function: a query and a key to a number.
///
/// Stateless: parameters come by name, so that the module, Python's functional call and the
/// kernels share one formula.
class Score {
 public:
  virtual ~Score() = default;

  virtual std::vector<ParamInfo> params() const { return {}; }

  /// Sizes of the free letters when a module makes the parameters.
  virtual Letters default_sizes(const Problem&) const { return {}; }

  /// What `scale = None` means.
  virtual double default_scale(const Problem&) const { return 1; }

  /// The formula in plain tensor operations: q [B, H, Q, d_q], k [B, H, K, d_k] → [B, H, Q, K].
  /// `q` is undefined where a score may do without a query (then Q = 1).
  virtual Tensor reference(const Tensor& q, const Tensor& k, const Params& params) const = 0;

  /// True if the score is a dot product of transformed vectors, `dot_operands`: the fused kernel
  /// then serves it. What transforms them is plain tensor operations, so gradients need no more
  /// code.
  virtual bool dot_form() const { return false; }
  virtual std::pair<Tensor, Tensor> dot_operands(const Tensor& q, const Tensor& k,
                                                 const Params&) const {
    return {q, k};
  }

  /// True if the formula has a form without a query.
  virtual bool query_optional() const { return false; }
};

/// act(x) of the formulas: tanh, relu, gelu, sigmoid, identity.
Tensor activate(const std::string& act, const Tensor& x);
OptionInfo act_option();

}  // namespace heed
