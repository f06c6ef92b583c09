// How parts and their options are named: the axes (a) and changes (b) of an ablation, changes of a
// config (c), parts as JSON (d); and the result of a cell (e), which is read when it is resumed.
#include <nlohmann/json.hpp>

#include "ablate/names.hpp"
#include "fuzz/input.hpp"
#include "heed/ablate/axis.hpp"
#include "heed/ablate/result.hpp"
#include "heed/attention/registry_json.hpp"

namespace {

using namespace heed;
using Json = nlohmann::ordered_json;

void read_changes(std::string_view text) {
  for (const std::string& change : ablate::parse_changes(text)) {
    ablate::short_change(change);
    fuzz::accepted(
        [&] { load_config(fuzz::folder().write("empty.toml", ""), testing::names(), {change}); });
  }
}

void read_part(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return;
  const PartSpec spec = spec_from_json(json, "fuzzed");
  for (const Group group : {Group::score, Group::align}) {
    fuzz::accepted([&] {
      const PartInfo& part = testing::names().find_built(group, spec.id);
      for (const auto& [name, value] : resolve(part, spec.options, "fuzzed")) to_text(value);
    });
  }
  testing::names().find(spec.id);
}

void read_result(std::string_view text) {
  const ablate::CellResult result = ablate::parse_result(std::string(text), "fuzzed");
  const std::string written = ablate::to_json(result);
  fuzz::require(ablate::to_json(ablate::parse_result(written, "again")) == written,
                "a result does not change when it is written and read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Input input(data, size);
  const std::string text(input.file(0));
  fuzz::accepted([&] {
    switch (input.choose(5)) {
      case 0:
        ablate::parse_axis(text, testing::names());
        break;
      case 1:
        read_changes(text);
        break;
      case 2:
        load_config(fuzz::folder().write("c.toml", input.file(1)), testing::names(), {text});
        break;
      case 3:
        read_part(text);
        break;
      default:
        read_result(text);
    }
  });
  return 0;
}
