// Format: https://github.com/huggingface/safetensors#format. Nothing of a file is believed before
// it is checked: sizes are compared with the bytes at hand, never used to allocate.
#include "heed/data/safetensors_header.hpp"

#include <zlib.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "data/table.hpp"
#include "heed/base/error.hpp"
#include "heed/base/words.hpp"

namespace heed {
namespace {

using nlohmann::json;

constexpr std::string_view kMetadata = "__metadata__";
constexpr std::string_view kFormatKey = "heed.format";
constexpr std::string_view kChecksumKey = "heed.crc32";
constexpr std::string_view kBlank = "00000000";
constexpr std::size_t kLengthBytes = 8, kChecksumDigits = 8, kMaxRank = 64;
constexpr std::uint64_t kMaxHeader = 100'000'000;  // the limit of the published reader

/// Says what is wrong with a file in one form.
struct Complaint {
  std::string_view source;
  [[noreturn]] void operator()(const std::string& reason) const {
    throw InputError(fmt::format("{}: not a sound safetensors file: {}; write or fetch it again",
                                 source, reason));
  }
};

std::uint64_t read_length(std::string_view file) {
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;)
    length = length << 8 | static_cast<unsigned char>(file[i]);
  return length;
}

/// Parses the header; the format allows no two equal keys.
json parse_header(std::string_view text, const Complaint& complain) {
  std::optional<std::string> twice;
  json root;
  try {
    root = parse_json(text, twice);
  } catch (const json::exception&) {
    complain("the header is not JSON");
  }
  if (!root.is_object()) complain("the header is not a JSON object");
  if (twice) complain(fmt::format("the name '{}' comes twice in the header", *twice));
  return root;
}

std::uint64_t unsigned_number(const json& value, const std::string& what,
                              const Complaint& complain) {
  if (!value.is_number_unsigned())
    complain(fmt::format("{} is not a whole number of 0 or more", what));
  return value.get<std::uint64_t>();
}

/// The bytes that dtype and shape ask for. Dimensions of 0 do not excuse the others: their product
/// must be a number we can hold, or a later computation of strides overflows.
std::uint64_t byte_size(const SafeTensorsEntry& entry, const Complaint& complain) {
  std::uint64_t product = safetensors_dtype_size(entry.dtype);
  bool empty = false;
  for (const std::int64_t size : entry.shape) {
    empty = empty || size == 0;
    const auto factor = static_cast<std::uint64_t>(std::max<std::int64_t>(size, 1));
    if (__builtin_mul_overflow(product, factor, &product) || product > INT64_MAX) {
      complain(fmt::format("the shape of '{}' is too large", entry.name));
    }
  }
  return empty ? 0 : product;
}

SafeTensorsEntry parse_entry(const std::string& name, const json& value,
                             const Complaint& complain) {
  const auto part = [&](const char* key) -> const json& {
    const auto found = value.find(key);
    if (found == value.end()) complain(fmt::format("'{}' has no {}", name, key));
    return *found;
  };
  if (!value.is_object()) complain(fmt::format("the entry of '{}' is not an object", name));
  SafeTensorsEntry entry{.name = name, .dtype = {}, .shape = {}};
  const json &dtype = part("dtype"), &shape = part("shape"), &offsets = part("data_offsets");
  if (value.size() != 3)
    complain(fmt::format("'{}' has more than dtype, shape and data_offsets", name));
  if (!dtype.is_string()) complain(fmt::format("the dtype of '{}' is not a string", name));
  entry.dtype = dtype.get<std::string>();
  if (safetensors_dtype_size(entry.dtype) == 0) {
    complain(
        fmt::format("'{}' has dtype '{}'; one of F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL is needed",
                    name, entry.dtype));
  }
  if (!shape.is_array()) complain(fmt::format("the shape of '{}' is not a list", name));
  if (shape.size() > kMaxRank)
    complain(fmt::format("'{}' has more than {} dimensions", name, kMaxRank));
  for (const json& size : shape) {
    const std::uint64_t number =
        unsigned_number(size, fmt::format("a dimension of '{}'", name), complain);
    if (number > INT64_MAX) complain(fmt::format("the shape of '{}' is too large", name));
    entry.shape.push_back(static_cast<std::int64_t>(number));
  }
  if (!offsets.is_array() || offsets.size() != 2)
    complain(fmt::format("'{}' needs two data_offsets", name));
  entry.begin = unsigned_number(offsets[0], fmt::format("an offset of '{}'", name), complain);
  entry.end = unsigned_number(offsets[1], fmt::format("an offset of '{}'", name), complain);
  if (entry.end < entry.begin) complain(fmt::format("'{}' ends before it begins", name));
  const std::uint64_t needed = byte_size(entry, complain);
  if (entry.end - entry.begin != needed) {
    complain(fmt::format("'{}' has {} bytes, its shape and dtype need {}", name,
                         entry.end - entry.begin, needed));
  }
  return entry;
}

std::map<std::string, std::string> parse_metadata(const json& value, const Complaint& complain) {
  if (!value.is_object()) complain("__metadata__ is not an object");
  std::map<std::string, std::string> metadata;
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) complain(fmt::format("the metadata '{}' is not a string", key));
    metadata[key] = text.get<std::string>();
  }
  return metadata;
}

/// The table must cover the data exactly: nothing shared, nothing left over, nothing hidden.
void check_layout(std::vector<SafeTensorsEntry>& entries, std::uint64_t data_size,
                  const Complaint& complain) {
  std::ranges::sort(entries, {},
                    [](const auto& entry) { return std::pair(entry.begin, entry.end); });
  std::uint64_t expected = 0;
  for (const SafeTensorsEntry& entry : entries) {
    if (entry.begin < expected) complain(fmt::format("'{}' overlaps another tensor", entry.name));
    if (entry.begin > expected) complain(fmt::format("there is a gap before '{}'", entry.name));
    if (entry.end > data_size) {
      complain(fmt::format("'{}' ends at byte {} of {} bytes of data; the file is cut short",
                           entry.name, entry.end, data_size));
    }
    expected = entry.end;
  }
  if (expected != data_size) {
    complain(fmt::format("{} bytes follow the last tensor", data_size - expected));
  }
}

