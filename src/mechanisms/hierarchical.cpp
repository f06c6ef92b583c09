#include <torch/nn/modules/rnn.h>
#include <torch/nn/utils/rnn.h>

#include "heed/base/error.hpp"
#include "heed/mechanisms/attender.hpp"
#include "mechanisms/grouping.hpp"

namespace heed {
namespace {

// What is attended to at each level, finest first.
std::string level_name(std::size_t level) {
  static const std::vector<std::string> names = {"words", "sentences", "paragraphs"};
  return level < names.size() ? names[level] : fmt::format("level {}", level + 1);
}

class Hierarchical : public Mechanism {
 public:
  explicit Hierarchical(const MechanismProblem& problem) : input_(problem.inputs.front().name) {
    const std::string& encoder = get<std::string>(problem.options, "encoder");
    std::int64_t dim = problem.inputs.front().dim;
    for (std::int64_t level = 0; level <= problem.inputs.front().levels; ++level) {
      if (level > 0 && encoder != "none") add_encoder(level, dim, encoder == "bigru");
      attenders_.push_back(register_module(fmt::format("level_{}", level + 1),
                                           Attender(problem, problem.query_dim, dim)));
      dim = attenders_.back()->output_dim();
    }
  }

  Context forward(const Inputs& in, Trace& trace) override {
    Input level = in[input_];
    const std::vector<Segments> levels = level.levels;
    HEED_CHECK(levels.size() + 1 == attenders_.size(),
               "mechanism 'hierarchical': input '{}' comes in {} levels; it was made for {}",
               input_, levels.size(), attenders_.size() - 1);
    for (std::size_t i = 0; i < levels.size(); ++i) {
      const Grouping groups(level, levels[i]);
      const Tensor contexts = attenders_[i]->attend(groups.repeat(in.query), groups.entries(),
                                                    trace[level_name(i)].through(groups.view()));
      level = groups.above(contexts);
      if (!encoders_.empty()) level.data = encode(encoders_[i], level);
    }
    return attenders_.back()->attend(in.query, level, trace[level_name(levels.size())]);
  }

  std::int64_t output_dim() const override { return attenders_.back()->output_dim(); }

  std::vector<WiringStep> wiring() const override {
    std::vector<WiringStep> steps;
    std::string below = input_;
    for (std::size_t i = 0; i < attenders_.size(); ++i) {
      steps.push_back({level_name(i), "q", below, fmt::format("c_{}", i + 1)});
      below = (encoders_.empty() ? "" : "encoded ") + steps.back().output;
    }
    steps.push_back({"", "", "", steps.back().output});
    return steps;
  }

 private:
  void add_encoder(std::int64_t level, std::int64_t dim, bool both) {
    HEED_CHECK(!both || dim % 2 == 0,
               "mechanism 'hierarchical': width {} cannot be halved between two directions; "
               "encoder 'gru' takes it",
               dim);
    encoders_.push_back(
        register_module(fmt::format("encoder_{}", level + 1),
                        torch::nn::GRU(torch::nn::GRUOptions(dim, both ? dim / 2 : dim)
                                           .bidirectional(both)
                                           .batch_first(true))));
  }

  // Over packed sequences: padding never enters.
  static Tensor encode(torch::nn::GRU& gru, const Input& level) {
    namespace rnn = torch::nn::utils::rnn;
    if (level.data.size(1) == 0 || level.data.size(0) == 0) return level.data;
    if (!level.lengths.defined()) return std::get<0>(gru->forward(level.data));
    const Input x = zero_padding(level);
    const auto packed =
        rnn::pack_padded_sequence(x.data, x.lengths.clamp_min(1), /*batch_first=*/true,
                                  /*enforce_sorted=*/false);
    const auto out = std::get<0>(gru->forward_with_packed_input(packed));
    return std::get<0>(rnn::pad_packed_sequence(out, true, 0.0, x.data.size(1)));
  }

  std::string input_;
  std::vector<Attender> attenders_;
  std::vector<torch::nn::GRU> encoders_;  // empty, or one before each attender but the first
};

}  // namespace

PartInfo hierarchical() {
  return {
      .id = "hierarchical",
      .group = Group::mechanism,
      .family = "features",
      .title = "Hierarchical",
      .formula =
          R"(s_i = \mathrm{attend}(q, K_{w,i}), \; d = \mathrm{attend}(q, \mathrm{encoder}(s_1 \dots s_n)))",
      .paper = "Yang et al. 2016 (HAN)",
      .inputs = "one, in levels",
      .time = "one attention over all positions of each level",
      .memory = "O(K)",
      .advice = "long documents: words, sentences, document, and any level more",
      .suits = {"documents"},
      .options = {{.name = "encoder",
                   .fallback = std::string("none"),
                   .doc = "what runs over the vectors of a level before the next attends",
                   .choices = {"none", "gru", "bigru"}}},
      .promises = "with an encoder: torch's layers, equal within rounding",
      .takes = {{.levels = true}},
      .make = makes<Hierarchical>(),
  };
}

}  // namespace heed
