#include "data/table.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/hash.hpp"
#include "data/gzip.hpp"
#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/words.hpp"
#include "heed/data/fields.hpp"

namespace heed {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// "FILE:LINE: byte 3 of the line" for a place among the bytes.
std::string at_byte(std::string_view bytes, std::size_t place, const fs::path& file) {
  const std::string_view before = bytes.substr(0, place);
  const auto line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
  const std::size_t start = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
  return fmt::format("{}: byte {} of the line", at_line(file, line), place - start + 1);
}

void check_bytes(std::string_view bytes, const fs::path& file) {
  const auto bad = invalid_utf8(bytes);
  HEED_CHECK(!bad,
             "{} (0x{:02X}) is not UTF-8; convert the file, as with 'iconv -f LATIN1 -t UTF-8'",
             at_byte(bytes, *bad, file), static_cast<unsigned char>(bytes[*bad]));
  const std::size_t zero = bytes.find('\0');
  HEED_CHECK(zero == bytes.npos,
             "{} is a zero byte; remove it, or convert the file if it is UTF-16",
             at_byte(bytes, zero, file));
}

/// Takes the next line off `rest`, without its LF or CRLF.
std::string_view take_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// A missing column is most often a typo or a forgotten column map, so the message shows both ends.
[[noreturn]] void missing_column(const std::string& where, const Column& column,
                                 std::span<const std::string> present) {
  constexpr std::size_t kShown = 12;
  const auto near = nearest(column.name, present);
  const std::string shown = join(present.first(std::min(kShown, present.size())), ", ");
  throw InputError(fmt::format(
      "{}: no column '{}' for the {}{}; the columns are {}; name it under "
      "[task.columns]",
      where, column.name, column.role, near ? fmt::format("; did you mean '{}'?", *near) : "",
      present.size() > kShown ? shown + ", …" : shown));
}

/// Where each wanted column stands in the header; none when an optional one is not there.
std::vector<std::optional<std::size_t>> locate(std::span<const std::string> header,
                                               std::span<const Column> wanted,
                                               const std::string& where) {
  std::set<std::string_view> seen;
  for (const std::string& name : header)
    HEED_CHECK(seen.insert(name).second, "{}: two columns are called '{}'; rename one", where,
               name);
  std::vector<std::optional<std::size_t>> places;
  for (const Column& column : wanted) {
    const auto found = std::find(header.begin(), header.end(), column.name);
    if (found == header.end() && column.required) missing_column(where, column, header);
    places.push_back(found == header.end() ? std::nullopt
                                           : std::optional<std::size_t>(found - header.begin()));
  }
  return places;
}

Row pick_cells(std::vector<std::string> cells, std::size_t line,
               std::span<const std::optional<std::size_t>> places) {
  Row row{.line = line, .cells = {}};
  // Two roles may share one column, so a cell is copied, not moved.
  for (const auto& place : places) {
    row.cells.push_back(place ? std::optional<std::string>(cells[*place]) : std::nullopt);
  }
  return row;
}

void check_width(const std::string& where, std::size_t cells, std::size_t columns) {
  HEED_CHECK(cells == columns,
             "{}: {} cell{}, but the header has {}; check the separators of this row", where, cells,
             cells == 1 ? "" : "s", columns);
}

void read_tsv(std::string_view rest, const fs::path& file, std::span<const Column> wanted,
              const TakeRow& take) {
  const std::vector<std::string> header = split(take_line(rest), '\t');
  const auto places = locate(header, wanted, at_line(file, 1));
  for (std::size_t number = 2; !rest.empty(); ++number) {
    const std::string_view line = take_line(rest);
    if (line.empty()) continue;
    std::vector<std::string> cells = split(line, '\t');
    check_width(at_line(file, number), cells.size(), header.size());
    take(pick_cells(std::move(cells), number, places));
  }
}

/// Takes a record off `rest`; `line` is moved to the line after it. As in RFC 4180, save that a
/// quote inside an unquoted field stands for itself (spreadsheets write such files).
std::vector<std::string> take_csv_record(std::string_view& rest, std::size_t& line,
                                         const fs::path& file) {
  const std::size_t first_line = line;
  std::vector<std::string> cells;
  for (;;) {
    std::string cell;
    if (rest.starts_with('"')) {
      rest.remove_prefix(1);
      for (;;) {
        const std::size_t quote = rest.find('"');
        HEED_CHECK(quote != rest.npos,
                   "{}: a quoted field of this row is never closed; add the missing '\"'",
                   at_line(file, first_line));
        cell.append(rest.substr(0, quote));
        rest.remove_prefix(quote + 1);
        if (!rest.starts_with('"')) break;
        cell += '"';
        rest.remove_prefix(1);
      }
      line += static_cast<std::size_t>(std::count(cell.begin(), cell.end(), '\n'));
      const bool ended = rest.empty() || rest.starts_with(',') || rest.starts_with('\n') ||
                         rest.starts_with("\r\n") || rest == "\r";
      HEED_CHECK(ended,
                 "{}: text follows a closing quote; write a quote inside a quoted field twice",
                 at_line(file, line));
    } else {
      const std::size_t end = std::min(rest.find_first_of(",\n"), rest.size());
      cell = rest.substr(0, end);
      rest.remove_prefix(end);
      if (cell.ends_with('\r') && !rest.starts_with(',')) cell.pop_back();
    }
    cells.push_back(std::move(cell));
    if (rest.starts_with(',')) {
      rest.remove_prefix(1);
      continue;
    }
    take_line(rest);  // what is left of the line is its end
    ++line;
    return cells;
  }
}

void read_csv(std::string_view rest, const fs::path& file, std::span<const Column> wanted,
              const TakeRow& take) {
  std::size_t line = 1;
  const std::vector<std::string> header = take_csv_record(rest, line, file);
  const auto places = locate(header, wanted, at_line(file, 1));
  while (!rest.empty()) {
    const std::size_t start = line;
    std::vector<std::string> cells = take_csv_record(rest, line, file);
    if (cells.size() == 1 && cells[0].empty()) continue;
    check_width(at_line(file, start), cells.size(), header.size());
    take(pick_cells(std::move(cells), start, places));
  }
}

bool are_numbers(const json& value) {
  return value.is_array() && !value.empty() &&
         std::ranges::all_of(value, [](const json& item) { return item.is_number(); });
}

/// nlohmann's own message says where in the line, after a prefix of no use to a reader.
std::string json_reason(const json::exception& error) {
  const std::string_view message = error.what();
  const std::size_t start = message.find("] ");
  std::string reason(start == message.npos ? message : message.substr(start + 2));
  constexpr std::size_t kShown = 160;  // it quotes what it read, which may be a whole line
  if (reason.size() <= kShown) return reason;
  std::size_t end = kShown;
  while ((reason[end] & 0xC0) == 0x80) --end;  // not inside a character
  return reason.substr(0, end) + " …";
}

/// A zero byte as JSON writes it; behind an escaped backslash the same letters are text.
bool escapes_zero(std::string_view line) {
  for (std::size_t i = line.find('\\'); i < line.size(); i = line.find('\\', i + 2)) {
    if (line.substr(i + 1).starts_with("u0000")) return true;
  }
  return false;
}

json parse_object(std::string_view line, const std::string& where) {
  json object;
  std::optional<std::string> twice;
  HEED_CHECK(!escapes_zero(line), "{}: a zero byte (\\u0000); remove it", where);
  try {
    object = parse_json(line, twice);
  } catch (const json::exception& error) {
    throw InputError(fmt::format("{}: not JSON: {}", where, json_reason(error)));
  }
  HEED_CHECK(object.is_object(),
             "{}: a JSON {} where an object is needed, as {{\"text\": …, \"label\": …}}", where,
             object.type_name());
  HEED_CHECK(!twice, "{}: the key '{}' comes twice in an object; keep one", where, *twice);
  return object;
}

/// Two labels joined would be a third one, and sentences of numbers a text.
void check_array(const json& value, const std::string& where, const Column& column) {
  static const std::set<std::string_view> kSingle = {"label", "split", "id", "user", "item"};
  if (!value.is_array()) return;
  HEED_CHECK(!kSingle.contains(column.role), "{}: '{}' is an array; the {} is one string or number",
             where, column.name, column.role);
  HEED_CHECK(column.role == "points" || std::ranges::none_of(value, &json::is_array),
             "{}: '{}' has an array inside its array; one array is needed, of strings or numbers",
             where, column.name);
}

Row read_object(std::string_view line, const std::string& where, std::size_t number,
                std::span<const Column> wanted) {
  const json object = parse_object(line, where);
  Row row{.line = number, .cells = {}};
  for (const Column& column : wanted) {
    const auto found = object.find(column.name);
    if (found == object.end() && column.required) {
      std::vector<std::string> keys;
      for (const auto& item : object.items()) keys.push_back(item.key());
      missing_column(where, column, keys);
    }
    const bool none = found == object.end() || found->is_null();
    if (!none) check_array(*found, where, column);
    row.cells.push_back(none ? std::nullopt
                             : std::optional<std::string>(field_text(*found, where, column.name)));
  }
  return row;
}

void read_jsonl(std::string_view rest, const fs::path& file, std::span<const Column> wanted,
                const TakeRow& take) {
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = take_line(rest);
    if (trim(line).empty()) continue;
    take(read_object(line, at_line(file, number), number, wanted));
  }
}

}  // namespace

