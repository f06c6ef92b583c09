#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "heed/attention/tensor.hpp"

namespace heed {

/// Vectors of texts that were computed before, [positions, width] each, in one file that grows.
///
/// Several processes may use the same file: each sees what was there when it last looked, and
/// appends under a lock. What a killed process left unfinished is cut off by the next that writes.
/// A record that was altered is as if it were not there.
class FeatureCache {
 public:
  struct Entry {
    std::string text;
    Tensor features;  // [positions, width] float32
  };

  /// `file` empty: in memory, for as long as it lives. InputError when the file cannot be written.
  FeatureCache(const std::filesystem::path& file, std::int64_t width);
  ~FeatureCache();
  FeatureCache(const FeatureCache&) = delete;
  FeatureCache& operator=(const FeatureCache&) = delete;

  Tensor find(const std::string& text);  ///< Undefined when it is not there.
  void add(const std::vector<Entry>& entries);

 private:
  struct Place {
    std::int64_t offset = 0;  // of the text
    std::uint32_t positions = 0, checksum = 0;
  };

  void look();
  std::size_t vector_bytes(std::uint32_t positions) const;

  std::filesystem::path file_;
  std::int64_t width_, end_ = 0;  // end_: of the last whole record
  int descriptor_ = -1;
  std::unordered_map<std::string, Place> places_;
  std::unordered_map<std::string, Tensor> memory_;
};

/// A number that is another for other bytes, with all likelihood. Not for secrets.
std::uint64_t content_hash(std::string_view bytes);

/// Where caches are kept when the config does not say: $XDG_CACHE_HOME/heed or ~/.cache/heed.
std::filesystem::path cache_folder();

}  // namespace heed
