#pragma once
#include "heed/attention/tensor.hpp"

namespace heed {

/// The cross-entropy of each row, [M]: of the word `right` [M] among all words, whose scores are
/// states [M, D] · table [V, D] + bias [V]; `smoothing` of the right word's probability is spread
/// over all words.
///
/// The scores are the largest tensor of a model with many words. Here they are the only one of
/// their size: the loss and its gradient are made from them in place, a stretch of rows at a time.
Tensor word_loss(const Tensor& states, const Tensor& table, const Tensor& bias, const Tensor& right,
                 double smoothing);

}  // namespace heed
