#pragma once
#include <vector>

#include "heed/attention/tensor.hpp"

namespace heed {

/// Something that tells, a step at a time, which word comes next. Rows are sequences that are
/// being written.
class Stepper {
 public:
  struct Step {
    Tensor logp;       // [rows, words]: log p of each next word
    Tensor attention;  // [rows, N]: the weight of each place of the text; defined when asked for
  };
  virtual ~Stepper() = default;
  /// `words` [rows]: the last word of each row. Row i of the first call belongs to text i / width.
  virtual Step step(const Tensor& words, bool attention) = 0;
  /// Row i goes on from what row index[i] was.
  virtual void reorder(const Tensor& index) = 0;
};

struct BeamOptions {
  std::int64_t width = 5;
  double length_penalty = 0;    // α of Wu et al. 2016, eq. 14
  double coverage_penalty = 0;  // β
  std::int64_t begin = 0, end = 0;
  std::vector<std::int64_t> never = {};  // words that are no answer
};

struct Written {
  std::vector<std::int64_t> words = {};  // without the end
  double logp = 0;                       // of the words and the end
  double score = 0;                      // logp / lp + cp
};

/// ((5 + n) / 6)^α.
double length_penalty(std::size_t words, double alpha);
/// β Σ_i log min(Σ_t a_ti, 1) over the places that have a weight at all.
double coverage_penalty(const Tensor& attention, double beta);

/// The best of `width` sequences kept at each step, for each text; text b is written with at most
/// limits[b] words. Width 1 without penalties is greedy search. A text is done when no open
/// sequence can still win, or when `width` have ended and no open one is ahead of the best.
std::vector<Written> beam_search(Stepper& stepper, const std::vector<std::int64_t>& limits,
                                 const BeamOptions& options);

}  // namespace heed
