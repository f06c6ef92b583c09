#pragma once
#include "heed/models/task_model.hpp"
#include "serve/request.hpp"

namespace heed::serve {

/// The example without the words at these positions. InputError when nothing would be left of an
/// input, and for an input or position there is none of.
Example dropped(Example example, const Positions& drop);

/// Weights to be used instead of a model's own, by map: [1, axes…], as `Trace::replace` takes them.
using Replacements = std::map<std::string, Tensor>;

/// What the request makes of the weights in `maps`, those of the one example. Masked words get 0,
/// and what they had goes to the others of their row, in proportion. Then weights that were given
/// take their places, as one of
///   [K numbers]                              for every row of the map
///   all numbers of the map, flat or nested
///   {"row": [head, query], "weights": [K]}   or an array of these: the other rows stay
/// `shown` is the trace as it is shown (trace_json), whose names of inputs `mask` uses.
Replacements edited_weights(const PredictRequest& request, const Example& example,
                            const std::vector<TraceMap>& maps, const nlohmann::ordered_json& shown);

}  // namespace heed::serve
