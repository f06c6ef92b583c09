#include "attention/position.hpp"

#include "attention/visibility.hpp"
#include "heed/attention/registry.hpp"
#include "heed/base/error.hpp"

namespace heed {

bool asks_itself(const Asking& asking) {
  const Tensor& query = asking.query.data;
  return query.defined() && query.dim() > 2 && asking.query.name == asking.keys.name;
}

Asking Position::mark(const Asking& asking) const {
  if (!adds()) return asking;
  Asking marked = asking;
  marked.keys.data = add(asking.keys.data);
  if (asks_itself(asking)) marked.query.data = add(asking.query.data);
  return marked;
}

Tensor distances(const std::string& position, const Asking& asking) {
  HEED_CHECK(
      asks_itself(asking),
      "position '{}': the query has no place among the keys; it needs features that ask each "
      "other (mechanism 'self-attention' or 'transformer'); 'sinusoidal' and 'learned' mark "
      "the keys alone",
      position);
  const Tensor &query = asking.query.data, &keys = asking.keys.data;
  const Tensor distance = Visibility{.B = keys.size(0),
                                     .H = 1,
                                     .Q = query.size(-2),
                                     .K = keys.size(-2),
                                     .device = keys.device(),
                                     .lengths = asking.keys.lengths,
                                     .causal = asking.causal}
                              .distance();
  return keys.dim() == 4 ? distance : distance.squeeze(1);
}

void check_dot(const std::string& position, const PositionProblem& problem) {
  HEED_CHECK(
      problem.score == "dot" || problem.score == "scaled-dot",
      "position '{}' is defined for a product of query and key, score 'dot' or 'scaled-dot', "
      "not '{}'; 'alibi' goes with every score",
      position, problem.score);
}

std::shared_ptr<Position> make_position(const PartSpec& spec, PositionProblem problem) {
  const PartInfo& info = attention_parts().find_built(Group::position, spec.id);
  problem.options = resolve(info, spec.options, "position");
  if (const auto* make = std::get_if<MakePosition>(&info.make)) return (*make)(problem);
  return std::make_shared<Position>();
}

}  // namespace heed
