#include <torch/csrc/autograd/custom_function.h>

#include "attention/parts.hpp"
#include "heed/attention/registry.hpp"
#include "heed/attention/score.hpp"
#include "heed/base/error.hpp"

namespace heed {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// The lengths of the rows; 1 for a row of zeros, which then stays one: it is similar to nothing.
Tensor lengths_of(const Tensor& x) {
  const Tensor norm = torch::linalg_vector_norm(x, 2, -1, /*keepdim=*/true);
  return torch::where(norm == 0, torch::ones_like(norm), norm);
}

/// x / ‖x‖ for the kernel. A row that no gradient comes back to, such as a masked key, gets none,
/// NaN or not; torch's own division would multiply it by 0.
class UnitRows : public torch::autograd::Function<UnitRows> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    const Tensor rows = x.contiguous(), length = lengths_of(rows), unit = rows / length;
    ctx->save_for_backward({unit, length});
    return unit;
  }
  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    HEED_CHECK(!torch::GradMode::is_enabled(),
               "attend: this kernel has no second derivative; kernel='reference' has");
    const auto saved = ctx->get_saved_variables();
    const Tensor &unit = saved[0], &length = saved[1], &grad = gradients[0];
    const Tensor along = (unit * grad).sum(-1, true);
    return {torch::where((grad != 0).any(-1, true), (grad - along * unit) / length, 0.0)};
  }
};

class Cosine : public Score {
 public:
  ScoreForm::Kind form() const override { return ScoreForm::Kind::dot; }
  ScoreForm operands(const Tensor& q, const Tensor& k, const Params&) const override {
    return {.query = UnitRows::apply(q), .key = UnitRows::apply(k)};
  }
  Tensor reference(const Tensor& q, const Tensor& k, const Params&) const override {
    return torch::matmul(q / lengths_of(q), (k / lengths_of(k)).transpose(-1, -2));
  }
};

/// No fused form: as q·k/σ² − ‖q‖²/2σ² − ‖k‖²/2σ² it would be one, but vectors that are close to
/// each other and far from zero would lose all their digits.
class Gaussian : public Score {
 public:
  explicit Gaussian(double sigma) : factor_(-1 / (2 * sigma * sigma)) {}
  Tensor reference(const Tensor& q, const Tensor& k, const Params&) const override {
    return (q.unsqueeze(-2) - k.unsqueeze(-3)).square().sum(-1) * factor_;
  }

 private:
  double factor_;
};

}  // namespace

PartInfo similarity() {
  return {
      .id = "similarity",
      .group = Group::score,
      .title = "Similarity (cosine, Gaussian)",
      .formula = R"(\frac{q \cdot k}{\|q\| \|k\|}, \; -\frac{\|q - k\|^2}{2 \sigma^2})",
      .paper = "Graves et al. 2014 (content-based addressing)",
      .inputs = "query, keys",
      .time = "O(Q K d)",
      .memory = "O((Q + K) d) fused (cosine), O(Q K) reference, O(Q K d) Gaussian",
      .advice = "cosine when lengths of vectors carry no meaning; Gaussian for the nearest key",
      .suits = {"unit-length", "bounded"},
      .options =
          {{.name = "kind",
            .fallback = std::string("cosine"),
            .doc = "cosine lies in [−1, 1], so a temperature below 1 sharpens it",
            .choices = {"cosine", "gaussian"}},
           {.name = "sigma", .fallback = 1.0, .doc = "σ of gaussian", .min = 1e-6, .max = 1e6}},
      .fused = "dot, after division by the norms (cosine)",
      .unsupported = same_width,
      .make = [](const Options& options) -> std::unique_ptr<Score> {
        if (get<std::string>(options, "kind") == "cosine") return std::make_unique<Cosine>();
        return std::make_unique<Gaussian>(get<double>(options, "sigma"));
      },
  };
}

}  // namespace heed