std::string marked_checksum(std::string_view digits) {
  return fmt::format("\"{}\":\"{}\"", kChecksumKey, digits);
}

/// Where the checksum's digits stand. Inside any other string its quotes would be escaped, so the
/// mark occurs once in a header of our own.
std::optional<std::size_t> find_checksum(std::string_view header, std::string_view digits) {
  const std::string mark = marked_checksum(digits);
  const std::size_t found = header.find(mark);
  if (found == header.npos) return std::nullopt;
  return found + mark.size() - 1 - digits.size();
}

std::uint32_t crc(std::uint32_t start, std::string_view bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(start, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

/// CRC-32 of the file as it was before its digits, at `place`, were filled in.
std::string checksum(std::string_view file, std::size_t place) {
  std::uint32_t sum = crc(0, file.substr(0, place));
  sum = crc(sum, kBlank);
  sum = crc(sum, file.substr(place + kChecksumDigits));
  return fmt::format("{:08x}", sum);
}

void check_checksum(std::string_view file, const SafeTensorsHeader& header,
                    const Complaint& complain) {
  const auto found = header.metadata.find(std::string(kChecksumKey));
  if (found == header.metadata.end()) {
    if (header.metadata.contains(std::string(kFormatKey)))
      complain("its checksum is gone, so it was altered");
    return;  // another program's file
  }
  const std::string& digits = found->second;
  const auto place = digits.size() == kChecksumDigits
                         ? find_checksum(file.substr(0, header.data_begin), digits)
                         : std::nullopt;
  if (!place || checksum(file, *place) != digits) {
    complain(
        "its checksum does not agree, so it was altered (a program that changes it must drop the "
        "metadata "
        "'heed.crc32' and 'heed.format')");
  }
}

}  // namespace

std::size_t safetensors_dtype_size(std::string_view dtype) {
  if (dtype == "F64" || dtype == "I64") return 8;
  if (dtype == "F32" || dtype == "I32") return 4;
  if (dtype == "F16" || dtype == "BF16" || dtype == "I16") return 2;
  if (dtype == "I8" || dtype == "U8" || dtype == "BOOL") return 1;
  return 0;
}

SafeTensorsHeader parse_safetensors(std::string_view file, std::string_view source) {
  const Complaint complain{source};
  if (file.size() < kLengthBytes)
    complain(fmt::format("{} bytes, at least 8 are needed", file.size()));
  const std::uint64_t length = read_length(file);
  if (length > kMaxHeader)
    complain(fmt::format("its header claims {} bytes, over the limit", length));
  if (length > file.size() - kLengthBytes) {
    complain(fmt::format("its header claims {} bytes, {} are there; the file is cut short", length,
                         file.size() - kLengthBytes));
  }
  const std::string_view text = file.substr(kLengthBytes, length);
  if (!text.starts_with('{')) complain("the header does not start with '{'");
  if (invalid_utf8(text)) complain("the header is not UTF-8");
  SafeTensorsHeader header;
  header.data_begin = kLengthBytes + length;
  for (const json root = parse_header(text, complain); const auto& [name, value] : root.items()) {
    if (name == kMetadata) {
      header.metadata = parse_metadata(value, complain);
    } else {
      header.entries.push_back(parse_entry(name, value, complain));
    }
  }
  check_layout(header.entries, file.size() - header.data_begin, complain);
  check_checksum(file, header, complain);
  header.metadata.erase(std::string(kChecksumKey));
  header.metadata.erase(std::string(kFormatKey));
  return header;
}

std::string safetensors_prefix(const std::vector<SafeTensorsEntry>& entries,
                               const std::map<std::string, std::string>& metadata) {
  json root = json::object();
  for (const SafeTensorsEntry& entry : entries) {
    HEED_CHECK(entry.name != kMetadata && !invalid_utf8(entry.name) && !root.contains(entry.name),
               "safetensors: the tensor name '{}' is taken or not allowed; choose another",
               entry.name);
    root[entry.name] = {
        {"dtype", entry.dtype}, {"shape", entry.shape}, {"data_offsets", {entry.begin, entry.end}}};
  }
  json notes = {{kFormatKey, "1"}, {kChecksumKey, kBlank}};
  for (const auto& [key, value] : metadata) {
    HEED_CHECK(!notes.contains(key), "safetensors: the metadata key '{}' is ours; choose another",
               key);
    HEED_CHECK(!invalid_utf8(key) && !invalid_utf8(value),
               "safetensors: the metadata '{}' is not UTF-8", key);
    notes[key] = value;
  }
  root[kMetadata] = std::move(notes);
  std::string text = root.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data starts at a multiple of eight
  HEED_CHECK(text.size() <= kMaxHeader,
             "safetensors: the names and metadata take {} bytes; {} is the limit", text.size(),
             kMaxHeader);
  std::string prefix;
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    prefix += static_cast<char>(text.size() >> 8 * i & 0xFF);
  return prefix + text;
}

void seal_safetensors(std::string& file) {
  const std::size_t end = kLengthBytes + read_length(file);
  const auto place = find_checksum(std::string_view(file).substr(0, end), kBlank);
  HEED_CHECK(place, "safetensors: the file to seal has no room for its checksum");
  file.replace(*place, kChecksumDigits, checksum(file, *place));
}

}  // namespace heed
