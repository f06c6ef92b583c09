#include "heed/explain/importance.hpp"

#include <torch/autograd.h>

#include "heed/base/error.hpp"
#include "heed/base/words.hpp"
#include "heed/explain/distance.hpp"
#include "heed/explain/omit.hpp"

namespace heed::explain {
namespace {

constexpr std::int64_t kPathSteps = 32;  // of the integral

/// Fills the rows of a batch, [B, L], into the examples they belong to, cut to their lengths.
void put_rows(const Tensor& rows, const Seen& seen, std::span<const Example> examples,
              const std::string& input, Importances& into) {
  const Tensor values = rows.to(torch::kFloat64).contiguous();
  for (std::size_t b = 0; b < seen.batch.indices.size(); ++b) {
    const std::size_t index = seen.batch.indices[b];
    const double* row = values.data_ptr<double>() + static_cast<std::int64_t>(b) * values.size(1);
    const auto length = static_cast<std::int64_t>(input_length(examples[index], input));
    HEED_CHECK(length <= values.size(1), "explain: input '{}' has other positions than its data",
               input);
    into[index].assign(row, row + length);
  }
}

/// Runs `rows_of(seen)` → [B, L] over all examples.
template <class RowsOf>
Importances over_batches(const Subject& subject, std::span<const Example> examples,
                         RowsOf rows_of) {
  Importances result(examples.size());
  for (const auto& indices : batches_of(examples)) {
    const Seen seen = subject.look(examples, indices);
    put_rows(rows_of(seen), seen, examples, subject.input(), result);
  }
  return result;
}

/// The model run on given vectors of the input, ready to be differentiated.
struct Probe {
  Tensor vectors;        // [B, L, D], a leaf
  Tensor probabilities;  // [B, C]
};

Tensor own_vectors(const Subject& subject, const Seen& seen) {
  const torch::NoGradGuard no_grad;
  Encoder encoder = subject.model().encoder();
  return encoder->vectors(seen.batch, subject.input()).data;
}

Probe probe(const Subject& subject, const Seen& seen, const Tensor& vectors, bool hold_attention) {
  Probe result{.vectors = vectors.detach().clone().requires_grad_(true)};
  Trace trace;
  trace.replace("vectors/" + subject.input(), result.vectors);
  if (hold_attention) {
    for (const TraceMap& map : seen.maps) trace.replace(map.name, given(map));
  }
  result.probabilities = torch::softmax(subject.model().forward(seen.batch, trace), 1);
  return result;
}

/// [B, L, D] of one class, or, with class −1, of the class each entry was predicted.
Tensor gradient_of(const Probe& probe, const Seen& seen, std::int64_t label) {
  const Tensor p = label >= 0 ? probe.probabilities.select(1, label)
                              : probe.probabilities.gather(1, seen.probabilities.argmax(1, true));
  return torch::autograd::grad({p.sum()}, {probe.vectors}, {}, /*retain_graph=*/true).front();
}

Importances gradient_norm(const Subject& subject, std::span<const Example> examples) {
  return over_batches(subject, examples, [&](const Seen& seen) {
    const Probe at = probe(subject, seen, own_vectors(subject, seen), false);
    return gradient_of(at, seen, -1).norm(2, -1);
  });
}

Importances gradient_input(const Subject& subject, std::span<const Example> examples) {
  return over_batches(subject, examples, [&](const Seen& seen) {
    const Probe at = probe(subject, seen, own_vectors(subject, seen), false);
    return (gradient_of(at, seen, -1) * at.vectors.detach()).sum(-1);
  });
}

/// Along the straight path from zero vectors (Sundararajan et al. 2017), by the middles of steps.
Importances integrated_gradients(const Subject& subject, std::span<const Example> examples) {
  return over_batches(subject, examples, [&](const Seen& seen) {
    const Tensor vectors = own_vectors(subject, seen);
    Tensor sum = torch::zeros_like(vectors);
    for (std::int64_t step = 0; step < kPathSteps; ++step) {
      const double share = (static_cast<double>(step) + 0.5) / static_cast<double>(kPathSteps);
      sum += gradient_of(probe(subject, seen, vectors * share, false), seen, -1);
    }
    return (sum * vectors).sum(-1) / static_cast<double>(kPathSteps);
  });
}

/// aᵢ · ∂p/∂aᵢ of the class that was predicted, over heads, queries and modules.
Importances attention_gradient(const Subject& subject, std::span<const Example> examples) {
  return over_batches(subject, examples, [&](const Seen& seen) {
    std::vector<Tensor> weights;
    for (const TraceMap& map : seen.maps)
      weights.push_back(given(map).detach().clone().requires_grad_(true));
    const Tensor p = subject.probabilities(seen, weights);
    const Tensor right = p.gather(1, seen.probabilities.argmax(1, true)).sum();
    const auto gradients = torch::autograd::grad({right}, weights);
    Seen product = seen;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const Tensor each = gradients[i] * weights[i].detach();
      product.maps[i].weights = each.dim() == 5 ? each.sum(-1) : each;
    }
    return subject.gather(product);
  });
}

}  // namespace

