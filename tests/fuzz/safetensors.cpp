// safetensors: a whole file (a), or a header (b) with as much data as fits it. Every tensor of an
// accepted file lies inside it, with the bytes its shape needs.
#include "fuzz/input.hpp"
#include "heed/data/safetensors_header.hpp"

namespace {

std::string around(std::string_view header, std::string_view data) {
  std::string file;
  for (int byte = 0; byte < 8; ++byte)
    file += static_cast<char>(header.size() >> (8 * byte) & 0xFF);
  return file.append(header).append(data);
}

void check(const heed::SafeTensorsHeader& header, std::size_t size) {
  for (const heed::SafeTensorsEntry& entry : header.entries) {
    heed::fuzz::require(entry.begin <= entry.end && header.data_begin + entry.end <= size,
                        "a tensor lies inside the file");
    std::uint64_t bytes = heed::safetensors_dtype_size(entry.dtype);
    heed::fuzz::require(bytes > 0, "a tensor's type is known");
    for (const std::int64_t length : entry.shape) bytes *= static_cast<std::uint64_t>(length);
    heed::fuzz::require(bytes == entry.end - entry.begin, "a shape fits its bytes");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heed;
  const fuzz::Input input(data, size);
  const bool whole = input.choose(2) == 0;
  const std::string file =
      whole ? std::string(input.file(0)) : around(input.file(0), input.file(1));
  fuzz::accepted([&] { check(parse_safetensors(file, "fuzzed"), file.size()); });
  return 0;
}
