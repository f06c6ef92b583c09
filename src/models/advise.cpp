#include "heed/models/advise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>

#include "heed/base/error.hpp"
#include "heed/base/words.hpp"
#include "heed/models/describe.hpp"

namespace heed {
namespace {

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

constexpr const char* kLatency = "latency";  // measured, not a matter of parts

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

/// The parts of a group that may serve: all that suit some need, and the default. Any score and
/// alignment may; another wiring or multiplicity of queries must be asked for.
std::vector<const PartInfo*> candidates(const Registry& registry, Group group, const Needs& needs,
                                        bool free) {
  std::vector<const PartInfo*> found;
  for (const PartInfo& part : registry.parts()) {
    if (part.group != group || part.status != Status::built) continue;
    if (free || is_default(part) || matches(part, needs) > 0) found.push_back(&part);
  }
  return found;
}

/// Inputs a mechanism takes, of one length and width: sentences of twenty, four edges a node.
Inputs inputs_for(const MechanismProblem& problem, const PartInfo& info, const Needs& needs) {
  Inputs in;
  for (const auto& input : problem.inputs) {
    std::vector<Segments> levels;
    if (input.levels > 0) {
      Tensor sizes = torch::full({1, (needs.length + 19) / 20}, 20, torch::kInt64);
      sizes[0][-1] = needs.length - 20 * (sizes.size(1) - 1);
      levels.push_back({.sizes = sizes, .lengths = torch::full({1}, sizes.size(1), torch::kInt64)});
    }
    in.set(input.name, torch::randn({1, needs.length, input.dim}), {}, levels);
  }
  if (info.takes.front().edges) {
    for (const std::string& relation : problem.relations)
      in.set_edges(relation, torch::randint(needs.length, {2, 4 * needs.length}, torch::kInt64));
  }
  in.query = needs.queries == 1 ? torch::randn({1, needs.width})
                                : torch::randn({1, needs.queries, needs.width});
  return in;
}

/// Milliseconds of one forward pass, the best of several; negative: the parts do not go together.
double measure(const AttentionSpec& parts, const Registry& registry, const Needs& needs) {
  const PartInfo& info = registry.find(Group::mechanism, parts.mechanism.id);
  const PartInfo& score = registry.find(Group::score, parts.score.id);
  const PartInfo& align = registry.find(Group::align, parts.align.id);
  // A formula without a kernel may build all pairs of features at once.
  const double numbers = static_cast<double>(needs.length) * static_cast<double>(needs.queries) *
                         static_cast<double>(needs.width);
  if ((score.fused.empty() || align.fused.empty()) && numbers > 2e8) return -1;
  torch::NoGradGuard no_grad;
  try {
    const MechanismProblem problem = plain_problem(parts, info, needs.width);
    const auto mechanism = make_mechanism(problem);
    mechanism->eval();
    const Inputs in = inputs_for(problem, info, needs);
    double best = 1e30;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(40);
    for (int round = 0; round < 3 || std::chrono::steady_clock::now() < end; ++round) {
      const auto start = std::chrono::steady_clock::now();
      Trace quiet;
      mechanism->forward(in, quiet);
      const std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - start;
      best = std::min(best, took.count());
    }
    return best;
  } catch (const InputError&) {
    return -1;
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
    if (need == kLatency) continue;
    int served = 0;
    for (const PartInfo* part : parts) {
      if (!contains(part->suits, need)) continue;
      ++served;
      const std::string line = fmt::format("{} {}: {}", name(part->group), part->id, part->advice);
      if (!contains(advice.why, line)) advice.why.push_back(line);
    }
    // To be served at all is what counts; twice is little better.
    advice.points += served == 0 ? -2 : 2 + 0.25 * (served - 1);
    if (served == 0) advice.lacks.push_back(need);
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
  std::map<std::string, std::vector<std::string>> by_word = {
      {kLatency, {"what is measured to be quick"}}};
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
  for (const PartInfo* mechanism : candidates(registry, Group::mechanism, needs, false)) {
    for (const PartInfo* queries : candidates(registry, Group::queries, needs, false)) {
      for (const PartInfo* score : candidates(registry, Group::score, needs, true)) {
        for (const PartInfo* align : candidates(registry, Group::align, needs, true)) {
          if (!mechanism->scored && !(is_default(*score) && is_default(*align))) continue;
          all.push_back(combine({mechanism, queries, score, align}, needs));
        }
      }
    }
  }
  const auto better = [](const Advice& a, const Advice& b) { return a.points > b.points; };
  std::stable_sort(all.begin(), all.end(), better);
  // Cost is measured for those that have a chance.
  constexpr std::size_t kMeasured = 60;
  if (all.size() > kMeasured) all.resize(kMeasured);
  double least = 1e30;
  for (Advice& advice : all) {
    advice.ms = measure(advice.parts, registry, needs);
    if (advice.ms > 0) least = std::min(least, advice.ms);
  }
  std::erase_if(all, [](const Advice& advice) { return advice.ms < 0; });
  for (Advice& advice : all) {
    const double weight = contains(needs.wanted, kLatency) ? 0.5 : 0.02;
    advice.points -= weight * std::log2(advice.ms / least);
  }
  std::stable_sort(all.begin(), all.end(), better);
  // The best of each mechanism and alignment: five scores of one are no choice.
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
