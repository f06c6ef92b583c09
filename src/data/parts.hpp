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
};

/// What a file must have: to learn from it answers are needed, to answer it they are not.
struct FileNeeds {
  bool label = false;  // or whatever the kind answers with
  bool split = false;
};

using ReadPart =
    std::function<std::vector<Placed>(const std::filesystem::path&, const DataSource&, FileNeeds)>;

/// A kind whose files hold one example after another: `data` with a split column (where `split` is
/// a column of the kind), or a file a part.
DataKind file_kind(std::string id, std::string doc, std::vector<std::string> columns,
                   std::vector<InputInfo> inputs, ReadPart read);

/// The kinds whose examples are rows of a table.
std::vector<DataKind> table_kinds();

/// True for .tsv, .csv and .jsonl, packed or not.
bool is_table(const std::filesystem::path& file);

/// Lines of text, with those of the file whose name ends as `source.columns` says of the target.
std::vector<Placed> read_parallel(const std::filesystem::path& file, const DataSource& source,
                                  FileNeeds needs);

/// Points "x y; x y" (or a line each), two finite numbers a point.
Values parse_points(std::string_view text, const std::string& where);
/// Places 0 … n − 1, separated by white space.
std::vector<std::string> parse_order(std::string_view text, std::size_t n,
                                     const std::string& where);

/// The corpus that `source.data` names, of the source's kind.
Dataset load_builtin(const DataSource& source);

/// The file that a config names, looked for in `base` and in the working folder.
std::filesystem::path find_file(const std::string& name, const std::filesystem::path& base);

/// The wanted columns of a kind under the file's names; InputError for an unknown role.
std::vector<Column> wanted_columns(const DataSource& source, std::span<const std::string> roles,
                                   std::span<const std::string> required);

/// One finite number ≥ 0 a token.
std::vector<float> parse_weights(std::string_view text, std::size_t tokens,
                                 const std::string& where);

}  // namespace heed
