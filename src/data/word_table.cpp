#include "heed/data/word_table.hpp"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "base/descriptor.hpp"
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

/// The bytes of a file, unpacked if they are gzip's. Not gzread: it passes over whatever follows
/// the packed data.
class Unpacked {
 public:
  explicit Unpacked(const fs::path& path) : path_(path), file_(open_to_read(path)) {
    size_of(file_, path);  // refuses a folder
    fill();
    if (!std::string_view(bytes_.data(), stream_.avail_in).starts_with("\x1f\x8b")) return;
    HEED_CHECK(inflateInit2(&stream_, kGzipWindow) == Z_OK, "{}: cannot unpack gzip",
               path.string());
    packed_ = true;
  }
  ~Unpacked() {
    if (packed_) inflateEnd(&stream_);
  }
  Unpacked(const Unpacked&) = delete;
  Unpacked& operator=(const Unpacked&) = delete;

  /// Appends the next bytes to `text`; false at the end. `where` is named when they are damaged.
  bool more(std::string& text, const std::string& where) {
    if (stream_.avail_in == 0) fill();
    if (stream_.avail_in == 0) {
      HEED_CHECK(!inside_, "{}: the packed file is cut short; fetch it again", where);
      return false;
    }
    if (packed_) {
      unpack(text, where);
    } else {
      text.append(bytes_.data(), std::exchange(stream_.avail_in, 0));
    }
    return true;
  }

 private:
  static constexpr int kGzipWindow = 15 + 16;  // zlib's way to say gzip, and the largest window

  void fill() {
    ssize_t got = 0;
    do got = ::read(file_.fd, bytes_.data(), bytes_.size());
    while (got < 0 && errno == EINTR);
    if (got < 0) fail_on(path_, "read");
    stream_.next_in = reinterpret_cast<Bytef*>(bytes_.data());  // NOLINT
    stream_.avail_in = static_cast<uInt>(got);
  }

  void unpack(std::string& text, const std::string& where) {
    if (!inside_) inflateReset(&stream_);  // a gzip file may be several, one after the other
    const std::size_t before = text.size();
    text.resize(before + bytes_.size());
    stream_.next_out = reinterpret_cast<Bytef*>(text.data() + before);  // NOLINT
    stream_.avail_out = static_cast<uInt>(bytes_.size());
    const int status = inflate(&stream_, Z_NO_FLUSH);
    HEED_CHECK(status == Z_OK || status == Z_STREAM_END,
               "{}: the packed file is damaged, or something else follows it; fetch it again",
               where);
    text.resize(text.size() - stream_.avail_out);
    inside_ = status == Z_OK;
  }

  fs::path path_;
  Descriptor file_;
  std::string bytes_ = std::string(1 << 18, '\0');
  z_stream stream_{};
  bool packed_ = false, inside_ = false;  // the latter: before the end of what is packed
};

/// Lines of a file, packed or not; a byte order mark is no part of the first.
class PackedLines {
 public:
  explicit PackedLines(const fs::path& path) : path_(path), bytes_(path) {}

  /// The line without its end and the spaces before it, there until the next is asked for; false
  /// at the end of the file.
  bool next(std::string_view& line) {
    ++number_;
    const std::size_t end = find_end();
    if (begin_ == text_.size()) return false;
    line = std::string_view(text_).substr(begin_, end - begin_);
    begin_ = std::min(end + 1, text_.size());
    if (number_ == 1 && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    HEED_CHECK(!invalid_utf8(line), "{}: not UTF-8; convert the file, as with iconv", where());
    HEED_CHECK(line.find('\0') == line.npos,
               "{}: a NUL byte; fetch the file again, or convert it to UTF-8, as with iconv",
               where());
    return true;
  }

  std::size_t number() const { return number_; }
  std::string where() const { return fmt::format("{}:{}", path_.string(), number_); }

 private:
  /// Where the line from `begin_` on ends, once all of it is here.
  std::size_t find_end() {
    std::size_t end = text_.find('\n', begin_);
    if (end != text_.npos) return end;
    text_.erase(0, std::exchange(begin_, 0));
    for (std::size_t known = text_.size(); bytes_.more(text_, where()); known = text_.size()) {
      end = text_.find('\n', known);
      if (end != text_.npos) return end;
    }
    return text_.size();
  }

  fs::path path_;
  Unpacked bytes_;
  std::string text_;  // what is read; the next line begins at `begin_`
  std::size_t begin_ = 0, number_ = 0;
};

float parse_value(std::string_view text, const std::string& where) {
  const char* const stop = text.data() + text.size();
  float value = 0;
  std::from_chars_result read = std::from_chars(text.data(), stop, value);
  if (read.ec == std::errc::result_out_of_range) {  // too large, or so small that it is 0
    double wide = 0;
    read = std::from_chars(text.data(), stop, wide);
    value = static_cast<float>(wide);
  }
  HEED_CHECK(read.ec == std::errc() && read.ptr == stop && std::isfinite(value),
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
  PackedLines lines(file);
  TableBuilder builder(options);
  std::string_view row;
  std::vector<float> values;
  while (!builder.full() && lines.next(row)) {
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
    if (depth_ == 1 && key_ == "dimensions") set_width(value);
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
  /// Once, before any row: the rows lie in the table without gaps.
  void set_width(std::uint64_t width) {
    HEED_CHECK(builder_.table().width == 0,
               "{}:1: \"dimensions\" stands here a second time; one, before \"vectors\", is needed",
               file_.string());
    builder_.width(width);
  }
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
  size_of(open_to_read(file), file);  // says why it cannot be read; a stream does not
  std::ifstream stream(file, std::ios::binary);
  WinkReader reader(file, options);
  json::sax_parse(stream, &reader);
  return reader.take();
}

}  // namespace heed
