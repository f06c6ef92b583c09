#pragma once
#include "heed/base/random.hpp"
#include "heed/mechanisms/mechanism.hpp"

namespace heed {

/// A batch of a generated task.
struct TaskBatch {
  Inputs in;
  Tensor labels;  // [B]
};

/// A task made for what one mechanism is for. In all of them the parts of the inputs are the same
/// in every example, only what belongs to what differs: means say nothing, or little.
struct Task {
  std::string name;
  AttentionSpec parts;  // the mechanism and how it asks
  std::vector<MechanismProblem::NamedWidth> inputs;
  std::int64_t query_dim = 0;
  std::function<TaskBatch(std::int64_t B, Random& random)> batch;

  static constexpr std::int64_t kClasses = 4;
};

/// Facts a → b; the question names x, and the answer is z with x → y → z.
Task two_step_question(PartSpec queries);
/// Each class has a token that says yes or no; one says yes.
Task yes_of_one_class();
/// The query names a word, the word names a character, and that carries the answer.
Task word_then_character();
/// Of two embeddings of a word one knows it; the other is loud and wrong.
Task embedding_that_knows();
/// The opinions on the target's category in both contexts: four combinations.
Task opinion_on_target();
/// A salient token of the first text names the token of the second.
Task salient_then_matched();
/// Most tokens of the first text name the token of the second.
Task topic_then_matched();
/// One name stands in both texts; its token in the first has the answer.
Task name_in_both(const std::string& affinity, const std::string& aggregate);
/// The answer stands in the sentence that is marked as important.
Task marked_sentence(const std::string& encoder);

}  // namespace heed
