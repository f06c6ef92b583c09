#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "heed/data/dataset.hpp"
#include "heed/dist/group.hpp"
#include "heed/models/task_model.hpp"

namespace heed {

/// Brings the examples of a part that ranks have read together, at every rank.
void complete(std::vector<Example>& examples, Held& held, dist::Group& group);

/// The training part, dealt over the ranks of a group: a rank keeps the examples that it learns
/// from in an epoch, and of the others how long they are.
class ExampleShare {
 public:
  using Indices = std::vector<std::size_t>;

  explicit ExampleShare(dist::Group& group) : group_(group) {}

  /// What this rank has read of the part: its share, by `held`, or all, of which it keeps one.
  void take(std::vector<Example> examples, const Held& held, const TaskModel& model);

  /// Of all ranks.
  std::size_t size() const { return lengths_.size(); }
  std::span<const std::int64_t> lengths() const { return lengths_; }
  /// TaskModel::answers_in of an example.
  double answers_in(std::size_t index) const { return answers_[index]; }

  /// Sends examples to the ranks that learn from them.
  void deal(const std::vector<Indices>& batches);
  /// What this rank learns from of a batch. May be empty.
  Indices own(const Indices& batch) const;
  std::span<const Example> here() const { return examples_; }
  /// Where in `here` the examples are, which must be this rank's.
  Indices places(const Indices& own) const;

 private:
  void keep(std::vector<Example> examples, Indices indices);
  void pass_on(const std::vector<int>& next, int to, int from, std::vector<Example>& got,
               Indices& indices);

  dist::Group& group_;
  bool whole_ = false;  // a model that sees everything at once: the first rank has all
  std::vector<std::int64_t> lengths_;
  std::vector<double> answers_;
  std::vector<Example> examples_;
  Indices indices_;                  // of those here, rising
  std::vector<std::size_t> places_;  // of all; only those of indices_ mean something
  std::vector<int> owners_;          // of all
};

}  // namespace heed
