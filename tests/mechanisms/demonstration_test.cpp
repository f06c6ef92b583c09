// Each mechanism learns a small task made for what it is for, and mean pooling does not.
#include <gtest/gtest.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adam.h>

#include "mechanisms/tasks.hpp"

namespace heed {
namespace {

/// The mechanism, or the mean of every input beside the query, under a linear output.
class Classifier : public torch::nn::Module {
 public:
  Classifier(const Task& task, bool mean_pool) {
    std::int64_t width = 0;
    const auto add = [&](const AttentionSpec& parts,
                         const std::vector<MechanismProblem::NamedWidth>& inputs) {
      modules_.push_back(register_module(std::to_string(modules_.size()),
                                         make_mechanism({.parts = parts,
                                                         .options = {},
                                                         .inputs = inputs,
                                                         .query_dim = task.query_dim,
                                                         .classes = Task::kClasses})));
      width += modules_.back()->output_dim();
    };
    if (!mean_pool) {
      add(task.parts, task.inputs);
    } else {
      for (const auto& input : task.inputs) add({.mechanism = "mean-pool"}, {input});
      width += query_ = task.query_dim;
    }
    if (!modules_.front()->gives_logits())
      output_ = register_module("output", torch::nn::Linear(width, Task::kClasses));
  }

  Tensor forward(const TaskBatch& batch, Trace& trace) {
    std::vector<Tensor> contexts;
    for (auto& module : modules_) contexts.push_back(module->forward(batch.in, trace));
    if (query_ > 0) contexts.push_back(batch.in.query);
    const Tensor context = torch::cat(contexts, -1);
    return output_ ? output_->forward(context) : context;
  }

 private:
  std::vector<std::shared_ptr<Mechanism>> modules_;
  std::int64_t query_ = 0;
  torch::nn::Linear output_{nullptr};
};

struct Effort {
  int steps = 300;
  double lr = 0.03;
};

/// Accuracy on 500 fresh examples after training on fresh batches.
double learn(const Task& task, std::uint64_t seed, const Effort& effort, bool mean_pool = false) {
  torch::set_num_threads(1);
  torch::manual_seed(seed);
  Random random(seed);
  Classifier model(task, mean_pool);
  torch::optim::Adam adam(model.parameters(), torch::optim::AdamOptions(effort.lr));
  for (int step = 0; step < effort.steps; ++step) {
    const TaskBatch batch = task.batch(64, random);
    Trace trace;
    Tensor loss = torch::cross_entropy_loss(model.forward(batch, trace), batch.labels);
    for (const LossTerm& term : trace.losses()) loss = loss + term.value(batch.labels);
    adam.zero_grad();
    loss.backward();
    adam.step();
  }
  model.eval();
  torch::NoGradGuard fixed;
  const TaskBatch test = task.batch(500, random);
  Trace quiet;
  return model.forward(test, quiet)
      .argmax(1)
      .eq(test.labels)
      .to(torch::kFloat64)
      .mean()
      .item<double>();
}

void expect_better(const Task& task, double at_least, const Effort& effort = {}) {
  for (const std::uint64_t seed : {1, 2}) {
    const double ours = learn(task, seed, effort), mean = learn(task, seed, effort, true);
    EXPECT_GE(ours, at_least) << task.name << ", seed " << seed;
    EXPECT_GE(ours, mean + 0.2) << task.name << ", seed " << seed;
  }
}

TEST(Demonstration, ThreeHopsAnswerInTwoStepsAndOneHopCannot) {
  const auto hops = [](std::int64_t n) {
    return two_step_question({"multi-hop", {{"hops", n}, {"update", "linear"}}});
  };
  for (const std::uint64_t seed : {1, 2}) {
    const double three = learn(hops(3), seed, {}), one = learn(hops(1), seed, {});
    EXPECT_GE(three, one + 0.2);
  }
}

// The least of seeds 1 to 6: 0.99 and more, but 0.87 for the trilinear maximum, 0.95 for the
// bilinear one and 0.76 for hierarchical without an encoder; three hops 0.73 against 0.26 for one.
// Mean pooling is at most 0.54 with two embeddings and 0.29 elsewhere; a guess is right in 0.25.
TEST(Demonstration, Capsule) { expect_better(yes_of_one_class(), 0.9); }
TEST(Demonstration, ViaAttention) { expect_better(word_then_character(), 0.9); }
TEST(Demonstration, MetaEmbedding) { expect_better(embedding_that_knows(), 0.9); }
TEST(Demonstration, Rotatory) { expect_better(opinion_on_target(), 0.9); }
TEST(Demonstration, CoAlternating) { expect_better(salient_then_matched(), 0.9); }
TEST(Demonstration, CoInteractive) { expect_better(topic_then_matched(), 0.9); }
TEST(Demonstration, CoParallelByMaximum) {
  expect_better(name_in_both("bilinear", "max"), 0.65, {.lr = 0.1});
}
TEST(Demonstration, CoParallelByTrilinearMaximum) {
  expect_better(name_in_both("trilinear", "max"), 0.65, {.lr = 0.1});
}
TEST(Demonstration, CoParallelByAttending) {
  expect_better(name_in_both("bilinear", "attend"), 0.9);
}
TEST(Demonstration, Hierarchical) { expect_better(marked_sentence("none"), 0.65); }
TEST(Demonstration, HierarchicalWithAnEncoder) {
  expect_better(marked_sentence("bigru"), 0.9, {.steps = 200});
}

}  // namespace
}  // namespace heed
