#include "metrics/meteor_match.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace heed::metrics {
namespace {

// Open alternatives kept after a word. Sentences stay far below; documents in one line get fewer,
// so that the work stays bounded.
constexpr std::size_t kMostStates = 4096, kFewestStates = 32, kMostSteps = 1 << 21;
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

using Candidates = std::vector<std::vector<Candidate>>;

/// What decides how the rest can go on: the reference words that are taken, as far as a later word
/// could want them, and the partner of the word just read (kNone: it has none).
struct Position {
  std::vector<std::uint64_t> taken;
  std::size_t last = kNone;
  bool operator==(const Position&) const = default;
};

struct Hash {
  std::size_t operator()(const Position& position) const {
    std::uint64_t hash = position.last;
    for (const std::uint64_t bits : position.taken) {
      hash = (hash ^ bits) * 0x9E3779B97F4A7C15u;
      hash ^= hash >> 29;
    }
    return hash;
  }
};

auto order(const MeteorMatch& m) { return std::tuple(m.exact, m.stem, m.synonym, ~m.chunks); }

bool worse(const MeteorMatch& a, const MeteorMatch& b) { return order(a) < order(b); }

/// A word that occurs on both sides: its copies in the reference, and how many are in the
/// hypothesis.
struct Type {
  std::vector<std::size_t> copies;
  std::size_t in_hypothesis = 0;
};

class Search {
 public:
  Search(std::span<const std::vector<Candidate>> candidates, std::size_t reference_length)
      : candidates_(candidates.begin(), candidates.end()),
        type_of_hypothesis_(candidates.size(), kNone),
        type_of_reference_(reference_length, kNone),
        later_of_type_(candidates.size()),
        wanted_(candidates.size() + 1, std::vector<std::uint64_t>((reference_length + 63) / 64)) {
    find_types();
    drop_needless();
    std::vector<std::size_t> later(types_.size());
    std::size_t steps = 0;
    for (std::size_t i = candidates_.size(); i-- > 0;) {
      wanted_[i] = wanted_[i + 1];
      for (const Candidate& c : candidates_[i]) wanted_[i][c.word / 64] |= bit(c.word);
      steps += candidates_[i].size() + 1;
      later_of_type_[i] = later;
      if (type_of_hypothesis_[i] != kNone) ++later[type_of_hypothesis_[i]];
    }
    most_states_ =
        std::clamp(kMostSteps / std::max<std::size_t>(steps, 1), kFewestStates, kMostStates);
  }

  MeteorMatch run() {
    States states;
    states[{.taken = std::vector<std::uint64_t>(wanted_[0].size())}] = {};
    for (std::size_t i = 0; i < candidates_.size(); ++i) states = step(states, i);
    MeteorMatch best;
    for (const auto& [position, match] : states) best = std::max(best, match, worse);
    return best;
  }

 private:
  using States = std::unordered_map<Position, MeteorMatch, Hash>;

  static std::uint64_t bit(std::size_t word) { return std::uint64_t{1} << (word % 64); }

  void find_types() {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      for (const Candidate& candidate : candidates_[i]) {
        if (candidate.stage != Stage::exact) continue;
        std::size_t& type = type_of_reference_[candidate.word];
        if (type_of_hypothesis_[i] == kNone) {
          if (type == kNone) types_.emplace_back();
          type_of_hypothesis_[i] = type == kNone ? types_.size() - 1 : type;
          ++types_[type_of_hypothesis_[i]].in_hypothesis;
        }
        if (type == kNone) types_[type_of_hypothesis_[i]].copies.push_back(candidate.word);
        type = type_of_hypothesis_[i];
      }
    }
  }

  // Exact matches come first, so the side that has a word less often matches every copy exactly,
  // and no copy of it is open to another stage.
  void drop_needless() {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const std::size_t own = type_of_hypothesis_[i];
      std::erase_if(candidates_[i], [&](const Candidate& candidate) {
        if (candidate.stage == Stage::exact) return false;
        const std::size_t other = type_of_reference_[candidate.word];
        return (own != kNone && types_[own].in_hypothesis <= types_[own].copies.size()) ||
               (other != kNone && types_[other].copies.size() <= types_[other].in_hypothesis);
      });
    }
  }

  static bool taken(const Position& position, std::size_t word) {
    return (position.taken[word / 64] & bit(word)) != 0;
  }

  std::size_t free_copies(const Position& position, std::size_t type) const {
    const auto& copies = types_[type].copies;
    return static_cast<std::size_t>(
        std::ranges::count_if(copies, [&](std::size_t word) { return !taken(position, word); }));
  }

  /// Whether word i may go without an exact match: its later copies must fill all that are free.
  bool may_pass(const Position& position, std::size_t i) const {
    const std::size_t type = type_of_hypothesis_[i];
    return type == kNone || later_of_type_[i][type] >= free_copies(position, type);
  }

  /// Whether a reference word is not needed for an exact match of a later word.
  bool may_give(const Position& position, std::size_t i, std::size_t word) const {
    const std::size_t type = type_of_reference_[word];
    return type == kNone || free_copies(position, type) > later_of_type_[i][type];
  }

  States step(const States& states, std::size_t i) const {
    States next;
    for (const auto& [position, match] : states) {
      const bool pass = may_pass(position, i);
      for (const auto& [word, stage] : candidates_[i]) {
        if (taken(position, word)) continue;
        if (stage != Stage::exact && !(pass && may_give(position, i, word))) continue;
        MeteorMatch longer = match;
        ++(stage == Stage::exact  ? longer.exact
           : stage == Stage::stem ? longer.stem
                                  : longer.synonym);
        longer.chunks += position.last == kNone || word != position.last + 1;
        Position moved{.taken = position.taken, .last = word};
        moved.taken[word / 64] |= bit(word);
        keep(next, std::move(moved), longer, i);
      }
      if (pass) keep(next, {.taken = position.taken, .last = kNone}, match, i);
    }
    if (next.size() > most_states_) trim(next);
    return next;
  }

  void keep(States& states, Position position, const MeteorMatch& match, std::size_t i) const {
    for (std::size_t w = 0; w < position.taken.size(); ++w) position.taken[w] &= wanted_[i + 1][w];
    const auto [state, added] = states.try_emplace(std::move(position), match);
    if (!added && worse(state->second, match)) state->second = match;
  }

  // Ties go to the earlier partner, which leaves room to go on, then by position: the table's own
  // order differs between libraries.
  void trim(States& states) const {
    std::vector<std::pair<Position, MeteorMatch>> sorted(states.begin(), states.end());
    const auto better = [](const auto& a, const auto& b) {
      const auto x = order(a.second), y = order(b.second);
      if (x != y) return x > y;
      return std::tie(a.first.last, a.first.taken) < std::tie(b.first.last, b.first.taken);
    };
    const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(most_states_);
    std::ranges::nth_element(sorted, end, better);
    states = States(std::make_move_iterator(sorted.begin()), std::make_move_iterator(end));
  }

  Candidates candidates_;
  std::vector<Type> types_;
  std::vector<std::size_t> type_of_hypothesis_, type_of_reference_;
  std::vector<std::vector<std::size_t>> later_of_type_;  ///< [i][type]: copies behind word i
  std::vector<std::vector<std::uint64_t>>
      wanted_;  ///< [i]: reference words i or a later word wants
  std::size_t most_states_ = kMostStates;
};

}  // namespace

MeteorMatch fewest_chunks(std::span<const std::vector<Candidate>> candidates,
                          std::size_t reference_length) {
  return Search(candidates, reference_length).run();
}

}  // namespace heed::metrics