std::string field_text(const json& value, const std::string& where, const std::string& column) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean() || value.is_number()) return value.dump();
  if (value.is_array()) {
    // Strings of several words are sentences or paragraphs; their ends are kept as line ends.
    // So are those of inner arrays of numbers: the coordinates of points.
    const bool lines = std::ranges::any_of(value, [](const json& item) {
      return item.is_array() || (item.is_string() &&
                                 item.get_ref<const std::string&>().find(' ') != std::string::npos);
    });
    std::string text;
    for (const json& item : value) {
      HEED_CHECK(item.is_string() || item.is_number() || item.is_boolean() || are_numbers(item),
                 "{}: '{}' has an element of type {}; strings or numbers are needed", where, column,
                 item.type_name());
      if (!text.empty()) text += lines ? '\n' : ' ';
      text += field_text(item, where, column);
    }
    return text;
  }
  throw InputError(fmt::format("{}: '{}' is of type {}; a string, a number or an array is needed",
                               where, column, value.type_name()));
}

json parse_json(std::string_view text, std::optional<std::string>& twice) {
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto watch = [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
      twice = parsed.get<std::string>();
    return true;
  };
  return json::parse(text, watch);
}

std::string read_text(const fs::path& file) {
  std::string text = read_unpacked(file);
  check_bytes(text, file);
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  return text;
}

