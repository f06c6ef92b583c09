#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "heed/attention/registry.hpp"
#include "heed/attention/spec.hpp"

namespace heed {

/// What somebody looks for in attention.
struct Needs {
  std::int64_t length = 100;        // keys
  std::int64_t queries = 1;         // that meet them
  std::int64_t width = 64;          // of queries and keys
  std::vector<std::string> wanted;  // words of `known_needs`
};

/// A word a need is named by, and the parts that serve it, as group/id.
struct KnownNeed {
  std::string word;
  std::vector<std::string> parts;
};

/// Every word that some part of the registry says it suits.
std::vector<KnownNeed> known_needs(const Registry& registry);

/// One combination of parts, with reasons.
struct Advice {
  AttentionSpec parts;
  double points = 0;
  double ms = 0;  // one forward pass of these sizes on this machine
  std::vector<std::string> why;
  std::vector<std::string> lacks;  // needs that nothing in it serves
};

/// The best combinations first: by the needs their parts suit, then by measured cost (with the need
/// "latency" cost counts among the points). An unknown need is an InputError.
std::vector<Advice> advise(const Needs& needs, const Registry& registry, std::size_t count = 5);

/// The `[attention]` table of a config.
std::string attention_table(const AttentionSpec& parts);

}  // namespace heed
