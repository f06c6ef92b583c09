#include "heed/metrics/meteor.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "heed/base/error.hpp"
#include "heed/metrics/stem.hpp"
#include "metrics/meteor_match.hpp"
#include "metrics/segments.hpp"
#include "metrics/text.hpp"

namespace heed::metrics {
namespace {

using Words = std::vector<std::string>;
using Pairs = std::map<std::size_t, std::size_t>;  // hypothesis word → reference word

/// Stems and synsets of the words seen so far.
class Lexicon {
 public:
  explicit Lexicon(const WordNet* wordnet) : wordnet_(wordnet) {}

  const std::string& stem(const std::string& word) {
    const auto [entry, added] = stems_.try_emplace(word);
    if (added) entry->second = porter_stem(word);
    return entry->second;
  }

  const std::vector<Synset>& synsets(const std::string& word) {
    const auto [entry, added] = synsets_.try_emplace(word);
    if (added && wordnet_ != nullptr) entry->second = wordnet_->synsets(word);
    return entry->second;
  }

  bool synonyms(const std::string& a, const std::string& b) {
    if (wordnet_ == nullptr) return false;
    const std::vector<Synset>&first = synsets(a), &second = synsets(b);
    return std::ranges::any_of(
        first, [&](const Synset& s) { return std::ranges::binary_search(second, s); });
  }

  /// The word itself and the single words of its synsets, capitals kept, as NLTK has them.
  const std::set<std::string>& synonyms_of(const std::string& word) {
    const auto [entry, added] = words_.try_emplace(word);
    if (added) {
      entry->second.insert(word);
      for (const Synset& synset : synsets(word)) {
        for (std::string& other : wordnet_->words(synset)) {
          if (other.find('_') == std::string::npos) entry->second.insert(std::move(other));
        }
      }
    }
    return entry->second;
  }

