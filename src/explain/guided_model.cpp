#include "explain/guided_model.hpp"

#include <algorithm>

#include "heed/base/error.hpp"
#include "heed/explain/distance.hpp"

namespace heed::explain {
namespace {

const TraceMap& map_named(const std::vector<TraceMap>& maps, const std::string& name) {
  const auto found =
      std::ranges::find_if(maps, [&](const TraceMap& map) { return map.name == name; });
  HEED_CHECK(found != maps.end(), "explain: the other model has no attention module '{}'", name);
  return *found;
}

/// [B] KL(own ‖ other), mean over the rows of a map.
Tensor divergence_of(const TraceMap& own, const TraceMap& other) {
  return divergence(given(own), given(other), 3).flatten(1).mean(1);
}

}  // namespace

Tensor GuidedModel::forward(const Batch& batch, Trace& trace) {
  const Inputs seen = features(batch, trace);
  Trace looking = Trace::recording();
  {
    const torch::NoGradGuard no_grad;
    logits(seen, looking);
  }
  std::vector<TraceMap> maps;
  for (const TraceMap& map : looking.maps()) {
    if (map.weights.dim() == 4) maps.push_back(map);
  }
  const std::vector<Tensor> weights = guide_(batch, maps);
  for (std::size_t i = 0; i < maps.size(); ++i) trace.replace(maps[i].name, weights[i]);
  return logits(seen, trace);
}

std::vector<Tensor> uniform_weights(const Subject& base, const Batch& batch,
                                    const std::vector<TraceMap>& maps) {
  std::vector<Tensor> result;
  for (const TraceMap& map : maps) {
    const Tensor inside = base.support(batch, map).expand_as(given(map)).to(torch::kFloat32);
    result.push_back(inside / inside.sum(3, /*keepdim=*/true).clamp_min(1));
  }
  return result;
}

std::vector<Tensor> weights_of(const Subject& base, const Batch& batch,
                               const std::vector<TraceMap>& maps) {
  const Seen seen = base.look(batch);
  std::vector<Tensor> result;
  for (const TraceMap& map : maps) result.push_back(given(map_named(seen.all, map.name)));
  return result;
}

Tensor AdversaryModel::compare(const Batch& batch) {
  const Seen seen = base_.look(batch);
  Trace trace = Trace::differentiable();
  const Tensor own = LabelModel::forward(batch, trace);
  Tensor loss = total_variation(torch::softmax(own, 1), seen.probabilities);
  for (const TraceMap& map : seen.maps)
    loss = loss - lambda_ / static_cast<double>(seen.maps.size()) *
                      divergence_of(map_named(trace.maps(), map.name), map);
  return loss;
}

Tensor AdversaryModel::losses(const Batch& batch, Trace& /*trace*/) { return compare(batch); }

Reply AdversaryModel::answer(const Batch& batch, Trace& trace) {
  Reply reply = LabelModel::answer(batch, trace);
  reply.losses = compare(batch);
  return reply;
}

}  // namespace heed::explain
