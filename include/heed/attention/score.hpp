#pragma once
#include <string>
#include <vector>

#include "heed/attention/part.hpp"
#include "heed/attention/tensor.hpp"

namespace heed {

/// How a module fills a parameter at the start.
enum class Init { xavier, zeros, ones, constant };

/// A parameter of a formula: its name and its sizes in the formula's letters, `{"W1", {"h",
/// "d_q"}}`. d_q, d_k and d_v come from the inputs; any other letter is free, and the same
/// everywhere.
struct ParamInfo {
  std::string name;
  std::vector<std::string> shape;
  bool optional = false;
  Init init = Init::xavier;
  double value = 0;         // of Init::constant
  bool given_only = false;  // modules do not make it
};

/// The sizes of a formula's letters.
using Letters = std::map<std::string, std::int64_t>;

/// Checks given parameters against the formula: unknown names, missing ones, sizes that disagree.
/// A leading dimension of `problem.heads` is legal. `owner` starts the message.
void check_params(const std::string& owner, const std::vector<ParamInfo>& infos,
                  const Params& params, const Problem& problem);

/// x [B, H, L, d] times a matrix [h, d], or one for each head [H, h, d]: [B, H, L, h].
Tensor project(const Tensor& matrix, const Tensor& x);

/// The same by our own matrix product: the bits of a row depend on the row alone.
Tensor project_rows(const Tensor& matrix, const Tensor& x);

/// A vector [h], or one for each head [H, h], in a shape that meets [B, H, L, h].
Tensor per_head(const Tensor& vector);

/// A score as the fused kernel knows it: act(query · key + row bias), or weight · act(query + key).
struct ScoreForm {
  enum class Kind { none, dot, additive };
  Tensor query;                  // [B, H, Q, d]
  Tensor key;                    // [B, H or H_kv, K, d]
  Tensor weight = {};            // additive: [h], or [H, h]
  Tensor row_bias = {};          // dot: [B, H, Q]; undefined: none
  std::string act = "identity";  // on the sum, before the scale
};

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

  /// The form that the fused kernel serves, `none`: it runs as the reference. What transforms query
  /// and key is tensor operations with gradients, so a score needs no more code.
  virtual ScoreForm::Kind form() const { return ScoreForm::Kind::none; }
  virtual ScoreForm operands(const Tensor& q, const Tensor& k, const Params&) const {
    return {.query = q, .key = k};
  }

  /// The parameters as they serve the keys from `first` on: a score that counts its keys is cut
  /// like them by who works on tiles.
  virtual Params from_key(const Params& params, std::int64_t /*first*/) const { return params; }

  /// True if the formula has a form without a query.
  virtual bool query_optional() const { return false; }
};

/// act(x) of the formulas: tanh, relu, gelu, sigmoid, identity.
Tensor activate(const std::string& act, const Tensor& x);
OptionInfo act_option();

}  // namespace heed
