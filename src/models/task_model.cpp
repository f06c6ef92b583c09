#include "heed/models/task_model.hpp"

#include "heed/base/error.hpp"
#include "heed/models/feature.hpp"
#include "heed/models/graph_model.hpp"
#include "heed/models/label_model.hpp"
#include "heed/models/number_model.hpp"
#include "heed/models/point_model.hpp"
#include "heed/models/recommend_model.hpp"
#include "heed/models/transfer_model.hpp"
#include "heed/models/translate_model.hpp"
#include "models/parts.hpp"
#include "models/pictures.hpp"

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
      {"answer", makes_model<LabelModel>},        {"aspect", makes_model<LabelModel>},
      {"classify", makes_model<LabelModel>},      {"count", makes_model<NumberModel>},
      {"document", makes_model<LabelModel>},      {"graph", makes_model<GraphModel>},
      {"image", makes_model<LabelModel>},         {"pair", makes_model<LabelModel>},
      {"point", makes_model<PointModel>},         {"recommend", makes_model<RecommendModel>},
      {"translate", makes_model<TranslateModel>},
  };
  return makers;
}

}  // namespace

std::shared_ptr<TaskModel> make_task_model(const Config& config, const DataInfo& info) {
  const auto found = model_makers().find(config.task.source.kind);
  HEED_CHECK(found != model_makers().end(), "there is no model for tasks of kind '{}' yet",
             config.task.source.kind);
  HEED_CHECK(config.output.id != "memory" || config.task.source.kind == "recommend",
             "output 'memory' is for tasks of kind 'recommend', not '{}'", config.task.source.kind);
  const auto sampled = config.output.options.find("sampled");
  HEED_CHECK(sampled == config.output.options.end() || config.task.source.kind == "recommend" ||
                 std::get<std::int64_t>(sampled->second) == 0,
             "output 'softmax': sampled is for tasks of kind 'recommend'");
  if (found->second == &makes_model<LabelModel> && !config.task.source.source.empty())
    return makes_model<TransferModel>(config, info);
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
    for (PartInfo& part : picture_models()) table.push_back(std::move(part));
    table.push_back(transformer_feature());
    for (PartInfo& part : output_models()) table.push_back(std::move(part));
    return Registry(mechanism_parts(), std::move(table));
  }();
  return all;
}

}  // namespace heed
