#pragma once
#include <string>
#include <vector>

#include "heed/explain/subject.hpp"

namespace heed::explain {

/// How much each position of the input matters, one list an example, in the examples' order.
using Importances = std::vector<std::vector<double>>;

/// A way to tell which positions matter.
struct Method {
  const char* id;
  const char* title;
  const char* formula;
  Importances (*find)(const Subject& subject, std::span<const Example> examples);
};

/// attention, gradient, gradient-norm, gradient-input, integrated-gradients, leave-one-out,
/// attention-gradient, rollout, flow: in this order.
const std::vector<Method>& methods();

/// InputError with the nearest id when there is none.
const Method& method(const std::string& id);

/// Whether the model's layers of self-attention follow each other, which `rollout` and `flow` need.
bool is_stacked(const Subject& subject, const Example& sample);

Importances attention_importance(const Subject& subject, std::span<const Example> examples);
/// Σ over classes of |∂p / ∂ one-hot of the word| = |∂p/∂x · x|, attention held as it is (Jain &
/// Wallace 2019, section 3).
Importances gradient_importance(const Subject& subject, std::span<const Example> examples);
/// Total variation between the outputs with and without the position.
Importances leave_one_out(const Subject& subject, std::span<const Example> examples);
/// Attention of stacked layers carried down to the words (Abnar & Zuidema 2020): the product of the
/// layers, and the greatest flow through them.
Importances attention_rollout(const Subject& subject, std::span<const Example> examples);
Importances attention_flow(const Subject& subject, std::span<const Example> examples);

}  // namespace heed::explain
