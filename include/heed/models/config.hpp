#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "heed/attention/registry.hpp"
#include "heed/attention/spec.hpp"
#include "heed/data/dataset.hpp"

namespace heed {

/// A config file: task, the four models of the survey's task model, and training.
struct Config {
  struct Task {
    std::string kind = "classify";
    DataSource source{.data = "builtin:reviews"};
    std::int64_t min_count = 1;  // words seen less often are unknown
  };
  struct Feature {
    PartSpec model = "bigru";
    std::int64_t dim = 64;       // width of the features; both directions together
    std::int64_t embedding = 0;  // width of the word vectors; 0 = dim
    std::int64_t layers = 1;
    double dropout = 0.2;
  };
  struct Train {
    std::int64_t epochs = 10;
    std::int64_t seed = 1;
    std::int64_t batch = 32;
    double lr = 0.003;
    double weight_decay = 0;
    double clip = 5;  // greatest norm of the gradient; 0 = no clipping
    std::int64_t patience =
        3;  // epochs without a better validation score before it stops; 0 = never
    double checkpoint_seconds = 60;
    std::int64_t traces = 200;  // held-out examples whose weights are kept for the report
  };

  Task task;
  Feature feature;
  PartSpec query = "basic";
  AttentionSpec attention;
  PartSpec output = "softmax";
  Train train;
};

/// Reads TOML. An unknown key, id or value is an InputError `FILE:LINE: …` with the nearest valid
/// word. Ids are looked up in `registry`; parts that are only planned are refused.
Config parse_config(std::string_view text, const std::string& file, const Registry& registry);
/// The same from a file; relative data paths are resolved against its folder.
Config load_config(const std::filesystem::path& file, const Registry& registry);

/// All keys with their values, defaults included: what a run was made with.
std::string to_toml(const Config& config);

/// A JSON schema of the config, made from the keys and the registry.
std::string config_schema(const Registry& registry);

}  // namespace heed
