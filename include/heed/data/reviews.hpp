#pragma once
#include "heed/data/dataset.hpp"

namespace heed {

/// Generated review sentences, negative or positive, 5 to 40 tokens, with gold["text"] = 1 on the
/// words that decide the label. The order of the words matters: negation, clauses that disagree,
/// and opinions of others or about something else that must be ignored. The same options give the
/// same corpus on every machine; no sentence occurs twice. Labels are balanced in each part.
Dataset reviews(const CorpusOptions& options = {});

}  // namespace heed
