#include "mechanisms/checks.hpp"

#include "heed/base/error.hpp"

namespace heed {

void check_no_align(const MechanismProblem& problem, const std::string& why) {
  HEED_CHECK(problem.parts.align.id == "soft",
             "mechanism '{}': {}; align '{}' has no place in it, leave 'soft'",
             problem.parts.mechanism.id, why, problem.parts.align.id);
  HEED_CHECK(problem.parts.dimensionality.id == "single",
             "mechanism '{}': {}, one a key; dimensionality must be 'single'",
             problem.parts.mechanism.id, why);
}

std::int64_t head_count(const MechanismProblem& problem, std::int64_t dim) {
  const PartSpec& spec = problem.parts.queries;
  const PartInfo& queries = mechanism_parts().find_built(Group::queries, spec.id);
  const std::string& mechanism = problem.parts.mechanism.id;
  if (spec.id == "singular") return 1;
  HEED_CHECK(spec.id == "multi-head",
             "mechanism '{}': queries '{}' do not go with it; 'singular' "
             "and 'multi-head' do",
             mechanism, spec.id);
  const auto heads = get<std::int64_t>(resolve(queries, spec.options, "queries"), "heads");
  HEED_CHECK(dim % heads == 0, "mechanism '{}': {} heads do not divide the width {}", mechanism,
             heads, dim);
  return heads;
}

}  // namespace heed
