#include "models/beam_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "heed/base/error.hpp"

namespace heed {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

/// One text: what has ended, and whether more can come.
struct Ended {
  std::vector<Written> all = {};
  bool done = false;

  double best() const {
    double score = -std::numeric_limits<double>::infinity();
    for (const Written& written : all) score = std::max(score, written.score);
    return score;
  }
};

/// The search: rows b · W … b · W + W − 1 are the open sequences of text b.
class Search {
 public:
  Search(Stepper& stepper, const std::vector<std::int64_t>& limits, const BeamOptions& options)
      : stepper_(stepper),
        limits_(limits),
        options_(options),
        B_(static_cast<std::int64_t>(limits.size())),
        W_(options.width),
        ended_(limits.size()),
        rows_(limits.size() * static_cast<std::size_t>(options.width)),
        total_(torch::full({B_, W_}, kNone)),
        last_(torch::full({B_ * W_}, options.begin, torch::kInt64)) {
    total_.select(1, 0).zero_();  // all start alike: only one counts
  }

  std::vector<Written> run() {
    const std::int64_t longest = *std::ranges::max_element(limits_);
    for (std::int64_t t = 0; t <= longest && !all_done(); ++t) step(t);
    std::vector<Written> result;
    for (Ended& text : ended_)
      result.push_back(*std::ranges::max_element(text.all, {}, &Written::score));
    return result;
  }

 private:
  bool all_done() const {
    return std::ranges::all_of(ended_, [](const Ended& text) { return text.done; });
  }

  void step(std::int64_t t) {
    const bool covers = options_.coverage_penalty > 0;
    const auto [given, attention] = stepper_.step(last_, covers);
    if (covers) coverage_ = coverage_.defined() ? coverage_ + attention : attention;
    const Tensor logp = allowed(given.to(torch::kFloat32), t);
    const std::int64_t V = logp.size(1), kept = std::min(2 * W_, W_ * V);
    const auto [best, which] = (total_.view({B_ * W_, 1}) + logp).view({B_, W_ * V}).topk(kept, 1);
    const auto scores = best.accessor<float, 2>();
    const auto choices = which.accessor<std::int64_t, 2>();
    parents_.assign(rows_.size(), 0);
    words_.assign(rows_.size(), options_.end);
    next_.assign(rows_.size(), {});
    totals_.assign(rows_.size(), kNone);
    for (std::int64_t b = 0; b < B_; ++b) {
      Ended& text = ended_[static_cast<std::size_t>(b)];
      std::int64_t open = 0;
      for (std::int64_t i = 0; i < kept && !text.done; ++i) {
        const std::int64_t row = b * W_ + choices[b][i] / V, word = choices[b][i] % V;
        if (scores[b][i] == kNone) break;
        if (word == options_.end) {
          if (i < W_) text.all.push_back(ended(row, scores[b][i]));
        } else if (open < W_) {
          keep(b * W_ + open++, row, word, scores[b][i]);
        }
      }
      text.done = text.done || open == 0 || is_done(b);
      for (std::int64_t i = open; i < W_; ++i)
        parents_[static_cast<std::size_t>(b * W_ + i)] = b * W_;
    }
    advance();
  }

  /// Without the words that are no answer; at the limit only the end is left.
  Tensor allowed(Tensor logp, std::int64_t t) const {
    logp = logp.clone();
    for (const std::int64_t word : options_.never) logp.select(1, word).fill_(kNone);
    for (std::int64_t b = 0; b < B_; ++b) {
      if (t < limits_[static_cast<std::size_t>(b)]) continue;
      Tensor rows = logp.narrow(0, b * W_, W_);
      const Tensor end = rows.select(1, options_.end).clone();
      rows.fill_(kNone);
      rows.select(1, options_.end).copy_(end);
    }
    return logp;
  }

  Written ended(std::int64_t row, double logp) const {
    Written written{.words = rows_[static_cast<std::size_t>(row)], .logp = logp};
    written.score = logp / length_penalty(written.words.size(), options_.length_penalty);
    if (coverage_.defined())
      written.score += coverage_penalty(coverage_[row], options_.coverage_penalty);
    return written;
  }

  void keep(std::int64_t row, std::int64_t parent, std::int64_t word, float score) {
    const auto at = static_cast<std::size_t>(row);
    next_[at] = rows_[static_cast<std::size_t>(parent)];
    next_[at].push_back(word);
    parents_[at] = parent;
    words_[at] = word;
    totals_[at] = score;
  }

  // A sum of logarithms only falls; the longest sequence is divided by most; coverage never adds.
  // Once as many have ended as are kept, an open one must be ahead as it is: those that ended may
  // all be bad, where one word was far better than all others.
  bool is_done(std::int64_t b) const {
    const Ended& text = ended_[static_cast<std::size_t>(b)];
    if (text.all.empty()) return false;
    const auto first = static_cast<std::size_t>(b * W_);
    const bool many = static_cast<std::int64_t>(text.all.size()) >= W_;
    const std::size_t length =
        many ? next_[first].size() : static_cast<std::size_t>(limits_[static_cast<std::size_t>(b)]);
    return text.best() >= totals_[first] / length_penalty(length, options_.length_penalty);
  }

  void advance() {
    const Tensor index = torch::tensor(parents_, torch::kInt64);
    stepper_.reorder(index);
    if (coverage_.defined()) coverage_ = coverage_.index_select(0, index);
    rows_ = std::move(next_);
    last_ = torch::tensor(words_, torch::kInt64);
    total_ = torch::tensor(totals_).view({B_, W_});
  }

  Stepper& stepper_;
  const std::vector<std::int64_t>& limits_;
  const BeamOptions& options_;
  std::int64_t B_, W_;
  std::vector<Ended> ended_;
  std::vector<std::vector<std::int64_t>> rows_, next_;
  std::vector<std::int64_t> parents_, words_;
  std::vector<float> totals_;
  Tensor total_, last_, coverage_;
};

}  // namespace

double length_penalty(std::size_t words, double alpha) {
  return std::pow((5.0 + static_cast<double>(words)) / 6.0, alpha);
}

double coverage_penalty(const Tensor& attention, double beta) {
  const Tensor looked_at = attention.masked_select(attention > 0);
  return beta * looked_at.clamp_max(1).log().sum().item<double>();
}

std::vector<Written> beam_search(Stepper& stepper, const std::vector<std::int64_t>& limits,
                                 const BeamOptions& options) {
  HEED_CHECK(options.width >= 1, "beam search: width {}; at least 1 is needed", options.width);
  if (limits.empty()) return {};
  return Search(stepper, limits, options).run();
}

}  // namespace heed
