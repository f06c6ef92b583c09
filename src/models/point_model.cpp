#include "heed/models/point_model.hpp"

#include <charconv>

#include "heed/base/error.hpp"
#include "models/wiring.hpp"

namespace heed {
namespace {

/// [B, T] places of the right answers, N after the last, then −1.
Tensor right_places(const Padded& target, std::int64_t end) {
  const auto B = static_cast<std::int64_t>(target.tokens.size());
  const std::int64_t T = target.ids.size(1) + 1;
  Tensor places = torch::full({B, T}, -1, torch::kInt64);
  auto rows = places.accessor<std::int64_t, 2>();
  for (std::int64_t b = 0; b < B; ++b) {
    const auto& words = target.tokens[static_cast<std::size_t>(b)];
    for (std::size_t t = 0; t < words.size(); ++t)
      std::from_chars(words[t].data(), words[t].data() + words[t].size(),
                      rows[b][static_cast<std::int64_t>(t)]);
    rows[b][static_cast<std::int64_t>(words.size())] = end;
  }
  return places;
}

}  // namespace

PointModel::PointModel(const Config& config, const DataInfo& info)
    : input_(info.inputs.front().name), smoothing_(config.train.label_smoothing) {
  HEED_CHECK(config.output.id == "pointer",
             "output '{}' cannot point; [output] model = \"pointer\" can", config.output.id);
  HEED_CHECK(config.attention.mechanism.id == "singular",
             "mechanism '{}': in tasks of kind 'point' the output model attends; leave it "
             "'singular'",
             config.attention.mechanism.id);
  const PartInfo& part = registry().find_built(Group::output, "pointer");
  const Options options = resolve(part, config.output.options, "output");
  beam_ = get<std::int64_t>(options, "beam");
  encoder_ = register_module("encoder", Encoder(config, info, std::vector<std::string>{input_}));
  const std::int64_t dim = encoder_->output_dim();
  pointer_ = register_module(
      "pointer", Pointer(PointerOptions{.parts = config.attention,
                                        .key_dim = dim,
                                        .state_dim = get<std::int64_t>(options, "state"),
                                        .cell = get<std::string>(options, "cell"),
                                        .repeat = get<bool>(options, "repeat")}));
  wiring_ = std::make_shared<DescribedWiring>(
      std::vector<WiringStep>{{"pointer", "the decoder's state", input_, "y_t"},
                              {"", "", "", "y_t"}},
      dim);
}

Tensor PointModel::losses_of(const Input& keys, const Batch& batch, double smoothing) {
  const Tensor places = right_places(batch.target, keys.data.size(1));
  const Tensor logp = pointer_->forward(keys, places);
  const Tensor known = places >= 0;
  const Tensor right = logp.gather(2, places.clamp_min(0).unsqueeze(-1)).squeeze(-1);
  Tensor loss = -right;
  if (smoothing > 0) {
    const Tensor open = torch::isfinite(logp);
    const Tensor mean = torch::where(open, logp, 0.0).sum(-1) / open.sum(-1);
    loss = (1 - smoothing) * loss - smoothing * mean;
  }
  const Tensor each = torch::where(known, loss, 0.0).sum(1);
  return each * (static_cast<double>(batch.size()) / known.sum().item<double>());
}

Tensor PointModel::losses(const Batch& batch, Trace& /*trace*/) {
  return losses_of(encoder_->forward(batch)[input_], batch, smoothing_);
}

Reply PointModel::answer(const Batch& batch, Trace& trace) {
  const Input keys = encoder_->forward(batch)[input_];
  const std::int64_t N = keys.data.size(1);
  Reply reply;
  if ((batch.target.lengths > 0).all().item<bool>()) reply.losses = losses_of(keys, batch, 0);
  const Tensor places = pointer_->beam(keys, quickly_ ? 1 : beam_).places.contiguous();
  const auto rows = places.accessor<std::int64_t, 2>();
  for (std::int64_t b = 0; b < batch.size(); ++b) {
    Prediction prediction;
    for (std::int64_t t = 0; t < places.size(1) && rows[b][t] >= 0 && rows[b][t] < N; ++t)
      prediction.sequence.push_back(std::to_string(rows[b][t]));
    reply.predictions.push_back(std::move(prediction));
  }
  trace_answers(keys, places, trace);
  return reply;
}

// The end key comes last, so a reader who cuts to the length sees the places alone.
void PointModel::trace_answers(const Input& keys, const Tensor& places, Trace& trace) {
  const TraceSlot slot = trace["pointer"];
  if (!slot.wanted()) return;
  const Tensor all = torch::full({keys.data.size(0)}, keys.data.size(1), torch::kInt64);
  slot.record({.axes = {"head", "query", "key"},
               .query_input = "target",
               .key_input = input_,
               .weights = pointer_->forward(keys, places).exp().unsqueeze(1),
               .query_lengths = (places >= 0).sum(1),
               .key_lengths = keys.lengths.defined() ? keys.lengths : all});
}

}  // namespace heed