std::string at_line(const fs::path& file, std::size_t line) {
  return fmt::format("{}:{}", file.string(), line);
}

std::uint64_t hash_of(const Row& row) {
  std::uint64_t hash = hash_text("");
  for (const auto& cell : row.cells) hash = hash_text("\t", hash_text(cell.value_or(""), hash));
  return hash;
}

bool is_table(const fs::path& file) {
  static const std::set<std::string> kEndings = {".tsv",    ".csv",   ".jsonl",
                                                 ".ndjson", ".conll", ".conllu"};
  return kEndings.contains(format_ending(file));
}

void for_each_row(const fs::path& file, std::span<const Column> wanted, const TakeRow& take) {
  const std::string ending = format_ending(file);
  const bool tsv = ending == ".tsv", csv = ending == ".csv", conllu = ending == ".conllu";
  const bool conll = conllu || ending == ".conll";
  HEED_CHECK(is_table(file),
             "{}: cannot tell the format from the ending '{}'; name it .tsv, .csv, .jsonl, .conll "
             "or .conllu",
             file.string(), ending);
  const std::string text = read_text(file);
  HEED_CHECK(!trim(text).empty(), "{}:1: the file is empty; a header and rows are needed",
             file.string());
  bool any = false;
  const TakeRow take_one = [&](Row row) {
    any = true;
    take(std::move(row));
  };
  if (tsv) {
    read_tsv(text, file, wanted, take_one);
  } else if (csv) {
    read_csv(text, file, wanted, take_one);
  } else if (conll) {
    read_conll(text, file, wanted, conllu, take_one);
  } else {
    read_jsonl(text, file, wanted, take_one);
  }
  HEED_CHECK(any, "{}:1: only a header; at least one row is needed", file.string());
}

std::vector<Row> read_table(const fs::path& file, std::span<const Column> wanted) {
  std::vector<Row> rows;
  for_each_row(file, wanted, [&](Row row) { rows.push_back(std::move(row)); });
  return rows;
}

}  // namespace heed
