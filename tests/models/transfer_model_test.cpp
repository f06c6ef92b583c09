#include "heed/models/transfer_model.hpp"

#include <gtest/gtest.h>

#include "heed/base/error.hpp"

namespace heed {
namespace {

Config two_domains() {
  Config config;
  config.task.source.source = "elsewhere.tsv";
  config.feature = {.model = "embedding", .dim = 8, .dropout = 0};
  return config;
}

DataInfo known_words() {
  std::vector<std::string> words;
  for (int i = 2; i < 20; ++i) words.push_back("w" + std::to_string(i));
  return {.labels = {"negative", "positive"}, .vocabulary = Vocabulary(words)};
}

/// Words 3 … of each row; its last has no label.
Batch mixed_batch(std::vector<std::int64_t> labels) {
  const auto rows = static_cast<std::int64_t>(labels.size());
  Batch batch{.labels = torch::tensor(labels)};
  for (std::int64_t row = 0; row < rows; ++row)
    batch.indices.push_back(static_cast<std::size_t>(row));
  batch.inputs["text"] = {.ids = torch::arange(3, 3 + 3 * rows).view({rows, 3}),
                          .lengths = torch::full({rows}, 3)};
  return batch;
}

std::shared_ptr<TaskModel> model_with(double reversal) {
  torch::manual_seed(4);
  Config config = two_domains();
  config.train.reversal = reversal;
  return make_task_model(config, known_words());
}

/// The gradient that the words' vectors get from the loss of rows without a label, which is that of
/// the domains alone.
Tensor domain_gradient(double reversal) {
  const std::shared_ptr<TaskModel> model = model_with(reversal);
  Trace trace;
  Batch batch = mixed_batch({1, Batch::kNoLabel});
  model->losses(batch, trace)[1].backward();
  for (const auto& item : model->named_parameters()) {
    if (item.key().starts_with("encoder") && item.value().grad().defined())
      return item.value().grad().clone();
  }
  return {};
}

TEST(TransferModel, IsWhatATaskWithASourceGets) {
  EXPECT_TRUE(std::dynamic_pointer_cast<TransferModel>(model_with(0.1)));
}

TEST(TransferModel, ReversalScalesWhatReachesTheFeatures) {
  const Tensor one = domain_gradient(1), half = domain_gradient(0.5), none = domain_gradient(0);
  ASSERT_GT(one.abs().max().item<float>(), 1e-4f);
  EXPECT_TRUE(torch::allclose(half * 2, one, 1e-4, 1e-7));
  EXPECT_EQ(none.abs().max().item<float>(), 0.0f);
}

TEST(TransferModel, AStepDownTheLossMakesTheSharedDomainsHarderToTell) {
  const std::shared_ptr<TaskModel> model = model_with(1);
  const Batch batch = mixed_batch({0, 1, Batch::kNoLabel, Batch::kNoLabel});
  const auto parameters = model->named_parameters();
  // Only the attention that is shared learns here: its query moves against its domain's loss.
  const Tensor query = parameters["query"];
  Trace trace;
  model->losses(batch, trace).mean().backward();
  const Tensor reversed = query.grad().clone();
  query.mutable_grad() = Tensor();
  const std::shared_ptr<TaskModel> plain = model_with(-1);  // the same, not reversed
  Trace other;
  plain->losses(batch, other).mean().backward();
  const Tensor straight = plain->named_parameters()["query"].grad();
  const Tensor task = (reversed + straight) / 2;
  EXPECT_FALSE(torch::allclose(reversed, task, 1e-3, 1e-6));
  EXPECT_TRUE(torch::allclose(reversed - task, task - straight, 1e-4, 1e-6));
}

TEST(TransferModel, ABatchWithoutLabelsTeachesTheDomainAlone) {
  const std::shared_ptr<TaskModel> model = model_with(0.1);
  Batch batch = mixed_batch({Batch::kNoLabel, Batch::kNoLabel});
  batch.labels = Tensor();
  Trace trace;
  model->losses(batch, trace).mean().backward();
  const auto parameters = model->named_parameters();
  const Tensor output = parameters["output.weight"].grad();
  EXPECT_TRUE(!output.defined() || output.abs().max().item<float>() == 0.0f);
  EXPECT_GT(parameters["own_domain.weight"].grad().abs().max().item<float>(), 0.0f);
}

TEST(TransferModel, BothAttentionsAreInTheTrace) {
  const std::shared_ptr<TaskModel> model = model_with(0.1);
  model->eval();
  torch::NoGradGuard no_grad;
  Trace trace = Trace::recording();
  const Reply reply = model->answer(mixed_batch({0, Batch::kNoLabel}), trace);
  EXPECT_FALSE(reply.losses.defined()) << "not every answer is known";
  EXPECT_EQ(trace.map("attention").weights.size(-1), 3);
  EXPECT_EQ(trace.map("own/attention").weights.size(-1), 3);
}

}  // namespace
}  // namespace heed
