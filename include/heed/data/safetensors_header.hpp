#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

/// A row of a safetensors file's table. Offsets count from the start of the data.
struct SafeTensorsEntry {
  std::string name;
  std::string dtype;  ///< One of safetensors_dtypes().
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;
};

struct SafeTensorsHeader {
  std::vector<SafeTensorsEntry> entries;  ///< By offset; without gaps or overlaps.
  std::map<std::string, std::string> metadata;
  std::size_t data_begin = 0;  ///< Where the data starts in the file.
};

/// Checks all there is to check of a file before its data is used: the header is whole, the table
/// covers the data exactly, each shape fits its bytes, and the checksum, where there is one,
/// agrees. `file` is the whole file; `source` is named in the InputError.
SafeTensorsHeader parse_safetensors(std::string_view file, std::string_view source);

/// The bytes before the data: length, table, padding to eight bytes. The entries must be in the
/// order of the data, without gaps. The checksum's digits are zero; seal_safetensors fills them in.
std::string safetensors_prefix(const std::vector<SafeTensorsEntry>& entries,
                               const std::map<std::string, std::string>& metadata);
void seal_safetensors(std::string& file);

/// Bytes of an element, or 0 for a type we do not have.
std::size_t safetensors_dtype_size(std::string_view dtype);

}  // namespace heed
