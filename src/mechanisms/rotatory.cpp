#include "heed/base/error.hpp"
#include "heed/mechanisms/attender.hpp"

namespace heed {
namespace {

class Rotatory : public Mechanism {
 public:
  explicit Rotatory(const MechanismProblem& problem)
      : hops_(get<std::int64_t>(problem.options, "hops")) {
    const std::int64_t left = problem.inputs[0].dim, target = problem.inputs[1].dim,
                       right = problem.inputs[2].dim;
    to_left_ = register_module("to_left", Attender(problem, target, left));
    to_right_ = register_module("to_right", Attender(problem, target, right));
    target_by_left_ =
        register_module("target_by_left", Attender(problem, to_left_->output_dim(), target));
    target_by_right_ =
        register_module("target_by_right", Attender(problem, to_right_->output_dim(), target));
    HEED_CHECK(hops_ == 1 || target_by_left_->output_dim() == target,
               "mechanism 'rotatory': with hops the target's context ({} wide) asks in the place "
               "of its mean ({} wide), so both must be equally wide",
               target_by_left_->output_dim(), target);
  }

  Context forward(const Inputs& in, Trace& trace) override {
    Tensor left_query = mean(in["target"]), right_query = left_query;
    Tensor l, r, lt, rt;
    for (std::int64_t hop = 0; hop < hops_; ++hop) {
      const std::string at = place(hop);
      l = to_left_->attend(left_query, in["left"], trace[at + "left"]);
      r = to_right_->attend(right_query, in["right"], trace[at + "right"]);
      lt = target_by_left_->attend(l, in["target"], trace[at + "target by left"]);
      rt = target_by_right_->attend(r, in["target"], trace[at + "target by right"]);
      left_query = lt, right_query = rt;
    }
    return concat({l, r, lt, rt});
  }

  std::int64_t output_dim() const override {
    return to_left_->output_dim() + to_right_->output_dim() + target_by_left_->output_dim() +
           target_by_right_->output_dim();
  }
  bool uses_query() const override { return false; }

  std::vector<WiringStep> wiring() const override {
    std::vector<WiringStep> steps;
    for (std::int64_t hop = 0; hop < hops_; ++hop) {
      const std::string at = place(hop), first = "mean of target";
      steps.push_back({at + "left", hop == 0 ? first : "r_lt", "left", "r_l"});
      steps.push_back({at + "right", hop == 0 ? first : "r_rt", "right", "r_r"});
      steps.push_back({at + "target by left", "r_l", "target", "r_lt"});
      steps.push_back({at + "target by right", "r_r", "target", "r_rt"});
    }
    steps.push_back({"", "", "", "[r_l; r_r; r_lt; r_rt]"});
    return steps;
  }

 private:
  std::string place(std::int64_t hop) const {
    return hops_ == 1 ? "" : fmt::format("hop {}/", hop + 1);
  }

  std::int64_t hops_;
  Attender to_left_{nullptr}, to_right_{nullptr}, target_by_left_{nullptr},
      target_by_right_{nullptr};
};

}  // namespace

PartInfo rotatory() {
  return {
      .id = "rotatory",
      .group = Group::mechanism,
      .family = "features",
      .title = "Rotatory",
      .formula =
          R"(r_l = \mathrm{attend}(\bar{k}_t, K_l), \; r_{lt} = \mathrm{attend}(r_l, K_t), \; c = [r_l; r_r; r_{lt}; r_{rt}])",
      .paper = "Zheng & Xia 2018 (LCR-Rot)",
      .inputs = "left, target, right",
      .time = "four attentions with one query each, for every hop",
      .memory = "O(K_l + K_t + K_r)",
      .advice = "a target between two contexts",
      .suits = {"target"},
      .options = {{.name = "hops",
                   .fallback = std::int64_t{1},
                   .doc = "how often; the target's contexts ask the next time",
                   .min = 1,
                   .max = 16}},
      .takes = {{.name = "left"}, {.name = "target"}, {.name = "right"}},
      .make = makes<Rotatory>(),
  };
}

}  // namespace heed
