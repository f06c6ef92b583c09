#include "heed/mechanisms/meta_embedding.hpp"

#include "heed/base/error.hpp"
#include "heed/base/words.hpp"

namespace heed {
namespace {

// Every word is an entry of the attention over embeddings: [B·N, H, 1, E] ↔ [B, H, N, E].
TraceView words_as_entries(const Input& words) {
  const std::int64_t B = words.data.size(0), N = words.data.size(1);
  const auto outward = [=](const Tensor& x) {
    return x.unflatten(0, {B, N}).squeeze(3).movedim(1, 2);
  };
  return {.outward =
              [=](TraceMap map) {
                map.weights = outward(map.weights);
                if (map.features.defined()) map.features = outward(map.features);
                map.query_input = words.name;
                map.query_lengths = words.lengths;
                return map;
              },
          .inward =
              [=](Tensor given) {  // [B, N, E] or [B, H, N, E]
                if (given.dim() == 3) given = given.unsqueeze(1);
                return given.movedim(2, 1).flatten(0, 1).unsqueeze(2);
              },
          .entries =
              [=](const Tensor& x) {
                return x.reshape({B, -1}).sum(1);
              }};
}

class MetaEmbedding : public Mechanism {
 public:
  explicit MetaEmbedding(const MechanismProblem& problem) {
    std::int64_t dim = get<std::int64_t>(problem.options, "dim");
    if (dim == 0) dim = problem.inputs.front().dim;
    features_ = register_module("features", MetaFeatures(problem, dim));
    to_words_ =
        register_module("to_words", Attender(problem, problem.query_dim, features_->output_dim()));
    for (const auto& input : problem.inputs) names_.push_back(input.name);
  }

  Context forward(const Inputs& in, Trace& trace) override {
    return to_words_->attend(in.query, features_->forward(in, trace["embeddings"]), trace["words"]);
  }

  std::int64_t output_dim() const override { return to_words_->output_dim(); }

  std::vector<WiringStep> wiring() const override {
    return {{.name = "embeddings", .query = "", .keys = join(names_, ", "), .output = "f_l"},
            {.name = "words", .query = "q", .keys = "f_l", .output = "c"},
            {.name = "", .query = "", .keys = "", .output = "c"}};
  }

 private:
  MetaFeatures features_{nullptr};
  Attender to_words_{nullptr};
  std::vector<std::string> names_;
};

}  // namespace

MetaFeaturesImpl::MetaFeaturesImpl(const MechanismProblem& problem, std::int64_t dim) {
  for (const auto& input : problem.inputs) {
    names_.push_back(input.name);
    to_one_width_.push_back(
        register_module(fmt::format("W_{}", names_.size()), torch::nn::Linear(input.dim, dim)));
  }
  attender_ = register_module("attender", Attender(problem, 0, dim));
}

Input MetaFeaturesImpl::forward(const Inputs& in, const TraceSlot& slot) {
  Input words = in[names_.front()];
  const std::int64_t B = words.data.size(0), N = words.data.size(1);
  std::vector<Tensor> each;
  for (std::size_t e = 0; e < names_.size(); ++e) {
    Input x = in[names_[e]];
    HEED_CHECK(x.data.size(1) == N,
               "meta-embedding: '{}' has {} positions, '{}' has {}; they embed the same words",
               words.name, N, x.name, x.data.size(1));
    x.lengths = words.lengths;
    each.push_back(to_one_width_[e]->forward(zero_padding(x).data));
  }
  const Input embeddings{.data = torch::stack(each, 2).flatten(0, 1),  // [B·N, E, D]
                         .lengths = {},
                         .name = "",
                         .levels = {}};
  const Tensor features =
      attender_->attend(Tensor(), embeddings, slot.through(words_as_entries(words)));
  words.data = features.unflatten(0, {B, N});
  return words;
}

PartInfo meta_embedding() {
  return {
      .id = "meta-embedding",
      .group = Group::mechanism,
      .family = "features",
      .title = "Meta-embedding",
      .formula =
          R"(f_l = \sum_e a_{l,e} (W_e x_{l,e} + b_e), \; c = \mathrm{attend}(q, f_1 \dots f_N))",
      .paper = "Kiela et al. 2018 (DME)",
      .inputs = "several embeddings of the same words",
      .time = "O(K E d²)",
      .memory = "O(K E d)",
      .advice = "several embeddings of one word; the features it makes are then attended to",
      .suits = {"several-embeddings"},
      .options = {{.name = "dim",
                   .fallback = std::int64_t{0},
                   .doc = "the width all embeddings are brought to; 0: the first one's",
                   .min = 0,
                   .max = 65536}},
      .takes = {{.more = true}},
      .make = makes<MetaEmbedding>(),
  };
}

}  // namespace heed
