// torch.classes.heed.Mechanism: a wiring with its parameters, for the modules of heed.nn.
#include <torch/custom_class.h>
#include <torch/library.h>

#include <nlohmann/json.hpp>

#include "heed/attention/registry_json.hpp"
#include "heed/base/error.hpp"
#include "heed/mechanisms/mechanism.hpp"

namespace {

using namespace heed;
using Json = nlohmann::ordered_json;
using Tensors = c10::Dict<std::string, Tensor>;

MechanismProblem problem_from(const Json& json) {
  MechanismProblem problem;
  const std::map<std::string, PartSpec*> places = {
      {"mechanism", &problem.parts.mechanism},
      {"score", &problem.parts.score},
      {"align", &problem.parts.align},
      {"queries", &problem.parts.queries},
      {"dimensionality", &problem.parts.dimensionality},
      {"position", &problem.parts.position}};
  for (const auto& [name, place] : places) *place = spec_from_json(json.at(name), name);
  problem.parts.dropout = json.at("dropout").get<double>();
  for (const auto& [name, dim] : json.at("inputs").items()) {
    problem.inputs.push_back({.name = name,
                              .dim = dim.get<std::int64_t>(),
                              .levels = json.at("levels").value(name, std::int64_t{0})});
  }
  problem.query_dim = json.at("query_dim").get<std::int64_t>();
  problem.classes = json.at("classes").get<std::int64_t>();
  problem.relations = json.at("relations").get<std::vector<std::string>>();
  return problem;
}

/// The levels of one input: "text/0/sizes", "text/0/lengths", "text/1/sizes" …
std::vector<Segments> levels_of(const std::string& input, const Tensors& tensors) {
  std::vector<Segments> levels;
  const auto find = [&](const char* what) {
    const auto at = tensors.find(fmt::format("{}/{}/{}", input, levels.size(), what));
    return at == tensors.end() ? Tensor() : at->value();
  };
  for (Tensor sizes = find("sizes"); sizes.defined(); sizes = find("sizes"))
    levels.push_back({.sizes = sizes, .lengths = find("lengths")});
  return levels;
}

/// Python holds the same tensors as the module here, so that what an optimiser does is seen.
class MechanismHolder : public torch::CustomClassHolder {
 public:
  explicit MechanismHolder(const std::string& spec) try
      : mechanism_(make_mechanism(problem_from(Json::parse(spec)))) {
  } catch (const InputError& error) {
    TORCH_CHECK_VALUE(false, error.what());
  }

  Tensors parameters() const {
    Tensors result;
    for (const auto& item : mechanism_->named_parameters()) result.insert(item.key(), item.value());
    return result;
  }

  Tensors buffers() const {
    Tensors result;
    for (const auto& item : mechanism_->named_buffers()) result.insert(item.key(), item.value());
    return result;
  }

  void train(bool on) { mechanism_->train(on); }
  std::int64_t output_dim() const { return mechanism_->output_dim(); }
  bool uses_query() const { return mechanism_->uses_query(); }

  /// The context, the weights of each module by name where wanted, and the extra loss terms.
  std::tuple<Tensor, Tensors, std::vector<Tensor>> forward(
      const Tensors& inputs, const Tensors& lengths, const Tensors& levels, const Tensors& edges,
      const std::optional<Tensor>& query, const Tensors& replace,
      const std::optional<Tensor>& labels, bool want_weights) try {
    Inputs in;
    for (const auto& item : inputs) {
      in.set(item.key(), item.value(),
             lengths.contains(item.key()) ? lengths.at(item.key()) : Tensor(),
             levels_of(item.key(), levels));
    }
    for (const auto& item : edges) in.set_edges(item.key(), item.value());
    in.query = query.value_or(Tensor());
    Trace trace = want_weights ? Trace::recording() : Trace();
    for (const auto& item : replace) trace.replace(item.key(), item.value());
    const Tensor context = mechanism_->forward(in, trace);
    trace.check_replacements_used();
    Tensors maps;
    for (const TraceMap& map : trace.maps()) maps.insert(map.name, map.weights);
    std::vector<Tensor> losses;
    for (const LossTerm& term : trace.losses())
      losses.push_back(term.value(labels.value_or(Tensor())));
    return {context, maps, losses};
  } catch (const InputError& error) {
    TORCH_CHECK_VALUE(false, error.what());
  }

 private:
  std::shared_ptr<Mechanism> mechanism_;
};

}  // namespace

TORCH_LIBRARY_FRAGMENT(heed, library) {
  library.class_<MechanismHolder>("Mechanism")
      .def(torch::init<std::string>())
      .def("parameters", &MechanismHolder::parameters)
      .def("buffers", &MechanismHolder::buffers)
      .def("train", &MechanismHolder::train)
      .def("output_dim", &MechanismHolder::output_dim)
      .def("uses_query", &MechanismHolder::uses_query)
      .def("forward", &MechanismHolder::forward);
}
