#include "heed/models/task_model.hpp"

#include "heed/base/error.hpp"
#include "heed/models/feature.hpp"
#include "heed/models/label_model.hpp"

namespace heed {
namespace {

template <class Model>
std::shared_ptr<TaskModel> makes_model(const Config& config, const DataInfo& info) {
  return std::make_shared<Model>(config, info);
}

/// Which family of models answers a kind of task: one line a kind.
const auto& model_makers() {
  using Make = std::shared_ptr<TaskModel> (*)(const Config&, const DataInfo&);
  static const std::map<std::string, Make> makers = {
      {"classify", makes_model<LabelModel>},
      {"pair", makes_model<LabelModel>},
      {"aspect", makes_model<LabelModel>},
      {"document", makes_model<LabelModel>},
  };
  return makers;
}

}  // namespace

std::shared_ptr<TaskModel> make_task_model(const Config& config, const DataInfo& info) {
  const auto found = model_makers().find(config.task.source.kind);
  HEED_CHECK(found != model_makers().end(), "there is no model for tasks of kind '{}' yet",
             config.task.source.kind);
  return found->second(config, info);
}

std::int64_t TaskModel::parameter_count() const {
  std::int64_t count = 0;
  for (const Tensor& parameter : parameters()) count += parameter.numel();
  return count;
}

const Registry& registry() {
  static const Registry all = [] {
    std::vector<PartInfo> table = feature_models();
    for (PartInfo& part : vector_models()) table.push_back(std::move(part));
    table.push_back({.id = "softmax",
                     .group = Group::output,
                     .title = "Softmax classifier",
                     .formula = R"(\hat{y} = \mathrm{softmax}(W c + b))",
                     .paper = "–",
                     .advice = "one of several labels"});
    return Registry(mechanism_parts(), std::move(table));
  }();
  return all;
}

}  // namespace heed