 private:
  const WordNet* wordnet_;
  std::unordered_map<std::string, std::string> stems_;
  std::unordered_map<std::string, std::vector<Synset>> synsets_;
  std::unordered_map<std::string, std::set<std::string>> words_;
};

std::vector<std::vector<Candidate>> candidates(std::span<const std::string> hypothesis,
                                               std::span<const std::string> reference,
                                               Lexicon& lexicon) {
  std::vector<std::vector<Candidate>> found(hypothesis.size());
  for (std::size_t i = 0; i < hypothesis.size(); ++i) {
    for (std::size_t j = 0; j < reference.size(); ++j) {
      const std::string &h = hypothesis[i], &r = reference[j];
      if (h == r) {
        found[i].push_back({j, Stage::exact});
      } else if (lexicon.stem(h) == lexicon.stem(r)) {
        found[i].push_back({j, Stage::stem});
      } else if (lexicon.synonyms(h, r)) {
        found[i].push_back({j, Stage::synonym});
      }
    }
  }
  return found;
}

/// One greedy stage: hypothesis words from the last to the first, each with the last free
/// reference word that `keys_of` gives it.
template <class Keys, class Key>
std::size_t greedy_stage(std::span<const std::string> hypothesis,
                         std::span<const std::string> reference, Pairs& pairs,
                         std::set<std::size_t>& taken, Keys keys_of, Key key) {
  std::map<std::string, std::vector<std::size_t>> free;
  for (std::size_t j = 0; j < reference.size(); ++j) {
    if (!taken.contains(j)) free[key(reference[j])].push_back(j);
  }
  std::size_t matched = 0;
  for (std::size_t i = hypothesis.size(); i-- > 0;) {
    if (pairs.contains(i)) continue;
    std::vector<std::size_t>* best = nullptr;
    for (const std::string& wanted : keys_of(hypothesis[i])) {
      const auto found = free.find(wanted);
      if (found == free.end() || found->second.empty()) continue;
      if (best == nullptr || found->second.back() > best->back()) best = &found->second;
    }
    if (best == nullptr) continue;
    pairs[i] = best->back();
    taken.insert(best->back());
    best->pop_back();
    ++matched;
  }
  return matched;
}

MeteorMatch greedy(std::span<const std::string> hypothesis, std::span<const std::string> reference,
                   Lexicon& lexicon) {
  Pairs pairs;
  std::set<std::size_t> taken;
  const auto stage = [&](auto keys_of, auto key) {
    return greedy_stage(hypothesis, reference, pairs, taken, keys_of, key);
  };
  const auto same = [](const std::string& word) { return word; };
  const auto stem = [&](const std::string& word) { return lexicon.stem(word); };
  MeteorMatch match;
  match.exact = stage([](const std::string& word) { return Words{word}; }, same);
  match.stem = stage([&](const std::string& word) { return Words{lexicon.stem(word)}; }, stem);
  // NLTK hands the stems on, not the words, so its third stage looks up what stems mean.
  match.synonym =
      stage([&](const std::string& word) { return lexicon.synonyms_of(lexicon.stem(word)); }, stem);
  std::size_t before_h = 0, before_r = 0;
  for (const auto& [i, j] : pairs) {
    match.chunks += match.chunks == 0 || i != before_h + 1 || j != before_r + 1;
    before_h = i, before_r = j;
  }
  return match;
}

MeteorMatch match_words(std::span<const std::string> hypothesis,
                        std::span<const std::string> reference, MeteorVariant variant,
                        Lexicon& lexicon) {
  if (variant == MeteorVariant::nltk) return greedy(hypothesis, reference, lexicon);
  return fewest_chunks(candidates(hypothesis, reference, lexicon), reference.size());
}

/// Of counts: matches, chunks, hypothesis words, reference words.
double score(std::span<const double> counts, const MeteorOptions& options) {
  if (counts[0] == 0) return 0;
  const double precision = counts[0] / counts[2], recall = counts[0] / counts[3];
  const double mean =
      precision * recall / (options.alpha * precision + (1 - options.alpha) * recall);
  return 100 * mean * (1 - options.gamma * std::pow(counts[1] / counts[0], options.beta));
}

void check(std::span<const std::string> hypotheses,
           std::span<const std::vector<std::string>> references, const MeteorOptions& options) {
  HEED_CHECK(!references.empty(), "meteor: no reference");
  for (const auto& reference : references) {
    HEED_CHECK(reference.size() == hypotheses.size(), "meteor: {} hypotheses but {} references",
               hypotheses.size(), reference.size());
  }
  HEED_CHECK(options.alpha >= 0 && options.alpha <= 1 && options.gamma >= 0 && options.gamma <= 1 &&
                 options.beta >= 0,
             "meteor: alpha {} and gamma {} must be in [0, 1], beta {} at least 0", options.alpha,
             options.gamma, options.beta);
}

std::string describe(const MeteorOptions& options, std::size_t references) {
  return signature(
      "meteor", {{"nrefs", fmt::format("{}", references)},
                 {"case", "lc"},
                 {"tok", options.tokeniser},
                 {"stages", options.wordnet != nullptr ? "exact+porter+synonym" : "exact+porter"},
                 {"wordnet", options.wordnet != nullptr ? options.wordnet->version() : "none"},
                 {"align", options.variant == MeteorVariant::nltk ? "nltk" : "fewest-chunks"},
                 {"corpus", options.variant == MeteorVariant::nltk ? "segment-mean" : "summed"},
                 {"alpha", fmt::format("{}", options.alpha)},
                 {"beta", fmt::format("{}", options.beta)},
                 {"gamma", fmt::format("{}", options.gamma)}});
}

}  // namespace

MeteorMatch meteor_match(std::span<const std::string> hypothesis,
                         std::span<const std::string> reference, const MeteorOptions& options) {
  Lexicon lexicon(options.wordnet);
  return match_words(hypothesis, reference, options.variant, lexicon);
}

Metric meteor(std::span<const std::string> hypotheses,
              std::span<const std::vector<std::string>> references, const MeteorOptions& options) {
  check(hypotheses, references, options);
  Lexicon lexicon(options.wordnet);
  const auto words = [&](const std::string& text) {
    return tokenise(lower_utf8(text), options.tokeniser);
  };
  // matches, chunks, hypothesis words, reference words, segment score, segments, exact, stem,
  // synonym
  SegmentSums sums(9);
  for (std::size_t s = 0; s < hypotheses.size(); ++s) {
    const Words hypothesis = words(hypotheses[s]);
    std::vector<double> best;
    for (const auto& texts : references) {
      const Words reference = words(texts[s]);
      const MeteorMatch match = match_words(hypothesis, reference, options.variant, lexicon);
      std::vector<double> row = {
          static_cast<double>(match.matches()), static_cast<double>(match.chunks),
          static_cast<double>(hypothesis.size()), static_cast<double>(reference.size())};
      const double value = score(row, options);
      for (const double x : {value, 1.0, static_cast<double>(match.exact),
                             static_cast<double>(match.stem), static_cast<double>(match.synonym)}) {
        row.push_back(x);
      }
      if (best.empty() || value > best[4]) best = std::move(row);
    }
    sums.add(best);
  }
  const std::vector<double> t = sums.total();
  Metric metric{.name = "meteor", .signature = describe(options, references.size())};
  metric.details = {{"precision", ratio(t[0], t[2])},
                    {"recall", ratio(t[0], t[3])},
                    {"matches", t[0]},
                    {"chunks", t[1]},
                    {"hyp_len", t[2]},
                    {"ref_len", t[3]},
                    {"segment_mean", ratio(t[4], t[5])},
                    {"exact", t[6]},
                    {"stem", t[7]},
                    {"synonym", t[8]}};
  const MeteorOptions kept{.variant = options.variant,
                           .alpha = options.alpha,
                           .beta = options.beta,
                           .gamma = options.gamma};
  finish(metric, std::move(sums), [kept](std::span<const double> row) {
    return kept.variant == MeteorVariant::nltk ? ratio(row[4], row[5]) : score(row, kept);
  });
  return metric;
}

}  // namespace heed::metrics
