#include "heed/mechanisms/attender.hpp"

namespace heed {
namespace {

class ViaAttention : public Mechanism {
 public:
  explicit ViaAttention(const MechanismProblem& problem)
      : words_(problem.inputs[0].name), characters_(problem.inputs[1].name) {
    to_words_ =
        register_module("to_words", Attender(problem, problem.query_dim, problem.inputs[0].dim));
    to_characters_ = register_module(
        "to_characters",
        Attender(problem, problem.query_dim + to_words_->output_dim(), problem.inputs[1].dim));
  }

  Context forward(const Inputs& in, Trace& trace) override {
    const Tensor word = to_words_->attend(in.query, in[words_], trace["words"]);
    const Tensor query = in.query.defined() ? concat({in.query, word}) : word;
    const Tensor character = to_characters_->attend(query, in[characters_], trace["characters"]);
    return concat({word, character});
  }

  std::int64_t output_dim() const override {
    return to_words_->output_dim() + to_characters_->output_dim();
  }

  std::vector<WiringStep> wiring() const override {
    return {{.name = "words", .query = "q", .keys = words_, .output = "c_w"},
            {.name = "characters", .query = "[q; c_w]", .keys = characters_, .output = "c_c"},
            {.name = "", .query = "", .keys = "", .output = "[c_w; c_c]"}};
  }

 private:
  std::string words_, characters_;
  Attender to_words_{nullptr}, to_characters_{nullptr};
};

}  // namespace

PartInfo via_attention() {
  return {
      .id = "via-attention",
      .group = Group::mechanism,
      .family = "features",
      .title = "Attention-via-attention",
      .formula =
          R"(c_w = \mathrm{attend}(q, K_w), \; c_c = \mathrm{attend}([q; c_w], K_c), \; c = [c_w; c_c])",
      .paper = "Zhao & Zhang 2018",
      .inputs = "words (the first), characters",
      .time = "two attentions with one query each",
      .memory = "O(K_w + K_c)",
      .advice = "two grains of one text; scores that need equal widths cannot serve",
      .suits = {"characters"},
      .takes = {{}, {.name = "characters"}},
      .make = makes<ViaAttention>(),
  };
}

}  // namespace heed
