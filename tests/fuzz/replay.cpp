// Runs a fuzz target on the files it is given, and on all files of the folders: no libFuzzer
// needed.
#include <algorithm>

#include "fuzz/input.hpp"

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_of(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path)) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 0;
  for (int i = 1; i < argc; ++i) {
    for (const fs::path& file : files_of(argv[i])) {
      fmt::print(stderr, "{}\n", file.string());  // the last one printed is the one that fails
      std::ifstream stream(file, std::ios::binary);
      const std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()),  // NOLINT
                             bytes.size());
      ++count;
    }
  }
  fmt::print("{} inputs\n", count);
  return count > 0 ? 0 : 1;
}
