#include "heed/attention/trace.hpp"

#include "heed/base/error.hpp"
#include "heed/base/words.hpp"

namespace heed {

Tensor TraceMap::entry(std::int64_t b) const {
  Tensor result = weights.select(0, b);
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const Tensor& lengths = axes[axis] == "key" ? key_lengths : query_lengths;
    if ((axes[axis] != "key" && axes[axis] != "query") || !lengths.defined()) continue;
    result = result.narrow(static_cast<std::int64_t>(axis), 0, lengths[b].item<std::int64_t>());
  }
  return result;
}

bool TraceSlot::wanted() const { return trace_->recording_; }

bool TraceSlot::differentiable() const { return trace_->differentiable_; }

void TraceSlot::record(TraceMap map) const {
  if (!trace_->recording_) return;
  if (view_) map = view_->outward(std::move(map));
  map.name = name_;
  if (!trace_->differentiable_) {
    map.weights = map.weights.detach();
    if (map.features.defined()) map.features = map.features.detach();
  }
  trace_->maps_.push_back(std::move(map));
}

Tensor TraceSlot::replacement() const {
  trace_->seen_.insert(name_);
  const auto given = trace_->replacements_.find(name_);
  if (given == trace_->replacements_.end()) return {};
  return view_ ? view_->inward(given->second) : given->second;
}

void TraceSlot::add(LossTerm term) const {
  term.name = name_ + "/" + term.name;
  trace_->losses_.push_back(std::move(term));
}

void TraceSlot::add(Choice choice) const {
  choice.name = name_;
  if (view_) {
    choice.logp = view_->entries(choice.logp);
    if (choice.entropy.defined()) choice.entropy = view_->entries(choice.entropy);
  }
  trace_->choices_.push_back(std::move(choice));
}

Trace Trace::recording() {
  Trace trace;
  trace.recording_ = true;
  return trace;
}

Trace Trace::differentiable() {
  Trace trace = recording();
  trace.differentiable_ = true;
  return trace;
}

void Trace::replace(const std::string& name, Tensor weights) {
  replacements_[name] = std::move(weights);
}

const TraceMap& Trace::map(const std::string& name) const {
  std::vector<std::string> names;
  for (const TraceMap& map : maps_) {
    if (map.name == name) return map;
    names.push_back(map.name);
  }
  throw InputError(fmt::format("trace: no map '{}'{}", name, suggestion(name, names)));
}

void Trace::check_replacements_used() const {
  const std::vector<std::string> names(seen_.begin(), seen_.end());
  for (const auto& [name, weights] : replacements_) {
    HEED_CHECK(seen_.contains(name),
               "trace: weights were given for '{}', which is no attention module of this model{}",
               name, suggestion(name, names));
  }
}

}  // namespace heed
