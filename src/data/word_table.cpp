#include "heed/data/word_table.hpp"

#include <zlib.h>

#include <charconv>
#include <cmath>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "heed/base/error.hpp"
#include "heed/base/words.hpp"

namespace heed {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kProgressEvery = 10'000;

/// Collects rows: one of each word, none over the limit.
class TableBuilder {
 public:
  explicit TableBuilder(const WordTableOptions& options) : options_(options) {}

  bool full() const { return options_.limit > 0 && table_.words.size() >= options_.limit; }
  void width(std::size_t width) { table_.width = width; }
  const WordTable& table() const { return table_; }

  /// `values` are `width` numbers.
  void add(std::string word, const std::vector<float>& values) {
    if (full()) return;
    if (!seen_.insert(word).second) {
      ++table_.repeated;
      return;
    }
    table_.words.push_back(std::move(word));
    table_.values.insert(table_.values.end(), values.begin(), values.end());
    if (options_.progress && table_.words.size() % kProgressEvery == 0) {
      options_.progress(table_.words.size());
    }
  }

  WordTable take(const fs::path& file) {
    HEED_CHECK(!table_.words.empty(), "{}:1: no word vector in this file", file.string());
    return std::move(table_);
  }

 private:
  const WordTableOptions& options_;
  std::unordered_set<std::string> seen_;
  WordTable table_;
};

/// Lines of a file, which zlib unpacks if it is packed.
class GzipLines {
 public:
  explicit GzipLines(const fs::path& path) : path_(path), file_(gzopen(path.c_str(), "rb")) {
    std::error_code ignored;
    HEED_CHECK(file_ && !fs::is_directory(path, ignored), "{}: cannot open: no such file",
               path.string());
    gzbuffer(file_.get(), 1 << 18);
  }

  bool next(std::string& line) {
    line.clear();
    ++number_;
    char part[1 << 14];
    while (gzgets(file_.get(), part, sizeof part)) {
      line += part;
      if (line.ends_with('\n')) break;
    }
    int error = Z_OK;
    gzerror(file_.get(), &error);
    HEED_CHECK(error == Z_OK, "{}: the packed file is damaged or cut short; fetch it again",
               where());
    const bool any = !line.empty();
    while (line.ends_with('\n') || line.ends_with('\r') || line.ends_with(' ')) line.pop_back();
    return any;
  }

  std::size_t number() const { return number_; }
  std::string where() const { return fmt::format("{}:{}", path_.string(), number_); }

 private:
  struct Close {
    void operator()(gzFile file) const { gzclose(file); }
  };
  fs::path path_;
  std::unique_ptr<gzFile_s, Close> file_;
  std::size_t number_ = 0;
};

float parse_value(std::string_view text, const std::string& where) {
  float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  HEED_CHECK(error == std::errc() && end == text.data() + text.size() && std::isfinite(value),
             "{}: '{}' is not a finite number; a word and its vector are needed", where, text);
  return value;
}

/// word2vec's first line: how many words, how many numbers each.
bool is_header(std::string_view word, std::string_view rest) {
  const auto whole = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  };
  return whole(word) && whole(rest);
}

void parse_row(std::string_view rest, const std::string& where, std::vector<float>& values) {
  values.clear();
  for (;;) {
    const std::size_t end = rest.find(' ');
    values.push_back(parse_value(rest.substr(0, end), where));
    if (end == rest.npos) return;
    rest.remove_prefix(end + 1);
  }
}

}  // namespace

