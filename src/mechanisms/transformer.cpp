#include "heed/mechanisms/transformer.hpp"

#include "heed/attention/score.hpp"
#include "heed/base/error.hpp"
#include "heed/mechanisms/dropout.hpp"
#include "mechanisms/pool.hpp"

namespace heed {
namespace {

torch::nn::LayerNorm layer_norm(std::int64_t dim) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({dim}));
}

MechanismProblem attention_problem(const TransformerOptions& options, bool positions) {
  MechanismProblem problem{.parts = options.parts};
  if (!positions) problem.parts.position = "none";
  return problem;
}

// The position at the bottom of a stack: one that adds, or none.
std::shared_ptr<Position> bottom_position(const TransformerOptions& options) {
  auto position = make_position(options.parts.position, {.dim = options.dim,
                                                         .head_dim = options.dim,
                                                         .score = options.parts.score.id,
                                                         .options = {}});
  return position->adds() ? position : std::make_shared<Position>();
}

// A stack of layers, its bottom position and, after pre-norm layers, its last norm.
void make_stack(const TransformerOptions& options, bool decoder, torch::nn::Module& owner,
                std::shared_ptr<Position>& position, std::vector<TransformerLayer>& layers,
                torch::nn::LayerNorm& norm) {
  position = owner.register_module("position", bottom_position(options));
  TransformerOptions inside = options;
  if (position->adds()) inside.parts.position = "none";
  for (std::int64_t l = 0; l < options.layers; ++l) {
    layers.push_back(
        owner.register_module(fmt::format("layer_{}", l + 1), TransformerLayer(inside, decoder)));
  }
  if (options.norm_first) norm = owner.register_module("norm", layer_norm(options.dim));
}

Tensor run_stack(const Input& x, const Input& memory, const TraceSlot& slot,
                 const Position& position, std::vector<TransformerLayer>& layers,
                 torch::nn::LayerNorm& norm) {
  Input state = zero_padding(x);
  state.data = position.add(state.data);
  for (std::size_t l = 0; l < layers.size(); ++l) {
    state.data = layers[l]->forward(state, memory, slot[fmt::format("layer {}", l + 1)]);
  }
  return norm ? norm->forward(state.data) : state.data;
}

}  // namespace

TransformerLayerImpl::TransformerLayerImpl(const TransformerOptions& options, bool decoder)
    : act_(options.act),
      norm_first_(options.norm_first),
      decoder_(decoder),
      dropout_(options.dropout) {
  const std::int64_t dim = options.dim, ffn = options.ffn > 0 ? options.ffn : 4 * dim;
  self_ = register_module("self", Attender(attention_problem(options, true), dim, dim));
  HEED_CHECK(self_->output_dim() == dim,
             "transformer: its attention is {} wide and what it is added to {}; heads need "
             "projections",
             self_->output_dim(), dim);
  norm_self_ = register_module("norm_self", layer_norm(dim));
  if (decoder) {
    // Places in the memory are not places in the text that is written.
    cross_ = register_module("memory", Attender(attention_problem(options, false), dim, dim));
    norm_cross_ = register_module("norm_memory", layer_norm(dim));
  }
  inner_ = register_module("inner", torch::nn::Linear(dim, ffn));
  outer_ = register_module("outer", torch::nn::Linear(ffn, dim));
  norm_feed_ = register_module("norm_feed", layer_norm(dim));
}

Tensor TransformerLayerImpl::drop(const Tensor& x) const {
  return drop_features(x, dropout_, is_training());
}

Tensor TransformerLayerImpl::feed_forward(const Tensor& x) {
  return outer_->forward(drop(activate(act_, inner_->forward(x))));
}

template <class Sublayer>
Tensor TransformerLayerImpl::residual(const Tensor& x, torch::nn::LayerNorm& norm,
                                      const Sublayer& sublayer) {
  if (norm_first_) return x + drop(sublayer(norm->forward(x)));
  return norm->forward(x + drop(sublayer(x)));
}

Tensor TransformerLayerImpl::forward(const Input& x, const Input& memory, const TraceSlot& slot) {
  const auto named = [&](const Tensor& data) {
    return Input{.data = data, .lengths = x.lengths, .name = x.name};
  };
  Tensor state = residual(x.data, norm_self_, [&](const Tensor& data) {
    return self_->attend({.query = named(data),
                          .keys = named(data),
                          .causal = decoder_ ? Causal::top_left() : Causal()},
                         slot["self"]);
  });
  if (decoder_) {
    state = residual(state, norm_cross_, [&](const Tensor& data) {
      return cross_->attend({.query = named(data), .keys = memory}, slot["memory"]);
    });
  }
  return residual(state, norm_feed_, [&](const Tensor& data) { return feed_forward(data); });
}

Tensor TransformerLayerImpl::step(const Tensor& x, const Input& memory, Tensor& kept,
                                  const TraceSlot& slot) {
  const auto named = [&](const Tensor& data) {
    return Input{.data = data, .lengths = {}, .name = "target"};
  };
  Tensor state = residual(x, norm_self_, [&](const Tensor& data) {
    kept = kept.defined() ? torch::cat({kept, data}, 1) : data;
    return self_->attend(
        {.query = named(data), .keys = named(kept), .causal = Causal::bottom_right()},
        slot["self"]);
  });
  // Rows that read the same memory ask together, so that its keys are made once.
  state = residual(state, norm_cross_, [&](const Tensor& data) {
    const Tensor asking = data.view({memory.data.size(0), -1, data.size(-1)});
    return cross_->attend({.query = named(asking), .keys = memory}, slot["memory"]).view_as(data);
  });
  return residual(state, norm_feed_, [&](const Tensor& data) { return feed_forward(data); });
}

