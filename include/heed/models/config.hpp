#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "heed/attention/registry.hpp"
#include "heed/attention/spec.hpp"
#include "heed/data/dataset.hpp"

namespace heed {

/// A config file: task, the four models of the survey's task model, and training.
struct Config {
  struct Task {
    DataSource source{.data = "builtin:reviews"};
    std::int64_t min_count = 1;  // words seen less often are unknown
    std::int64_t subwords = 0;   // pieces that words are cut into; 0: words stay whole
    std::string pieces = "bpe";  // what these are
  };
  struct Feature {
    PartSpec vectors = "trained";
    PartSpec model = "bigru";
    std::int64_t dim = 64;       // width of the features; both directions together
    std::int64_t embedding = 0;  // width of the word vectors; 0 = dim
    std::int64_t layers = 1;
    double dropout = 0.2;
    bool shared = true;         // one feature model for all inputs, or one each
    bool across = false;        // read on from sentence to sentence, or each sentence alone
    std::string pool = "none";  // how the words of a sentence become one vector
    std::int64_t time = 0;      // sentences, from the last, whose age is told; 0 = none
    double time_noise = 0;      // in training, how likely one more sentence has passed after each
  };
  struct Train {
    std::int64_t epochs = 10;
    std::int64_t seed = 1;
    std::int64_t batch = 32;
    std::string optimiser = "adamw";
    double lr = 0.003;
    double tune_lr = 0;  // of parts that were trained before; 0 = lr
    double momentum = 0.9;
    double beta2 = 0.999;
    std::string schedule = "constant";
    std::int64_t warmup = 0;      // steps until the learning rate is reached
    std::int64_t accumulate = 1;  // batches whose gradients make one step
    double average = 0;           // decay of the averaged weights that are evaluated; 0 = none
    std::string precision = "float32";
    double label_smoothing = 0;
    double supervise = 0;  // weight of the loss on attention, where the data has gold attention
    std::string supervise_loss = "cross-entropy";
    std::string supervise_map;        // the one map it pulls at; empty: all that look at gold
    std::int64_t supervise_head = 0;  // the head of it, from 1; 0: the mean of all
    double reversal = 0.1;  // with task.source: how hard features of both domains are made alike
    double weight_decay = 0;
    double clip = 5;  // greatest norm of the gradient; 0 = no clipping
    std::int64_t patience =
        3;  // epochs without a better validation score before it stops; 0 = never
    std::string select = "score";  // what tells which epoch is best, on the validation part
    double checkpoint_seconds = 60;
    std::int64_t traces = 200;  // held-out examples whose weights are kept for the report
  };

  Task task;
  Feature feature;
  PartSpec query = "basic";
  AttentionSpec attention;
  PartSpec output = "softmax";
  double output_dropout = 0;  // on the context
  Train train;
};

/// Reads TOML. An unknown key, id or value is an InputError `FILE:LINE: …` with the nearest valid
/// word. Ids are looked up in `registry`; parts that are only planned are refused.
Config parse_config(std::string_view text, const std::string& file, const Registry& registry);
/// The same from a file; relative data paths are resolved against its folder. `changes` are keys
/// set after it, each as `section.key=value` in TOML; a value that is no TOML is taken as text.
Config load_config(const std::filesystem::path& file, const Registry& registry,
                   const std::vector<std::string>& changes = {});

/// All keys with their values, defaults included: what a run was made with.
std::string to_toml(const Config& config);

/// A JSON schema of the config, made from the keys and the registry.
std::string config_schema(const Registry& registry);

}  // namespace heed
