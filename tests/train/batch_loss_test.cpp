#include "train/batch_loss.hpp"

#include <gtest/gtest.h>

namespace heed {
namespace {

using Indices = BatchLoss::Indices;

/// Gradients of one batch of eight, learned from in the given pieces of its places.
std::map<std::string, Tensor> gradients(const Config& config, const std::vector<Indices>& pieces,
                                        double& loss) {
  torch::manual_seed(1);
  Dataset data = load_dataset(config.task.source);
  LoadedRun run;
  run.config = config;
  run.info = data_info(config, data);
  data.train = run.info.seen(std::move(data.train));
  run.model = make_task_model(config, run.info);
  ExampleShare examples(dist::alone());
  examples.take(std::move(data.train), data.train_held, *run.model);
  const Indices batch = {0, 1, 2, 3, 4, 5, 6, 7};
  examples.deal({batch});
  BatchLoss learner(run, examples, dist::alone());
  loss = 0;
  for (const Indices& piece : pieces) loss += learner.learn(piece, batch, 2);
  std::map<std::string, Tensor> found;
  for (const auto& each : run.model->named_parameters()) {
    if (each.value().grad().defined()) found[each.key()] = each.value().grad().clone();
  }
  return found;
}

void expect_same_in_pieces(const Config& config) {
  double whole_loss = 0, loss = 0;
  const auto whole = gradients(config, {{0, 1, 2, 3, 4, 5, 6, 7}}, whole_loss);
  const auto cut = gradients(config, {{3, 1, 2}, {0}, {7, 6, 5, 4}}, loss);
  ASSERT_GT(whole.size(), 3u);
  ASSERT_EQ(cut.size(), whole.size());
  EXPECT_NEAR(loss, whole_loss, 1e-5 * whole_loss);
  // Float32 sums in another order.
  for (const auto& [name, gradient] : whole) {
    const double most = gradient.abs().max().item<double>();
    EXPECT_LE((cut.at(name) - gradient).abs().max().item<double>(), 1e-5 * most + 1e-8) << name;
  }
}

Config config_of(const std::string& kind, const std::string& data) {
  Config config;
  config.task.source.kind = kind;
  config.task.source.data = data;
  config.feature.dim = 8;
  config.feature.dropout = config.output_dropout = 0;
  return config;
}

TEST(BatchLoss, InPiecesHasTheGradientsOfTheWholeBatch) {
  expect_same_in_pieces(config_of("classify", "builtin:reviews?size=40"));
}

TEST(BatchLoss, InPiecesWeighsWordsOfTranslationsAlike) {
  Config config = config_of("translate", "builtin:translate?size=40");
  config.output.id = "gru";
  expect_same_in_pieces(config);
}

TEST(BatchLoss, InPiecesIsSupervisedAlike) {
  Config config = config_of("classify", "builtin:reviews?size=40");
  config.train.supervise = 0.5;
  expect_same_in_pieces(config);
}

}  // namespace
}  // namespace heed
