#pragma once
#include <span>

#include "data/parts.hpp"

namespace heed {

/// A sentence of a story, and the attention it deserves.
struct Sentence {
  std::vector<std::string> words;
  float gold = 0;
};

/// The sentences as one input with its level and its gold attention; of a story with more than
/// `max_length` words (0: no limit) the last sentences that fit, or the end of the last one.
void set_story(Example& example, const std::string& name, std::span<const Sentence> sentences,
               std::size_t max_length);

/// The questions of a file in the format of the bAbI tasks.
void read_babi(const std::filesystem::path& file, const DataSource& source, FileNeeds needs,
               const TakePlaced& take);

}  // namespace heed
