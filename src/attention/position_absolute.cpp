// Places as vectors that are added to the features.
#include <torch/nn/init.h>

#include <cmath>

#include "heed/attention/position.hpp"
#include "heed/attention/registry.hpp"
#include "heed/base/error.hpp"

namespace heed {
namespace {

class Sinusoidal : public Position {
 public:
  explicit Sinusoidal(const PositionProblem& problem)
      : base_(get<double>(problem.options, "base")) {}

  bool adds() const override { return true; }

  Tensor add(const Tensor& features) const override {
    const std::int64_t N = features.size(1), dim = features.size(2);
    const auto precise = torch::TensorOptions(torch::kFloat64).device(features.device());
    const Tensor place = torch::arange(N, precise).unsqueeze(1);
    const Tensor even = torch::arange(0, dim, 2, precise);
    const Tensor angle = place * torch::exp(even * (-std::log(base_) / static_cast<double>(dim)));
    // An odd width ends with a sine.
    const Tensor waves = torch::stack({angle.sin(), angle.cos()}, -1).flatten(1).narrow(1, 0, dim);
    return features + waves.to(features.scalar_type());
  }

 private:
  double base_;
};

class Learned : public Position {
 public:
  explicit Learned(const PositionProblem& problem)
      : places_(register_parameter(
            "places",
            0.02 * torch::randn({get<std::int64_t>(problem.options, "max_length"), problem.dim}))) {
  }

  bool adds() const override { return true; }

  Tensor add(const Tensor& features) const override {
    HEED_CHECK(features.size(1) <= places_.size(0),
               "position 'learned': the input has {} places, {} are learned; raise max_length, or "
               "cut the texts (task.max_length)",
               features.size(1), places_.size(0));
    return features + places_.narrow(0, 0, features.size(1));
  }

 private:
  Tensor places_;
};

}  // namespace

PartInfo sinusoidal() {
  return {
      .id = "sinusoidal",
      .group = Group::position,
      .title = "Sinusoidal",
      .formula =
          R"(F_{l, 2i} + \sin(l / 10000^{2i / d}), \; F_{l, 2i+1} + \cos(l / 10000^{2i / d}))",
      .paper = "Vaswani et al. 2017, section 3.5",
      .inputs = "the keys, and the queries where they are the same input",
      .time = "O(N d)",
      .memory = "O(N d)",
      .advice = "no parameters, any length",
      .suits = {"order", "few-parameters"},
      .options = {{.name = "base",
                   .fallback = 10000.0,
                   .doc = "the longest wave is 2π times this",
                   .min = 1.001,
                   .max = 1e12}},
      .make = MakePosition([](const PositionProblem& problem) -> std::shared_ptr<Position> {
        return std::make_shared<Sinusoidal>(problem);
      }),
  };
}

PartInfo learned() {
  return {
      .id = "learned",
      .group = Group::position,
      .title = "Learned",
      .formula = R"(F_l + P_l)",
      .paper = "Gehring et al. 2017",
      .inputs = "the keys, and the queries where they are the same input",
      .time = "O(N d)",
      .memory = "O(N d), and N d parameters",
      .advice = "for a fixed greatest length",
      .suits = {"order"},
      .options = {{.name = "max_length",
                   .fallback = std::int64_t{512},
                   .doc = "places that are learned; a longer input is an error",
                   .min = 1,
                   .max = 1 << 24}},
      .make = MakePosition([](const PositionProblem& problem) -> std::shared_ptr<Position> {
        return std::make_shared<Learned>(problem);
      }),
  };
}

}  // namespace heed
