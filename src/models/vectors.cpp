// Words and numbers to vectors, learned with the task.
#include <torch/nn/modules/linear.h>

#include "heed/base/error.hpp"
#include "heed/models/config.hpp"
#include "heed/models/feature.hpp"
#include "models/vectors.hpp"

namespace heed {
namespace {

/// A table of vectors, a row a word.
class TrainedVectors : public VectorModel {
 public:
  explicit TrainedVectors(const VectorsProblem& p) : dim_(p.dim) {
    const auto words = static_cast<std::int64_t>(p.info.vocabulary.size());
    table_ = register_parameter("table", torch::randn({words, dim_}).mul_(0.1));
    torch::NoGradGuard fixed;
    table_[Vocabulary::kPadding].zero_();
  }

  Input forward(const Padded& words) override {
    return {.data = torch::embedding(table_, words.ids, Vocabulary::kPadding),
            .lengths = words.lengths,
            .name = ""};
  }
  std::int64_t output_dim() const override { return dim_; }

 private:
  Tensor table_;
  std::int64_t dim_;
};

/// Numbers at each position, projected.
class ProjectedNumbers : public VectorModel {
 public:
  explicit ProjectedNumbers(const VectorsProblem& p) : dim_(p.dim) {
    project_ = register_module("project", torch::nn::Linear(p.input.width, dim_));
  }

  Input forward(const Padded& numbers) override {
    return {.data = project_->forward(numbers.values), .lengths = numbers.lengths, .name = ""};
  }
  std::int64_t output_dim() const override { return dim_; }

 private:
  torch::nn::Linear project_{nullptr};
  std::int64_t dim_;
};

}  // namespace

std::vector<PartInfo> vector_models() {
  return {
      {.id = "trained",
       .group = Group::vectors,
       .title = "Vectors learned with the task",
       .formula = R"(x_l = E_{w_l} \text{, or } W x_l + b \text{ of numbers})",
       .paper = "–",
       .advice = "the default: needs nothing but the data",
       .promises = "same bits at the same thread count",
       .make = MakeVectors([](const VectorsProblem& p) -> std::shared_ptr<VectorModel> {
         if (p.input.width > 0) return std::make_shared<ProjectedNumbers>(p);
         return std::make_shared<TrainedVectors>(p);
       })},
      file_vectors(),
      pretrained_vectors(),
  };
}

}  // namespace heed
