// Configs in TOML. What was read can be written, and does not change by being written and read:
// the first time all options of the parts are spelt out.
#include "heed/models/config.hpp"

#include "ablate/names.hpp"
#include "fuzz/input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heed;
  const std::string_view text(reinterpret_cast<const char*>(data), size);  // NOLINT
  Config config;
  if (!fuzz::accepted([&] { config = parse_config(text, "c.toml", testing::names()); })) return 0;
  const std::string first = to_toml(config);
  std::string second, third;
  const bool readable = fuzz::accepted([&] {
    second = to_toml(parse_config(first, "first.toml", testing::names()));
    third = to_toml(parse_config(second, "second.toml", testing::names()));
  });
  fuzz::require(readable, "a config that was written can be read");
  fuzz::require(second == third, "a config does not change when it is written and read");
  return 0;
}
