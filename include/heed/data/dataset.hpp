#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace heed {

/// One thing to classify. `inputs` maps a name ("text") to its tokens.
struct Example {
  std::string id;
  std::map<std::string, std::vector<std::string>> inputs;
  std::string label;  ///< Empty when it is not known (load_examples only).
  /// The attention a reader should pay, one finite number ≥ 0 a token of that input; absent =
  /// unknown.
  std::map<std::string, std::vector<float>> gold;
};

struct Dataset {
  std::string name;  ///< For reports: "reviews", or the file's name without its ending.
  std::vector<std::string>
      labels;  ///< Sorted, from the training part; a class is an index into it.
  std::vector<Example> train, val, test;
};

/// Where the data comes from, and how to read it.
struct DataSource {
  /// "builtin:reviews" (options: "builtin:reviews?size=500&seed=3"; size = training sentences, val
  /// and test are an eighth and a quarter of it), or a .tsv, .csv or .jsonl file with a split
  /// column.
  std::string data;
  /// Or one file a part; val and test may be empty.
  std::string train, val, test;
  /// Any of text, label, split, rationale, id → what the file calls it; the same name by default.
  std::map<std::string, std::string> columns;
  bool lowercase = true;        ///< ASCII letters only.
  std::int64_t max_length = 0;  ///< Tokens kept of an input; 0 = all.
  double val_fraction = 0.1;  ///< Of train, held out by label when there is no val part; 0 = none.
  std::uint64_t seed = 1;     ///< Decides what is held out; a built-in corpus has its own seed.
  /// Relative paths are looked for here (the config's folder), then in the working folder.
  std::filesystem::path base;
};

/// Reads, checks and splits the data. Every mistake in a file is an InputError "FILE:LINE: …".
///
/// Text is split at white space: tokenisation is the file's. In JSONL a text may also be an array
/// of strings (tokens or sentences), which are split and joined. A rationale has one number a
/// token, separated by white space, or as a JSON array, or as one run of 0s and 1s; an empty one is
/// unknown. Examples without an id are called train-1, train-2, … (row-1, … by load_examples).
Dataset load_dataset(const DataSource& source);

/// All rows of `file` (.tsv, .csv, .jsonl), whatever their split. The label column may be missing,
/// its cells empty; labels are not checked against anything. Of `source` only columns, lowercase,
/// max_length and base are used.
std::vector<Example> load_examples(const std::string& file, const DataSource& source);

}  // namespace heed
