#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "heed/data/example.hpp"

namespace heed {

/// A part of the data that ranks share. Size 0: all of it is here.
struct Held {
  std::size_t size = 0;                  ///< Examples of all ranks.
  std::vector<std::size_t> places = {};  ///< Of those here, rising, from 0.
  std::uint64_t hash = 0;                ///< Of the whole part, as the file has it.
};

/// What a user took in training: in the domain that is asked about, and in the other.
struct UserItems {
  std::vector<std::string> history, source;
};

struct Dataset {
  std::string name;  ///< For reports: "reviews", or the file's name without its ending.
  std::vector<std::string>
      labels;  ///< Sorted, from the training part; a class is an index into it.
  std::vector<Example> train, val, test;
  std::vector<InputInfo> inputs = {{.name = "text"}};  ///< What every example has.
  std::shared_ptr<const GraphData> graph = nullptr;    ///< Of tasks on a graph.
  std::vector<UserItems> users = {};                   ///< Of kind recommend.
  Held train_held = {}, val_held = {};                 ///< Which are here of a shared reading.
};

/// The rows of a file that one of several ranks reads.
struct ReadShare {
  std::size_t rank = 0, ranks = 1;

  bool has(std::size_t row) const { return row % ranks == rank; }
};

/// Where the data comes from, and how to read it.
struct DataSource {
  std::string kind = "classify";  ///< What is learned: one of `data_kinds`.
  /// "builtin:NAME" (options: "builtin:reviews?size=500&seed=3"; size = training examples, val and
  /// test are an eighth and a quarter of it), or a .tsv, .csv or .jsonl file with a split column.
  std::string data;
  /// Or one file a part; val and test may be empty.
  std::string train, val, test;
  /// Of kind recommend: the same users in another domain. Of kinds with labels: another domain
  /// whose labels are learned, while those of this one are not looked at. May be empty.
  std::string source;
  /// Another file like `data`, whose training part is learned from too; may be empty.
  std::string extra = {};
  /// What people looked at: JSONL {id, tokens, weights}, joined to the examples by id, or else by
  /// equal tokens, as their gold attention; may be empty.
  std::string human = {};
  /// Column roles of the kind → what the file calls them; the same name by default.
  std::map<std::string, std::string> columns;
  bool lowercase = true;        ///< ASCII letters only.
  std::int64_t max_length = 0;  ///< Positions kept of an input; 0 = all.
  double val_fraction = 0.1;  ///< Of train, held out by label when there is no val part; 0 = none.
  std::uint64_t seed = 1;     ///< Decides what is held out; a built-in corpus has its own seed.
  /// Relative paths are looked for here (the config's folder), then in the working folder.
  std::filesystem::path base;
  /// Training examples of a table or of parallel text are read in parts, all else whole.
  ReadShare share = {};
};

/// A kind of task, as far as reading its data goes.
struct DataKind {
  std::string id;
  std::string doc;
  std::vector<std::string> columns;  ///< Roles of its columns; empty: it reads no table.
  std::function<Dataset(const DataSource&)> load;
  /// New rows to answer; empty: its questions come with its own data only.
  std::function<std::vector<Example>(const std::string& file, const DataSource&)> load_examples;
};

const std::vector<DataKind>& data_kinds();
/// InputError with the nearest id when there is no such kind.
const DataKind& data_kind(const std::string& id);

/// A corpus that is generated, with gold attention: the same options give the same corpus on every
/// machine.
struct CorpusOptions {
  std::size_t train = 4000, val = 500, test = 1000;
  std::uint64_t seed = 1;
  std::size_t n = 0;     ///< Points of a problem, where there are any; 0: the corpus' own number.
  bool reverse = false;  ///< Of translations: the other way round.
};

/// Reads, checks and splits the data. Every mistake in a file is an InputError "FILE:LINE: …".
///
/// Text is split at white space: tokenisation is the file's. In JSONL a text may also be an array
/// of strings (tokens or sentences), which are split and joined. A rationale has one number a
/// token, separated by white space, or as a JSON array, or as one run of 0s and 1s; an empty one is
/// unknown. Examples without an id are called train-1, train-2, … (row-1, … by load_examples).
Dataset load_dataset(const DataSource& source);

/// All rows of `file`, whatever their split. The label column may be missing, its cells empty;
/// labels are not checked against anything. Of `source` only kind, columns, lowercase, max_length
/// and base are used.
std::vector<Example> load_examples(const std::string& file, const DataSource& source);

}  // namespace heed
