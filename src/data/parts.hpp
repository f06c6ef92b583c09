#pragma once
#include <functional>
#include <optional>

#include "data/table.hpp"
#include "heed/data/dataset.hpp"

namespace heed {

/// An example and where it was read, for messages about it once all parts are known.
struct Placed {
  Example example;
  std::string split;
  std::size_t line = 0;
  bool here = true;        // false: another rank has it; only its label is known
  std::uint64_t hash = 0;  // of what the file says of it, where ranks read parts
};

using TakePlaced = std::function<void(Placed)>;

/// What a file must have: to learn from it answers are needed, to answer it they are not.
struct FileNeeds {
  bool label = false;  // or whatever the kind answers with
  bool split = false;
  bool shared = false;  // the ranks may each read their part
};

/// Gives the examples of a file, one after the other.
using ReadPart = std::function<void(const std::filesystem::path&, const DataSource&, FileNeeds,
                                    const TakePlaced&)>;

/// A kind whose files hold one example after another: `data` with a split column (where `split` is
/// a column of the kind), or a file a part. `in_parts`: `read` heeds FileNeeds::shared.
DataKind file_kind(std::string id, std::string doc, std::vector<std::string> columns,
                   std::vector<InputInfo> inputs, ReadPart read, bool in_parts = false);

/// Of a split cell.
bool is_train(std::string_view split);

/// The kinds whose examples are rows of a table.
std::vector<DataKind> table_kinds();

/// Lines of text, with those of the file whose name ends as `source.columns` says of the target.
void read_parallel(const std::filesystem::path& file, const DataSource& source, FileNeeds needs,
                   const TakePlaced& take);

/// Points "x y; x y" (or a line each), two finite numbers a point.
Values parse_points(std::string_view text, const std::string& where);
/// Places 0 … n − 1, separated by white space.
std::vector<std::string> parse_order(std::string_view text, std::size_t n,
                                     const std::string& where);

/// Words of a text and of its translation, and how many of each are kept.
struct LinkRoom {
  std::size_t text = 0, target = 0, kept = std::string::npos;
};
/// Links "i-j" between words of the text and of the target, from 0, as Example::links has them;
/// those of words that are not kept are left out.
std::vector<std::pair<std::size_t, std::size_t>> parse_links(std::string_view text, LinkRoom room,
                                                             const std::string& where);

/// The corpus that `source.data` names, of the source's kind.
Dataset load_builtin(const DataSource& source);

/// The data alone, without what `source.extra` and `source.human` bring. Labels are needed and
/// checked unless another domain, `source.source`, has them.
Dataset load_own(const DataSource& source);

/// "FILE:LINE" of the first row of a part ("train" or "test") with this label, for messages: it is
/// looked for again, since examples do not know their lines. The file alone if it is no table.
std::string place_of_label(const DataSource& source, const std::string& part,
                           const std::string& label);

/// Learns from the labels of `source.source` and the texts of `source.data`, whose labels are taken
/// away, or missing, but for the test part; validates on the former, tests on the latter.
Dataset load_transfer(const DataSource& source);

/// The file that a config names, looked for in `base` and in the working folder.
std::filesystem::path find_file(const std::string& name, const std::filesystem::path& base);

/// The wanted columns of a kind under the file's names; InputError for an unknown role.
std::vector<Column> wanted_columns(const DataSource& source, std::span<const std::string> roles,
                                   std::span<const std::string> required);

/// One finite number ≥ 0 a token; `what` is named when there is something else.
std::vector<float> parse_weights(std::string_view text, std::size_t tokens,
                                 const std::string& where, std::string_view what = "the rationale");

/// What people looked at, by `source.human`, as gold attention of the examples: joined by id, which
/// must be known, or without one to all examples with the same tokens. Several rows of one text are
/// several people: their mean counts.
void add_human_attention(Dataset& data, const DataSource& source);

}  // namespace heed