Importances attention_importance(const Subject& subject, std::span<const Example> examples) {
  return over_batches(subject, examples, [&](const Seen& seen) { return subject.attention(seen); });
}

Importances gradient_importance(const Subject& subject, std::span<const Example> examples) {
  return over_batches(subject, examples, [&](const Seen& seen) {
    const Probe at = probe(subject, seen, own_vectors(subject, seen), true);
    Tensor sum;
    for (std::int64_t label = 0; label < at.probabilities.size(1); ++label) {
      const Tensor each = (gradient_of(at, seen, label) * at.vectors.detach()).sum(-1).abs();
      sum = sum.defined() ? sum + each : each;
    }
    return sum / sum.sum(1, /*keepdim=*/true).clamp_min(1e-12);
  });
}

Importances leave_one_out(const Subject& subject, std::span<const Example> examples) {
  Importances result(examples.size());
  const Tensor whole = subject.answers(examples);
  for (std::size_t i = 0; i < examples.size(); ++i) {
    std::vector<Example> variants;
    for (std::size_t k = 0; k < input_length(examples[i], subject.input()); ++k)
      variants.push_back(without(examples[i], subject.input(), k));
    const Tensor change =
        total_variation(subject.answers(variants), whole[static_cast<std::int64_t>(i)].unsqueeze(0))
            .to(torch::kFloat64)
            .contiguous();
    result[i].assign(change.data_ptr<double>(), change.data_ptr<double>() + change.numel());
  }
  return result;
}

const std::vector<Method>& methods() {
  static const std::vector<Method> all = {
      {"attention", "attention", "a_l", attention_importance},
      {"gradient", "gradient at the word, all classes, attention held",
       R"(\sum_c |x_l \cdot \partial p_c / \partial x_l|)", gradient_importance},
      {"gradient-norm", "gradient, its size", R"(\lVert \partial p / \partial x_l \rVert)",
       gradient_norm},
      {"gradient-input", "gradient × input", R"(x_l \cdot \partial p / \partial x_l)",
       gradient_input},
      {"integrated-gradients", "integrated gradients",
       R"(x_l \cdot \int_0^1 \partial p(s x) / \partial x_l \, ds)", integrated_gradients},
      {"leave-one-out", "leave one out", R"(\mathrm{TV}(p, p_{\setminus l}))", leave_one_out},
      {"attention-gradient", "attention × gradient", R"(a_l \cdot \partial p / \partial a_l)",
       attention_gradient},
      {"rollout", "attention rollout", R"(\prod_i (A_i + I) / 2)", attention_rollout},
      {"flow", "attention flow", R"(\text{greatest flow from the output to word } l)",
       attention_flow},
  };
  return all;
}

const Method& method(const std::string& id) {
  std::vector<std::string> ids;
  for (const Method& each : methods()) {
    if (each.id == id) return each;
    ids.emplace_back(each.id);
  }
  throw InputError(fmt::format("explain: no method '{}'{}", id, suggestion(id, ids)));
}

}  // namespace heed::explain
