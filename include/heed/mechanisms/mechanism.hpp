#pragma once
#include <map>
#include <string>
#include <vector>

#include "heed/attention/attention.hpp"
#include "heed/attention/registry.hpp"
#include "heed/attention/spec.hpp"

namespace heed {

/// What a mechanism is made for. `inputs` are the feature inputs in the task's order; the mechanism
/// sees those it takes, in the order of its registry entry.
struct MechanismProblem {
  struct NamedWidth {
    std::string name;
    std::int64_t dim = 0;
    std::int64_t levels = 0;  // how many of Input::levels it comes with
  };
  AttentionSpec parts;
  Options options;  // of the mechanism, resolved
  std::vector<NamedWidth> inputs;
  std::int64_t query_dim = 0;                      // 0: no query
  std::int64_t classes = 0;                        // 0: the task does not classify
  std::vector<std::string> relations = {"edges"};  // kinds of edges, of graphs
};

/// Named inputs of a mechanism.
class Inputs {
 public:
  void set(const std::string& name, Tensor data, Tensor lengths = {},
           std::vector<Segments> levels = {});
  /// InputError with the nearest name when it is not there.
  const Input& operator[](const std::string& name) const;

  /// A graph over the positions of an input: [2, E] of int64, sources and targets.
  void set_edges(const std::string& relation, Tensor edges);
  /// InputError with the nearest name when it is not there.
  const Tensor& edges(const std::string& relation) const;

  /// [B, d_q], or [B, Q, d_q]; undefined: the mechanism asks with nothing. [B, M, 1, d_q]: the M
  /// queries of multi-head attention without projections.
  Tensor query;

 private:
  std::map<std::string, Input> inputs_;
  std::map<std::string, Tensor> edges_;
};

/// What attention makes of its inputs: [B, D]; of a graph [N, D], a row a node.
using Context = Tensor;

Context concat(std::initializer_list<Tensor> parts);

/// One attention module of a wiring, for `heed describe` and the diagrams.
struct WiringStep {
  std::string name;        // its slot in the trace
  std::string query;       // where its query comes from; empty: it asks with nothing
  std::string keys;        // where its keys and values come from
  std::string output;      // what the formula calls its context
  std::string score = {};  // of one that does not score as the config says
  bool beside = false;     // what it gives joins the answer, not the context
};

/// A wiring of attention modules over named inputs.
class Mechanism : public torch::nn::Module {
 public:
  virtual Context forward(const Inputs& in, Trace& trace) = 0;
  virtual std::int64_t output_dim() const = 0;
  /// False for baselines: the task model then makes no query.
  virtual bool uses_query() const { return true; }
  /// True if the features ask each other: what the query `self` names.
  virtual bool asks_itself() const { return false; }
  /// True if the context is a logit a class already: no output model follows.
  virtual bool gives_logits() const { return false; }
  /// The attention modules in the order they run, then what is made of them: a last step with no
  /// name, whose `output` is the context.
  virtual std::vector<WiringStep> wiring() const { return {}; }
};

/// How a registry entry makes an M.
template <class M>
MakeMechanism makes() {
  return [](const MechanismProblem& problem) { return std::make_shared<M>(problem); };
}

/// The query `specialised`: another input, pooled. `options` are those of the part, resolved.
Tensor specialised_query(const Options& options, const Inputs& in);

/// The inputs that `parts.mechanism` takes of those given, in its order; InputError when one is
/// missing.
std::vector<std::string> taken_inputs(const AttentionSpec& parts,
                                      const std::vector<MechanismProblem::NamedWidth>& given);

/// The module of `parts.mechanism`; InputError for what is unknown, planned or does not fit.
std::shared_ptr<Mechanism> make_mechanism(MechanismProblem problem);

/// The parts of this layer and of those below.
const Registry& mechanism_parts();

}  // namespace heed
