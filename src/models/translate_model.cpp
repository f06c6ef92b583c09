#include "heed/models/translate_model.hpp"

#include "heed/base/error.hpp"
#include "models/beam_search.hpp"
#include "models/wiring.hpp"

namespace heed {
namespace {

// The vocabulary's padding is never written, so its number is free for the begin and the end.
constexpr std::int64_t kEnd = Vocabulary::kPadding;

std::shared_ptr<SequenceDecoder> make_decoder(const Config& config, const DecoderProblem& given) {
  DecoderProblem problem = given;
  const PartInfo& part = registry().find_built(Group::output, config.output.id);
  problem.options = resolve(part, config.output.options, "output");
  if (part.id == "gru") return make_gru_decoder(problem);
  HEED_CHECK(part.id == "transformer",
             "output '{}' cannot write a sequence; [output] model = \"gru\" or \"transformer\" can",
             part.id);
  return make_transformer_decoder(problem);
}

void check_parts(const AttentionSpec& parts) {
  HEED_CHECK(parts.mechanism.id == "singular",
             "mechanism '{}': in tasks of kind 'translate' the output model attends, with the "
             "config's score and alignment; leave the mechanism 'singular'",
             parts.mechanism.id);
  HEED_CHECK(parts.align.id != "local-m",
             "align 'local-m': beams that are written together have no places among the words; "
             "'local-p' predicts a place");
}

}  // namespace

TranslateModel::TranslateModel(const Config& config, const DataInfo& info)
    : input_(info.inputs.front().name),
      vocabulary_(info.target_vocabulary),
      smoothing_(config.train.label_smoothing) {
  check_parts(config.attention);
  encoder_ = register_module("encoder", Encoder(config, info, std::vector<std::string>{input_}));
  decoder_ = register_module(
      "decoder",
      make_decoder(config, {.parts = config.attention,
                            .input = input_,
                            .memory = encoder_->output_dim(),
                            .words = static_cast<std::int64_t>(info.target_vocabulary.size()),
                            .dropout = config.output_dropout,
                            .options = {}}));
  wiring_ = std::make_shared<DescribedWiring>(decoder_->wiring(), encoder_->output_dim());
  const PartInfo& part = registry().find_built(Group::output, config.output.id);
  const Options options = resolve(part, config.output.options, "output");
  beam_ = get<std::int64_t>(options, "beam");
  length_penalty_ = get<double>(options, "length_penalty");
  coverage_penalty_ = get<double>(options, "coverage_penalty");
}

Input TranslateModel::memory(const Batch& batch) {
  Input memory = encoder_->forward(batch)[input_];
  memory.name = input_;
  return memory;
}

// Of all right words at once, padding left out before the largest product.
TranslateModel::Told TranslateModel::tell(const Batch& batch, const Input& memory, double smoothing,
                                          Trace& trace) {
  const Tensor& ids = batch.target.ids;
  const std::int64_t B = ids.size(0), T = ids.size(1) + 1;
  const Tensor begin = torch::full({B, 1}, kEnd, torch::kInt64);
  const Tensor lengths = batch.target.lengths + 1;
  const Tensor states = decoder_->forward(memory, torch::cat({begin, ids}, 1), lengths, trace);
  trace.check_replacements_used();
  const Tensor places =
      (torch::arange(T).unsqueeze(0) < lengths.unsqueeze(1)).flatten().nonzero().squeeze(1);
  const Tensor right = torch::cat({ids, begin}, 1).flatten().index_select(0, places);
  return {
      .losses = decoder_->losses(states.flatten(0, 1).index_select(0, places), right, smoothing),
      .examples = places.div(T, "floor")};
}

Tensor TranslateModel::per_example(const Told& told, std::int64_t examples) const {
  const Tensor losses = told.losses.to(torch::kFloat32);
  const auto words = static_cast<double>(losses.size(0));
  return torch::zeros({examples}).index_add(0, told.examples, losses) *
         (static_cast<double>(examples) / words);
}

Tensor TranslateModel::losses(const Batch& batch, Trace& trace) {
  return per_example(tell(batch, memory(batch), smoothing_, trace), batch.size());
}

Reply TranslateModel::answer(const Batch& batch, Trace& trace) {
  const Input read = memory(batch);
  Reply reply;
  reply.predictions.resize(static_cast<std::size_t>(batch.size()));
  if ((batch.target.lengths > 0).all().item<bool>()) {
    Trace nobody;
    const Told told = tell(batch, read, 0, nobody);
    reply.losses = per_example(told, batch.size());
    for (std::int64_t i = 0; i < told.losses.size(0); ++i)
      reply.predictions[static_cast<std::size_t>(told.examples[i].item<std::int64_t>())]
          .log_probs.push_back(-told.losses[i].item<double>());
  }
  std::vector<std::int64_t> limits;
  for (std::int64_t b = 0; b < batch.size(); ++b)
    limits.push_back(10 + 2 * (read.lengths.defined() ? read.lengths[b].item<std::int64_t>()
                                                      : read.data.size(1)));
  const BeamOptions options{.width = quickly_ ? 1 : beam_,
                            .length_penalty = quickly_ ? 0 : length_penalty_,
                            .coverage_penalty = quickly_ ? 0 : coverage_penalty_,
                            .begin = kEnd,
                            .end = kEnd,
                            .never = {Vocabulary::kUnknown}};
  const auto stepper = decoder_->start(read, options.width);
  const std::vector<Written> written = beam_search(*stepper, limits, options);
  for (std::size_t b = 0; b < written.size(); ++b) {
    for (const std::int64_t word : written[b].words)
      reply.predictions[b].sequence.push_back(vocabulary_.word(word));
  }
  trace_answers(read, reply.predictions, trace);
  return reply;
}

// The answers once more, all places at once: weights are then seen, and replaced, as in training.
void TranslateModel::trace_answers(const Input& memory, const std::vector<Prediction>& predictions,
                                   Trace& trace) {
  if (!trace["decoder"].wanted()) return;
  std::vector<std::int64_t> lengths;
  for (const Prediction& prediction : predictions)
    lengths.push_back(static_cast<std::int64_t>(prediction.sequence.size()) + 1);
  Tensor previous = torch::full({static_cast<std::int64_t>(lengths.size()),
                                 *std::max_element(lengths.begin(), lengths.end())},
                                kEnd, torch::kInt64);
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    for (std::size_t t = 0; t < predictions[b].sequence.size(); ++t)
      previous[static_cast<std::int64_t>(b)][static_cast<std::int64_t>(t) + 1] =
          vocabulary_.id(predictions[b].sequence[t]);
  }
  decoder_->forward(memory, previous, torch::tensor(lengths, torch::kInt64), trace);
}

}  // namespace heed
