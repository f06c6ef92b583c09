#include "heed/models/encoder.hpp"

#include <algorithm>

#include "heed/base/error.hpp"
#include "heed/models/task_model.hpp"
#include "models/autocast.hpp"
#include "models/sentences.hpp"

namespace heed {
namespace {

std::shared_ptr<VectorModel> make_vectors(const Config& config, const DataInfo& info,
                                          const InputInfo& input) {
  const PartInfo& part = registry().find_built(Group::vectors, config.feature.vectors.id);
  const std::int64_t dim =
      config.feature.embedding > 0 ? config.feature.embedding : config.feature.dim;
  return std::get<MakeVectors>(part.make)(
      {.config = config,
       .info = info,
       .input = input,
       .dim = dim,
       .options = resolve(part, config.feature.vectors.options, "vectors")});
}

std::shared_ptr<FeatureModel> make_feature(const Config::Feature& feature, std::int64_t input) {
  const PartInfo& part = registry().find_built(Group::feature, feature.model.id);
  return std::get<MakeFeature>(part.make)(
      {.input = input,
       .dim = feature.dim,
       .layers = feature.layers,
       .dropout = feature.dropout,
       .options = resolve(part, feature.model.options, "feature")});
}

/// The words of an input or a view in each entry.
std::vector<std::vector<std::string>> words_of(const Batch& batch, const std::string& name) {
  const auto view = batch.views.find(name);
  if (view == batch.views.end()) return batch.inputs.at(name).tokens;
  std::vector<std::vector<std::string>> words;
  const auto& tokens = batch.inputs.at(view->second.of).tokens;
  for (std::size_t b = 0; b < tokens.size(); ++b) {
    const auto entry = static_cast<std::int64_t>(b);
    const auto first = tokens[b].begin() + view->second.starts[entry].item<std::int64_t>();
    words.emplace_back(first, first + view->second.lengths[entry].item<std::int64_t>());
  }
  return words;
}

/// The positions of a view: [B, L, D] → [B, longest view, D].
Input cut(const Input& whole, const PaddedView& view) {
  const std::int64_t B = whole.data.size(0), D = whole.data.size(2);
  const std::int64_t longest = view.lengths.max().item<std::int64_t>();
  const Tensor last = torch::tensor(std::max<std::int64_t>(0, whole.data.size(1) - 1));
  const Tensor places =
      torch::minimum(view.starts.unsqueeze(1) + torch::arange(longest).unsqueeze(0), last);
  return {.data = whole.data.gather(1, places.unsqueeze(-1).expand({B, longest, D})),
          .lengths = view.lengths,
          .name = ""};
}

/// A vector for how long ago each sentence was; the oldest share one. After a sentence, with
/// probability `noise`, an empty one has passed as well.
Tensor ages_of(const Input& x, const Tensor& ages, double noise) {
  const std::int64_t S = x.data.size(1);
  const Tensor last = x.lengths.defined() ? x.lengths - 1 : torch::tensor({S - 1});
  Tensor age = (last.unsqueeze(1) - torch::arange(S).unsqueeze(0));
  if (noise > 0) {
    const Tensor passed = (torch::rand({x.data.size(0), S}) < noise).logical_and(age >= 0);
    age = age + passed.to(torch::kInt64).flip(1).cumsum(1).flip(1);
  }
  return torch::embedding(ages, age.clamp(0, ages.size(0) - 1));
}

}  // namespace

EncoderImpl::EncoderImpl(const Config& config, const DataInfo& info, std::vector<std::string> names)
    : names_(std::move(names)),
      pool_(config.feature.pool),
      across_(config.feature.across),
      dropout_(config.feature.dropout),
      time_noise_(config.feature.time_noise),
      half_(config.train.precision == "bfloat16") {
  std::int64_t width = 0;
  for (const InputInfo& input : info.inputs) {
    if (std::ranges::find(names_, input.name) == names_.end()) continue;
    std::shared_ptr<VectorModel>& vectors = input.width > 0 ? numbers_[input.name] : words_;
    if (!vectors) {
      vectors = register_module(input.width > 0 ? "numbers_" + input.name : "words",
                                make_vectors(config, info, input));
    }
    HEED_CHECK(width == 0 || width == vectors->output_dim(),
               "vectors '{}': its inputs are {} and {} wide; all must agree",
               config.feature.vectors.id, width, vectors->output_dim());
    width = vectors->output_dim();
    if (config.feature.shared && shared_) continue;
    auto feature = register_module(config.feature.shared ? "feature" : "feature_" + input.name,
                                   make_feature(config.feature, width));
    dim_ = feature->output_dim();
    if (config.feature.shared) {
      shared_ = feature;
    } else {
      features_[input.name] = feature;
    }
  }
  if (config.feature.time > 0) {
    HEED_CHECK(pool_ != "none", "feature.time: it tells sentences apart; set feature.pool too");
    ages_ = register_parameter("ages", torch::randn({config.feature.time, dim_}).mul_(0.1));
  }
  HEED_CHECK(dim_ > 0, "model: the data has none of the inputs that are needed");
}

FeatureModel& EncoderImpl::feature_of(const std::string& name) {
  return shared_ ? *shared_ : *features_.at(name);
}

Input EncoderImpl::vectors(const Batch& batch, const std::string& name) {
  const auto input = batch.inputs.find(name);
  HEED_CHECK(input != batch.inputs.end(), "model: the batch has no input '{}'", name);
  const auto numbers = numbers_.find(name);
  VectorModel& model = *(numbers == numbers_.end() ? words_ : numbers->second);
  const std::string partner = model.partner();
  const bool alone = partner.empty() || partner == name;
  Input vectors =
      alone ? model.forward(input->second) : model.forward(input->second, words_of(batch, partner));
  vectors.data = torch::dropout(vectors.data, dropout_, is_training());
  if (!vectors.levels.empty()) return vectors;  // it has other positions than the data
  for (const auto& [sizes, counts] : input->second.levels)
    vectors.levels.push_back({.sizes = sizes, .lengths = counts});
  return vectors;
}

Inputs EncoderImpl::forward(const Batch& batch, Trace& trace) {
  const Autocast precision(half_ && is_training());
  std::map<std::string, Input> whole;  // each input is read once, however many views it has
  const auto read = [&](const std::string& name) -> const Input& {
    const auto found = whole.find(name);
    if (found != whole.end()) return found->second;
    Input& x = whole.emplace(name, vectors(batch, name)).first->second;
    if (const Tensor given = trace["vectors/" + name].replacement(); given.defined()) {
      HEED_CHECK(given.sizes() == x.data.sizes(), "vectors of '{}': {} were given for {}", name,
                 shape_text(given), shape_text(x.data));
      x.data = given;
    }
    return x;
  };
  Inputs inputs;
  for (const std::string& name : names_) {
    const auto view = batch.views.find(name);
    Input x = view == batch.views.end() ? read(name) : cut(read(view->second.of), view->second);
    x.name = name;
    FeatureModel& feature = feature_of(name);
    const auto encode = [&](const Input& part) { return feature.forward(part); };
    x.data = (across_ ? encode(x) : encode_sentences(x, encode)).to(torch::kFloat32);
    if (pool_ != "none") {
      const bool several = !x.levels.empty();
      x = pool_sentences(x, pool_);
      if (several && ages_.defined())
        x.data = x.data + ages_of(x, ages_, is_training() ? time_noise_ : 0);
    }
    inputs.set(name, x.data, x.lengths, x.levels);
  }
  return inputs;
}

std::vector<MechanismProblem::NamedWidth> named_widths(const DataInfo& info, std::int64_t dim,
                                                       bool pooled) {
  std::vector<MechanismProblem::NamedWidth> widths;
  for (const InputInfo& input : info.inputs)
    widths.push_back(
        {.name = input.name,
         .dim = dim,
         .levels = pooled ? std::max<std::int64_t>(0, input.levels - 1) : input.levels});
  return widths;
}

}  // namespace heed
