#include "heed/mechanisms/mechanism.hpp"

#include "heed/base/error.hpp"
#include "heed/base/words.hpp"
#include "mechanisms/pool.hpp"

namespace heed {

void Inputs::set(const std::string& name, Tensor data, Tensor lengths) {
  inputs_[name] = {.data = std::move(data), .lengths = std::move(lengths), .name = name};
}

const Input& Inputs::operator[](const std::string& name) const {
  const auto found = inputs_.find(name);
  if (found != inputs_.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, input] : inputs_) names.push_back(known);
  throw InputError(
      fmt::format("mechanism: there is no input '{}'{}", name, suggestion(name, names)));
}

void Inputs::set_edges(const std::string& relation, Tensor edges) {
  HEED_CHECK(edges.dim() == 2 && edges.size(0) == 2 && edges.scalar_type() == torch::kInt64,
             "mechanism: edges '{}' are {} of {}; needed is 2×edges of int64, sources and targets",
             relation, shape_text(edges), torch::toString(edges.scalar_type()));
  edges_[relation] = std::move(edges);
}

const Tensor& Inputs::edges(const std::string& relation) const {
  const auto found = edges_.find(relation);
  if (found != edges_.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, tensor] : edges_) names.push_back(known);
  throw InputError(fmt::format("mechanism: there are no edges '{}'; a graph is needed{}", relation,
                               suggestion(relation, names)));
}

Context concat(std::initializer_list<Tensor> parts) {
  return torch::cat(std::vector<Tensor>(parts), -1);
}

Tensor specialised_query(const Options& options, const Inputs& in) {
  return pool(get<std::string>(options, "pool"), in[get<std::string>(options, "input")]);
}

std::shared_ptr<Mechanism> make_mechanism(MechanismProblem problem) {
  const Registry& parts = mechanism_parts();
  const PartInfo& info = parts.find_built(Group::mechanism, problem.parts.mechanism.id);
  parts.find_built(Group::queries, problem.parts.queries.id);
  parts.find_built(Group::position, problem.parts.position.id);
  problem.options = resolve(info, problem.parts.mechanism.options, "mechanism");
  HEED_CHECK(!problem.inputs.empty(), "mechanism '{}': it has no input", info.id);
  return std::get<MakeMechanism>(info.make)(problem);
}

}  // namespace heed
