#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace heed {

/// A small generator with the same stream on every machine and compiler (SplitMix64, Steele et al.
/// 2014), for corpora, shuffles and seeds. std:: distributions differ between libraries.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  /// Uniform in [0, 1), 53 bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  /// Uniform in 0 … n − 1; n > 0. Multiply-shift: the bias is below n / 2⁶⁴.
  std::size_t below(std::size_t n) {
    return static_cast<std::size_t>((static_cast<unsigned __int128>(next()) * n) >> 64);
  }

  bool chance(double probability) { return uniform() < probability; }

  template <class T>
  void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

  /// A seed for a part of the work, so that streams do not depend on the order of their use.
  static std::uint64_t derive(std::uint64_t seed, std::uint64_t part) {
    return Random(seed ^ (part * 0xD6E8FEB86659FD93u)).next();
  }

 private:
  std::uint64_t state_;
};

}  // namespace heed
