#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

/// A column to be read. `role` is what we use it for ("text"), `name` what the file calls it.
struct Column {
  std::string role, name;
  bool required = true;
};

struct Row {
  std::size_t line = 0;  ///< Where it starts, from 1.
  std::vector<std::optional<std::string>>
      cells;  ///< One a wanted column; none = not in this file or row.
};

/// Reads the wanted columns of a .tsv (no quoting), .csv (RFC 4180), .jsonl (an object a line) or
/// .conll or .conllu file (see read_conll), or one of these packed with gzip. CRLF ends, a byte
/// order mark and blank lines are accepted. In JSONL a cell may be a string, a number, true or
/// false, or an array of these, which is joined by spaces (strings with spaces in them by line
/// ends); null is none. A label, split, id, user or item is no array, and only points are an array
/// of arrays. InputError "FILE:LINE: …" on anything else, and when there is no row.
std::vector<Row> read_table(const std::filesystem::path& file, std::span<const Column> wanted);

using TakeRow = std::function<void(Row)>;
/// The same, a row at a time.
void for_each_row(const std::filesystem::path& file, std::span<const Column> wanted,
                  const TakeRow& take);

/// The same for the same cells, on every machine.
std::uint64_t hash_of(const Row& row);

/// True for the endings that read_table knows, packed or not.
bool is_table(const std::filesystem::path& file);

/// Gives a row a sentence of a file with a word a line. A wanted column is named by its number from
/// 1, by its name (of CoNLL-U, when `universal`, or from "# global.columns = …"), or by the key of
/// a comment "# key = value" before the sentence; other lines "# …" there are comments too, unless
/// they have the cells of a row. Its words are joined by spaces; a label, split or id is that of
/// the first word; a rationale of tags is 0 for O and _, and 1 for B-… and I-….
void read_conll(std::string_view text, const std::filesystem::path& file,
                std::span<const Column> wanted, bool universal, const TakeRow& take);

/// The text of a file, packed or not, without a byte order mark. InputError "FILE:LINE: …" when it
/// is not UTF-8 or has a zero byte, which would cut every later message short.
std::string read_text(const std::filesystem::path& file);

/// Parses JSON; `twice` becomes a key that an object has twice, of which nlohmann keeps the last.
/// Throws its exceptions.
nlohmann::json parse_json(std::string_view text, std::optional<std::string>& twice);

/// "FILE:LINE", for messages.
std::string at_line(const std::filesystem::path& file, std::size_t line);

}  // namespace heed