WordTable read_word_table(const fs::path& file, const WordTableOptions& options) {
  GzipLines lines(file);
  TableBuilder builder(options);
  std::string line;
  std::vector<float> values;
  while (!builder.full() && lines.next(line)) {
    HEED_CHECK(!invalid_utf8(line), "{}: not UTF-8; convert the file, as with iconv",
               lines.where());
    const std::string_view row = line;
    const std::size_t space = row.find(' ');
    HEED_CHECK(space != row.npos && space > 0,
               "{}: a word and its numbers are needed, between single spaces", lines.where());
    const std::string_view word = row.substr(0, space), rest = row.substr(space + 1);
    if (lines.number() == 1 && is_header(word, rest)) continue;
    parse_row(rest, lines.where(), values);
    if (builder.table().words.empty()) builder.width(values.size());
    HEED_CHECK(values.size() == builder.table().width,
               "{}: {} numbers, but the first row has {}; the file is ragged or cut short",
               lines.where(), values.size(), builder.table().width);
    builder.add(std::string(word), values);
  }
  return builder.take(file);
}

namespace {

/// Follows the stream of a wink file: depth 1 is the file, depth 2 its "vectors", depth 3 a row.
class WinkReader : public nlohmann::json_sax<json> {
 public:
  WinkReader(const fs::path& file, const WordTableOptions& options)
      : file_(file), builder_(options) {}

  bool null() override { return other("null"); }
  bool boolean(bool) override { return other("true or false"); }
  bool string(string_t&) override { return other("a string"); }
  bool binary(binary_t&) override { return other("bytes"); }
  bool number_integer(number_integer_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (depth_ == 1 && key_ == "dimensions") builder_.width(value);
    return number(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return number(value); }

  bool start_object(std::size_t) override {
    if (in_vectors_) return other("an object");
    if (++depth_ == 2 && key_ == "vectors") {
      in_vectors_ = true;
      HEED_CHECK(
          builder_.table().width > 0,
          "{}:1: no \"dimensions\" above 0 stands before \"vectors\"; a wink embeddings file "
          "is needed",
          file_.string());
    }
    return true;
  }
  bool end_object() override {
    if (--depth_ == 1) in_vectors_ = false;
    return true;
  }
  bool start_array(std::size_t) override {
    if (in_vectors_ && depth_ > 2) return other("a list");
    ++depth_;
    row_.clear();
    return true;
  }
  bool end_array() override {
    if (--depth_ != 2 || !in_vectors_) return true;
    const std::size_t width = builder_.table().width;
    HEED_CHECK(row_.size() >= width, "{}:1: the vector of '{}' has {} numbers; {} are needed",
               file_.string(), key_, row_.size(), width);
    row_.resize(width);
    HEED_CHECK(key_.find('\n') == key_.npos && !key_.empty(),
               "{}:1: the word before '{}' is empty or has a line end in it", file_.string(),
               builder_.table().words.empty() ? "" : builder_.table().words.back());
    builder_.add(key_, row_);
    return !builder_.full();  // enough: the rest is not read
  }
  bool key(string_t& name) override {
    key_ = name;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    throw InputError(
        fmt::format("{}:1: not JSON at byte {}; fetch the file again", file_.string(), position));
  }

  WordTable take() { return builder_.take(file_); }

 private:
  bool number(double value) {
    if (!in_vectors_) return true;
    if (depth_ != 3) return other("a number out of its list");
    const auto narrow = static_cast<float>(value);
    HEED_CHECK(std::isfinite(narrow), "{}:1: the vector of '{}' has a number that is not finite",
               file_.string(), key_);
    row_.push_back(narrow);
    return true;
  }
  bool other(std::string_view what) {
    HEED_CHECK(!in_vectors_, "{}:1: the vector of '{}' has {} in it; a list of numbers is needed",
               file_.string(), key_, what);
    return true;
  }

  fs::path file_;
  TableBuilder builder_;
  std::string key_;
  std::vector<float> row_;
  int depth_ = 0;
  bool in_vectors_ = false;
};

}  // namespace

WordTable read_wink_table(const fs::path& file, const WordTableOptions& options) {
  std::ifstream stream(file, std::ios::binary);
  HEED_CHECK(stream, "{}: cannot open: no such file", file.string());
  WinkReader reader(file, options);
  json::sax_parse(stream, &reader);
  return reader.take();
}

}  // namespace heed
