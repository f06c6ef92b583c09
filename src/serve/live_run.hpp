#pragma once
#include <optional>

#include "heed/models/task_model.hpp"
#include "serve/run.hpp"

namespace heed::serve {

/// A trained run that answers requests.
class LiveRun : public Run {
 public:
  LiveRun(const std::filesystem::path& folder, std::string name, std::size_t max_tokens);

  const std::string& name() const override { return name_; }
  const nlohmann::ordered_json& description() const override { return description_; }

  /// A line as in traces.jsonl, with all digits, of what the model says after the edits; when there
  /// are any, also `without`, what it says without them; when a map is too large to be sent, its
  /// name in `left_out`.
  nlohmann::ordered_json predict(const PredictRequest& request) override;

 private:
  Example example_of(const PredictRequest& request);
  Prediction ask(const Example& example,
                 const std::map<std::string, Tensor>& replacements = {}) const;

  std::filesystem::path folder_;
  std::string name_;
  std::size_t max_tokens_;
  LoadedRun run_;
  bool editable_;
  std::optional<std::vector<Example>> test_;  // read when an example is asked for by its id
  nlohmann::ordered_json description_;
};

}  // namespace heed::serve
