#pragma once
#include "heed/data/dataset.hpp"

namespace heed {

/// Corpora of sequences for a sequence, generated. The same options give the same corpus
/// everywhere, and the test part does not depend on the size of the training part.

/// English sentences of one clause and their translation into a language that was made up: no
/// articles, plurals agree, adjectives follow, the verb comes last and the adverb first, so that
/// words move far. gold["text"] is 1 on the words that are translated, and Example::links says by
/// which. No sentence occurs twice. `reverse` gives the other direction, in which articles must be
/// guessed.
Dataset language(const CorpusOptions& options = {});

/// Speech: frames of 8 numbers, and the phonemes they are. A phoneme lasts 2 to 6 frames, each its
/// prototype and as much noise; between phonemes there may be silence, whose gold weight is 0.
Dataset phonemes(const CorpusOptions& options = {});

/// Talk of several people, an utterance a sentence (Example::levels), and a question at its end
/// about one of them, also as the view "question". What a person says may be corrected later by the
/// same person; gold["text"] is 1 on the words that decide. The reply is both a label, to choose
/// among all replies (kind document), and a target, to be written (kind translate).
Dataset dialogue(const CorpusOptions& options = {});

}  // namespace heed
