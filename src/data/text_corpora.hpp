#pragma once
#include "heed/data/dataset.hpp"

namespace heed {

/// Sentences with an opinion on each of two or three things: what is said of the target decides,
/// and the words that say it have gold attention.
Dataset aspect_reviews(const CorpusOptions& options);

/// Who has what; then a statement that follows, contradicts, or is left open. Gold attention is on
/// the clause that decides.
Dataset statement_pairs(const CorpusOptions& options);

/// Reviews in sentences of which one, by the author and in the end, decides; others quote somebody
/// else. Gold attention is on the deciding words.
Dataset review_documents(const CorpusOptions& options);

/// People go places and carry things; where is somebody, or something? Gold attention is on the one
/// or two sentences that answer it.
Dataset stories(const CorpusOptions& options);

}  // namespace heed
