#pragma once
#include "heed/attention/position.hpp"

namespace heed {

/// i + offset − j of an asking's queries and keys, [B or 1, 1, Q, K]; without the heads axis where
/// the tensors have none. InputError if the queries have no place among the keys.
Tensor distances(const std::string& position, const Asking& asking);

/// InputError if the score is no plain product of query and key.
void check_dot(const std::string& position, const PositionProblem& problem);

/// True if the queries are a sequence of the same input as the keys.
bool asks_itself(const Asking& asking);

}  // namespace heed
