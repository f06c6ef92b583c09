#include "heed/models/advise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>

#include "heed/attention/attention.hpp"
#include "heed/base/error.hpp"
#include "heed/base/words.hpp"

namespace heed {
namespace {

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::int64_t matches(const PartInfo& part, const Needs& needs) {
  return std::count_if(needs.wanted.begin(), needs.wanted.end(),
                       [&](const std::string& need) { return contains(part.suits, need); });
}

/// What stands where nothing else is asked for.
bool is_default(const PartInfo& part) {
  const AttentionSpec plain;
  return (part.group == Group::mechanism && part.id == plain.mechanism.id) ||
         (part.group == Group::score && part.id == plain.score.id) ||
         (part.group == Group::align && part.id == plain.align.id) ||
         (part.group == Group::queries && part.id == plain.queries.id);
}

/// The parts of a group that may serve: all that suit some need, and the default. Scores and
/// alignments are always possible; a wiring that takes other inputs must be asked for.
std::vector<const PartInfo*> candidates(const Registry& registry, Group group, const Needs& needs) {
  std::vector<const PartInfo*> found;
  for (const PartInfo& part : registry.parts()) {
    if (part.group != group || part.status != Status::built) continue;
    const bool free = group == Group::score || group == Group::align;
    if (free || is_default(part) || matches(part, needs) > 0) found.push_back(&part);
  }
  return found;
}

/// Milliseconds of one forward attention, the best of several; negative: it cannot be measured.
double measure(const PartInfo& score, const PartInfo& align, const Needs& needs) {
  // A formula without a kernel may build all pairs of features at once.
  const bool fused = !score.fused.empty() && !align.fused.empty();
  const double numbers = static_cast<double>(needs.length) * static_cast<double>(needs.queries) *
                         static_cast<double>(needs.width);
  if (!fused && numbers > 2e8) return -1;
  torch::NoGradGuard no_grad;
  const Problem sizes{.query_dim = needs.width, .key_dim = needs.width, .value_dim = needs.width};
  AttendOptions options{.score = score.id, .align = align.id};
  try {
    for (const SizedParam& param : parameters_of(options.score, options.align, sizes)) {
      options.params[param.info.name] = param.initial();
    }
    const Tensor q = torch::randn({1, needs.queries, needs.width});
    const Tensor k = torch::randn({1, needs.length, needs.width});
    double best = 1e30;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(60);
    for (int round = 0; round < 3 || std::chrono::steady_clock::now() < end; ++round) {
      const auto start = std::chrono::steady_clock::now();
      attend(q, k, k, options);
      const std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - start;
      best = std::min(best, took.count());
    }
    return best;
  } catch (const InputError&) {
    return -1;  // the pair does not fit these sizes
  }
}

Advice combine(const std::vector<const PartInfo*>& parts, const Needs& needs) {
  Advice advice;
  for (const PartInfo* part : parts) {
    if (part->group == Group::mechanism) advice.parts.mechanism = part->id;
    if (part->group == Group::queries) advice.parts.queries = part->id;
    if (part->group == Group::score) advice.parts.score = part->id;
    if (part->group == Group::align) advice.parts.align = part->id;
    advice.points += is_default(*part) ? 0.25 : 0;
  }
  for (const std::string& need : needs.wanted) {
    bool served = false;
    for (const PartInfo* part : parts) {
      if (!contains(part->suits, need)) continue;
      served = true;
      advice.points += 1;
      const std::string line = fmt::format("{} {}: {}", name(part->group), part->id, part->advice);
      if (!contains(advice.why, line)) advice.why.push_back(line);
    }
    advice.points += served ? 1 : 0;
    if (!served) advice.lacks.push_back(need);
  }
  return advice;
}

void check_needs(const Needs& needs, const Registry& registry) {
  HEED_CHECK(needs.length > 0 && needs.queries > 0 && needs.width > 0,
             "advise: length {}, queries {} and width {} must be above 0", needs.length,
             needs.queries, needs.width);
  std::vector<std::string> words;
  for (const KnownNeed& need : known_needs(registry)) words.push_back(need.word);
  for (const std::string& need : needs.wanted) {
    HEED_CHECK(contains(words, need), "advise: unknown need '{}'{}", need, suggestion(need, words));
  }
}

}  // namespace

std::vector<KnownNeed> known_needs(const Registry& registry) {
  std::map<std::string, std::vector<std::string>> by_word;
  for (const PartInfo& part : registry.parts()) {
    for (const std::string& word : part.suits) {
      by_word[word].push_back(fmt::format("{}/{}", name(part.group), part.id));
    }
  }
  std::vector<KnownNeed> needs;
  for (auto& [word, parts] : by_word) needs.push_back({word, std::move(parts)});
  return needs;
}

std::vector<Advice> advise(const Needs& needs, const Registry& registry, std::size_t count) {
  check_needs(needs, registry);
  std::vector<Advice> all;
  for (const PartInfo* mechanism : candidates(registry, Group::mechanism, needs)) {
    for (const PartInfo* queries : candidates(registry, Group::queries, needs)) {
      for (const PartInfo* score : candidates(registry, Group::score, needs)) {
        for (const PartInfo* align : candidates(registry, Group::align, needs)) {
          all.push_back(combine({mechanism, queries, score, align}, needs));
        }
      }
    }
  }
  const auto better = [](const Advice& a, const Advice& b) { return a.points > b.points; };
  std::stable_sort(all.begin(), all.end(), better);
  // Cost is measured for the pairs that have a chance, each once.
  constexpr std::size_t kMeasured = 200;
  if (all.size() > kMeasured) all.resize(kMeasured);
  std::map<std::string, double> cost;
  double least = 1e30;
  for (Advice& advice : all) {
    const std::string pair = advice.parts.score.id + " " + advice.parts.align.id;
    const auto [at, fresh] = cost.emplace(pair, 0);
    if (fresh) {
      at->second = measure(registry.find(Group::score, advice.parts.score.id),
                           registry.find(Group::align, advice.parts.align.id), needs);
    }
    advice.ms = at->second;
    if (advice.ms > 0) least = std::min(least, advice.ms);
  }
  std::erase_if(all, [](const Advice& advice) { return advice.ms < 0; });
  for (Advice& advice : all) {
    const double weight = contains(needs.wanted, "latency") ? 1.0 : 0.05;
    advice.points -= weight * std::log2(advice.ms / least);
  }
  std::stable_sort(all.begin(), all.end(), better);
  // The best of each mechanism and alignment first: five scores of one are no choice.
  std::vector<Advice> chosen;
  std::set<std::string> seen;
  for (Advice& advice : all) {
    const std::string key =
        advice.parts.mechanism.id + " " + advice.parts.queries.id + " " + advice.parts.align.id;
    if (chosen.size() < count && seen.insert(key).second) chosen.push_back(std::move(advice));
  }
  return chosen;
}

std::string attention_table(const AttentionSpec& parts) {
  return fmt::format(
      "[attention]\nmechanism = \"{}\"\nscore = \"{}\"\nalign = \"{}\"\nqueries = \"{}\"\n",
      parts.mechanism.id, parts.score.id, parts.align.id, parts.queries.id);
}

}  // namespace heed
