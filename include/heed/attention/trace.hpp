#pragma once
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "heed/attention/tensor.hpp"

namespace heed {

/// The weights of one attention module for a batch.
struct TraceMap {
  std::string name;
  std::vector<std::string> axes;  // without the batch: head, query, key
  std::string query_input;        // which input the axis counts; empty: none (a learned query)
  std::string key_input;
  Tensor weights;        // [B, axes…], detached unless the trace is differentiable
  Tensor query_lengths;  // [B]; undefined: all valid
  Tensor key_lengths;
  Tensor features = {};  // [B, axes…, D] where each feature has weights of its own; `weights` is
                         // then their mean. What `replace` takes to give the same output.

  /// The weights of one entry, cut to its lengths.
  Tensor entry(std::int64_t b) const;
};

/// A term of the training loss that a module asks for beside the task's own.
struct LossTerm {
  std::string name;
  std::function<Tensor(const Tensor& labels)> value;  // labels [B] → a scalar, already weighed
};

/// A random choice, which learns by its log-probability and a reward (REINFORCE).
struct Choice {
  std::string name;
  Tensor logp;     // [B]
  Tensor entropy;  // [B]; undefined: none
  double entropy_weight = 0;
  double baseline_decay = 0.9;  // of the moving average that the reward is held against
};

class Trace;

/// How a module that works on a batch of its own (every sentence an entry) is seen from outside.
struct TraceView {
  std::function<TraceMap(TraceMap)> outward;  // a map of the module's batch → of the caller's
  std::function<Tensor(Tensor)> inward;       // given weights, the other way
  std::function<Tensor(Tensor)> entries;      // a number for each of the module's entries → [B]
};

/// The place of one attention module in a trace.
class TraceSlot {
 public:
  TraceSlot(Trace& trace, std::string name) : trace_(&trace), name_(std::move(name)) {}

  /// A place below this one: "document/sentence".
  TraceSlot operator[](const std::string& name) const {
    TraceSlot below(*trace_, name_ + "/" + name);
    below.view_ = view_;
    return below;
  }
  /// The same place, for a module with a batch of its own.
  TraceSlot through(TraceView view) const {
    TraceSlot same(*trace_, name_);
    same.view_ = std::make_shared<const TraceView>(std::move(view));
    return same;
  }

  /// True if somebody will look: the module then has to compute its weights.
  bool wanted() const;
  /// True if somebody will differentiate what is recorded.
  bool differentiable() const;
  /// Keeps the map under this slot's name.
  void record(TraceMap map) const;
  /// The weights to use instead of the module's own; undefined: none were given.
  Tensor replacement() const;
  /// For the training loss; `name` in front becomes this slot's.
  void add(LossTerm term) const;
  void add(Choice choice) const;

 private:
  Trace* trace_;
  std::string name_;
  std::shared_ptr<const TraceView> view_;
};

/// How weights are seen and replaced. Every mechanism writes its maps here when asked; `replace`
/// makes a module use given weights, differentiably. Everything downstream reads only traces.
class Trace {
 public:
  /// Records nothing.
  Trace() = default;
  static Trace recording();
  /// Maps that keep their gradients, to learn from: attention then runs by the plain formulas.
  static Trace differentiable();

  TraceSlot operator[](const std::string& name) { return {*this, within_ + name}; }

  /// While it lives, all slots are below `name`: for a mechanism inside another.
  class Within {
   public:
    Within(Trace& trace, const std::string& name) : trace_(&trace), before_(trace.within_) {
      trace.within_ += name + "/";
    }
    ~Within() { trace_->within_ = before_; }
    Within(const Within&) = delete;
    Within& operator=(const Within&) = delete;

   private:
    Trace* trace_;
    std::string before_;
  };

  /// `weights` [B, H, Q, K], or [B, K] for one head and one query. Kept as given: the gradient
  /// flows to it.
  void replace(const std::string& name, Tensor weights);

  const std::vector<TraceMap>& maps() const { return maps_; }
  /// The map with this name; InputError with the nearest name when there is none.
  const TraceMap& map(const std::string& name) const;

  const std::vector<LossTerm>& losses() const { return losses_; }
  const std::vector<Choice>& choices() const { return choices_; }

  /// Throws InputError if a replacement named no module that ran.
  void check_replacements_used() const;

 private:
  friend class TraceSlot;

  bool recording_ = false;
  bool differentiable_ = false;
  std::string within_;
  std::vector<TraceMap> maps_;
  std::vector<LossTerm> losses_;
  std::vector<Choice> choices_;
  std::map<std::string, Tensor> replacements_;
  std::set<std::string> seen_;
};

}  // namespace heed
