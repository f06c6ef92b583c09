#pragma once
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/rnn.h>

#include "heed/mechanisms/mechanism.hpp"

namespace heed {

struct PointerOptions {
  AttentionSpec parts;         // the score is free; one query, align soft
  std::int64_t key_dim = 0;    // width of what is pointed at
  std::int64_t state_dim = 0;  // of the decoder; 0: key_dim
  std::string cell = "lstm";   // or gru
  bool repeat = false;         // false: a place is pointed at once
};

/// The options cell, state and repeat, wherever a pointer is made from a config.
std::vector<OptionInfo> pointer_options();

/// Places in the input: 0 … N − 1, then N, the end, then −1.
struct Pointed {
  Tensor places;  // [B, T]
  Tensor logp;    // [B]: of the whole sequence
};

/// A pointer network (Vinyals et al. 2015): a recurrent decoder whose output is where it attends.
///
/// p(y_t = l) = softmax over the places and a learned end key of score(s_t, k_l); the next input is
/// the key that was chosen. With `repeat = false` places already chosen are masked before the
/// softmax.
class PointerImpl : public torch::nn::Module {
 public:
  explicit PointerImpl(const PointerOptions& options);

  /// Teacher forcing: log p [B, T, N + 1] of each step's place given the targets before it. Targets
  /// [B, T] as in `Pointed`.
  Tensor forward(const Input& keys, const Tensor& targets);
  /// log p of whole target sequences, [B].
  Tensor log_likelihood(const Input& keys, const Tensor& targets);

  /// The best place at each step, at most `steps` of them; 0: as many as places and an end.
  Pointed greedy(const Input& keys, std::int64_t steps = 0);
  /// The best of `width` sequences kept at each step.
  Pointed beam(const Input& keys, std::int64_t width, std::int64_t steps = 0);

  /// Points softly: the next input is the mean of the keys under the weights. Weights [B, T, N + 1]
  /// are computed, or given; the result is the last state.
  struct Reading {
    Tensor state, weights;
  };
  Reading read(const Input& keys, std::int64_t steps, const Tensor& given = {});

  std::int64_t state_dim() const { return state_dim_; }

 private:
  /// The keys and the end, and how far the decoder has come.
  struct Run {
    Tensor keys;                 // [B, N + 1, d]
    Tensor open;                 // [B, N + 1] bool: what may be pointed at
    std::vector<Tensor> hidden;  // of the cell, [1, B, state_dim]
    Tensor input;                // [B, d]
  };
  Run start(const Input& keys);
  Tensor advance(const Tensor& inputs, std::vector<Tensor>& hidden);  // [B, T, d] → [B, T, state]
  Tensor log_weights(const Tensor& states, const Tensor& keys, const Tensor& open);
  Tensor step(Run& run);  // log p [B, N + 1]
  void choose(Run& run, const Tensor& places) const;

  std::int64_t key_dim_, state_dim_;
  bool repeat_;
  Attention attention_{nullptr};
  torch::nn::LSTM lstm_{nullptr};
  torch::nn::GRU gru_{nullptr};
  torch::nn::Linear begin_{nullptr};
  Tensor first_, end_;
};
TORCH_MODULE(Pointer);

}  // namespace heed
