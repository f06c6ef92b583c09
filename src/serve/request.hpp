#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace heed::serve {

using Positions = std::map<std::string, std::vector<std::size_t>>;  // of an input, from 0

/// The body of POST /api/predict.
struct PredictRequest {
  std::string run;
  std::map<std::string, std::string> fields;  // what is asked about, or
  std::string id;                             // which example of the test part
  Positions drop, mask;
  nlohmann::json replace = nlohmann::json::object();  // map → weights; see edits.hpp
  bool normalise = false;

  bool edits_weights() const { return !mask.empty() || !replace.empty(); }
  bool edits() const { return !drop.empty() || edits_weights(); }
};

/// InputError, which says what is wrong and what is needed, for anything but such a body.
PredictRequest parse_request(std::string_view body);

}  // namespace heed::serve
