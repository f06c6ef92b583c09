#include "heed/mechanisms/mechanism.hpp"

#include "heed/base/error.hpp"
#include "heed/base/words.hpp"
#include "mechanisms/parts.hpp"
#include "mechanisms/pool.hpp"

namespace heed {
namespace {

using NamedWidth = MechanismProblem::NamedWidth;

std::string in_words(const std::vector<InputNeed>& needs) {
  std::vector<std::string> words;
  for (const InputNeed& need : needs) {
    const std::string what = need.more           ? "one input or more"
                             : need.name.empty() ? (words.empty() ? "an input" : "another input")
                                                 : "'" + need.name + "'";
    words.push_back(what + (need.levels ? " in levels (words in sentences …)" : ""));
  }
  return join(words, ", ");
}

std::string in_words(const std::vector<NamedWidth>& inputs) {
  std::vector<std::string> words;
  for (const NamedWidth& input : inputs)
    words.push_back("'" + input.name + "'" +
                    (input.levels > 0 ? fmt::format(" in {} levels", input.levels) : ""));
  return inputs.empty() ? "nothing" : join(words, ", ");
}

/// The inputs an entry takes, in its order. What it names goes by name, the rest by the task's
/// order; a text is never split to make an input that is not there.
std::vector<NamedWidth> choose_inputs(const PartInfo& info, const std::vector<NamedWidth>& given) {
  std::vector<NamedWidth> left = given, chosen;
  const auto missing = [&] {
    return InputError(fmt::format("mechanism '{}': it takes {}; the task gives {}", info.id,
                                  in_words(info.takes), in_words(given)));
  };
  // Named ones leave the order first.
  std::vector<NamedWidth> named;
  for (const InputNeed& need : info.takes) {
    if (need.name.empty()) continue;
    const auto found = std::find_if(left.begin(), left.end(),
                                    [&](const NamedWidth& x) { return x.name == need.name; });
    if (found == left.end()) throw missing();
    named.push_back(*found);
    left.erase(found);
  }
  for (const InputNeed& need : info.takes) {
    std::vector<NamedWidth>& from = need.name.empty() ? left : named;
    if (from.empty() || (need.levels && from.front().levels == 0)) throw missing();
    do {
      chosen.push_back(from.front());
      from.erase(from.begin());
    } while (need.more && !from.empty());
  }
  return chosen;
}

}  // namespace

void Inputs::set(const std::string& name, Tensor data, Tensor lengths,
                 std::vector<Segments> levels) {
  inputs_[name] = {.data = std::move(data),
                   .lengths = std::move(lengths),
                   .name = name,
                   .levels = std::move(levels)};
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

std::vector<std::string> taken_inputs(const AttentionSpec& parts,
                                      const std::vector<NamedWidth>& given) {
  std::vector<std::string> names;
  for (const NamedWidth& input :
       choose_inputs(mechanism_parts().find_built(Group::mechanism, parts.mechanism.id), given))
    names.push_back(input.name);
  return names;
}

std::shared_ptr<Mechanism> make_mechanism(MechanismProblem problem) {
  const Registry& parts = mechanism_parts();
  const PartInfo& info = parts.find_built(Group::mechanism, problem.parts.mechanism.id);
  const PartInfo& queries = parts.find_built(Group::queries, problem.parts.queries.id);
  parts.find_built(Group::position, problem.parts.position.id);
  problem.options = resolve(info, problem.parts.mechanism.options, "mechanism");
  problem.inputs = choose_inputs(info, problem.inputs);
  const MakeMechanism& make = std::get<MakeMechanism>(info.make);
  return queries.id == "capsule" ? make_capsules(make, problem) : make(problem);
}

}  // namespace heed