TransformerEncoderImpl::TransformerEncoderImpl(const TransformerOptions& options) {
  make_stack(options, false, *this, position_, layers_, norm_);
}

Tensor TransformerEncoderImpl::forward(const Input& x, const TraceSlot& slot) {
  return run_stack(x, {}, slot, *position_, layers_, norm_);
}

TransformerDecoderImpl::TransformerDecoderImpl(const TransformerOptions& options) {
  make_stack(options, true, *this, position_, layers_, norm_);
}

Tensor TransformerDecoderImpl::forward(const Input& x, const Input& memory, const TraceSlot& slot) {
  return run_stack(x, zero_padding(memory), slot, *position_, layers_, norm_);
}

Tensor TransformerDecoderImpl::step(const Tensor& x, const Input& memory, std::vector<Tensor>& kept,
                                    const TraceSlot& slot) {
  kept.resize(layers_.size());
  const std::int64_t place = kept.front().defined() ? kept.front().size(1) : 0;
  // What a position adds to nothing is its vector.
  Tensor state = x + position_->add(x.new_zeros({1, place + 1, x.size(-1)})).narrow(1, place, 1);
  const Input clean = zero_padding(memory);
  for (std::size_t l = 0; l < layers_.size(); ++l)
    state = layers_[l]->step(state, clean, kept[l], slot[fmt::format("layer {}", l + 1)]);
  return norm_ ? norm_->forward(state) : state;
}

namespace {

class Transformer : public Mechanism {
 public:
  explicit Transformer(const MechanismProblem& problem)
      : input_(problem.inputs.front().name),
        dim_(problem.inputs.front().dim),
        layers_(get<std::int64_t>(problem.options, "layers")),
        pool_(get<std::string>(problem.options, "pool")) {
    const Options& given = problem.options;
    encoder_ =
        register_module("encoder", TransformerEncoder(TransformerOptions{
                                       .parts = problem.parts,
                                       .dim = dim_,
                                       .layers = layers_,
                                       .ffn = get<std::int64_t>(given, "ffn"),
                                       .act = get<std::string>(given, "act"),
                                       .norm_first = get<std::string>(given, "norm") == "pre",
                                       .dropout = get<double>(given, "dropout")}));
  }

  Context forward(const Inputs& in, Trace& trace) override {
    Input x = in[input_];
    x.data = encoder_->forward(x, trace["transformer"]);
    return pool(pool_, x);
  }

  std::int64_t output_dim() const override { return dim_; }
  bool uses_query() const override { return false; }
  bool asks_itself() const override { return true; }
  std::vector<WiringStep> wiring() const override {
    std::vector<WiringStep> steps;
    std::string below = input_;
    for (std::int64_t l = 1; l <= layers_; ++l) {
      steps.push_back(
          {fmt::format("transformer/layer {}/self", l), below, below, fmt::format("x_{}", l)});
      below = steps.back().output;
    }
    steps.push_back({"", "", "", pool_ + " of " + below});
    return steps;
  }

 private:
  std::string input_;
  std::int64_t dim_, layers_;
  std::string pool_;
  TransformerEncoder encoder_{nullptr};
};

}  // namespace

OptionInfo ffn_option() {
  return {.name = "ffn",
          .fallback = std::int64_t{0},
          .doc = "width of the feed-forward layer; 0 = four times the features'",
          .min = 0,
          .max = 1 << 20};
}

PartInfo transformer() {
  OptionInfo act = act_option();
  act.fallback = std::string("relu");
  return {
      .id = "transformer",
      .group = Group::mechanism,
      .family = "more",
      .title = "Transformer",
      .formula =
          R"(x \leftarrow \mathrm{norm}(x + \mathrm{attend}(x, x)), \; x \leftarrow \mathrm{norm}(x + \mathrm{FFN}(x)))",
      .paper = "Vaswani et al. 2017, section 3.1; pre-norm: Xiong et al. 2020",
      .inputs = "one",
      .time = "an attention of N queries and O(N d ffn) a layer",
      .memory = "an attention of N queries and O(N ffn) a layer",
      .advice = "stacked self-attention; give it positions and heads",
      .suits = {"pairs", "much-data"},
      .options =
          {{.name = "layers", .fallback = std::int64_t{2}, .doc = "how many", .min = 1, .max = 256},
           ffn_option(),
           act,
           {.name = "norm",
            .fallback = std::string("post"),
            .doc = "where the layer norm stands: after the sum (the paper) or before",
            .choices = {"post", "pre"}},
           {.name = "dropout",
            .fallback = 0.0,
            .doc = "on what a sublayer adds, in training",
            .min = 0,
            .max = 0.95},
           pool_option("mean")},
      .promises = "linear layers and norms are torch's",
      .make = MakeMechanism([](const MechanismProblem& problem) -> std::shared_ptr<Mechanism> {
        return std::make_shared<Transformer>(problem);
      }),
  };
}

}  // namespace heed
