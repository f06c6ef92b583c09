#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "serve/request.hpp"

namespace heed::serve {

/// Something that answers requests. `predict` is for one thread, the others for any.
class Run {
 public:
  virtual ~Run() = default;

  virtual const std::string& name() const = 0;
  /// What a client must know to ask: {name, kind, inputs, labels, mechanism, parts, maps, editable,
  /// examples}.
  virtual const nlohmann::ordered_json& description() const = 0;
  /// The answer; InputError for a request that makes no sense here.
  virtual nlohmann::ordered_json predict(const PredictRequest& request) = 0;
};

}  // namespace heed::serve
