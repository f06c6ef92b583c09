#pragma once
#include <torch/types.h>

#include <filesystem>
#include <memory>
#include <span>

#include "heed/data/dataset.hpp"
#include "heed/data/vocabulary.hpp"

namespace heed {

struct UserVectorOptions {
  std::int64_t dim = 32;
  double source = 0.3;  ///< What an item of the other domain counts beside one of this.
};

/// The users of the training part, and all items, in one space: the leading singular vectors of who
/// took what (Deerwester et al. 1990), with rows and columns over the square roots of their sums
/// plus one, so that what is rare decides little. Nothing of it is trained.
struct UserVectors {
  torch::Tensor items;    ///< [vocabulary, D]: the vector of a user is the sum of the items'.
  torch::Tensor users;    ///< [U, D].
  torch::Tensor takers;   ///< [N] int64, < U: of each label in turn, who took it.
  torch::Tensor offsets;  ///< [labels + 1] int64: where the takers of a label begin.
  torch::Tensor shares;   ///< [N]: one over how many labels that taker took.

  /// The same lists give the same vectors, up to rounding. InputError when there are none.
  static std::shared_ptr<const UserVectors> learn(std::span<const UserItems> lists,
                                                  std::span<const std::string> labels,
                                                  const Vocabulary& vocabulary,
                                                  const UserVectorOptions& options);
  void save(const std::filesystem::path& file) const;
  /// InputError when the file is damaged or of other labels or words.
  static std::shared_ptr<const UserVectors> load(const std::filesystem::path& file,
                                                 std::size_t labels, std::size_t vocabulary);
};

}  // namespace heed
