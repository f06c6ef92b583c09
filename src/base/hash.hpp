#pragma once
#include <cstdint>
#include <string_view>

namespace heed {

/// FNV-1a, 64 bits: the same on every machine, unlike std::hash. `start` chains.
constexpr std::uint64_t hash_text(std::string_view text,
                                  std::uint64_t start = 0xCBF29CE484222325u) {
  std::uint64_t hash = start;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

}  // namespace heed
