#pragma once
#include <cstddef>
#include <cstdint>

#include "heed/data/dataset.hpp"

namespace heed {

struct ReviewsOptions {
  std::size_t train = 4000, val = 500, test = 1000;
  std::uint64_t seed = 1;
};

/// Generated review sentences, negative or positive, 5 to 40 tokens, with gold["text"] = 1 on the
/// words that decide the label. The order of the words matters: negation, clauses that disagree,
/// and opinions of others or about something else that must be ignored. The same options give the
/// same corpus on every machine; no sentence occurs twice. Labels are balanced in each part.
Dataset reviews(const ReviewsOptions& options = {});

}  // namespace heed
