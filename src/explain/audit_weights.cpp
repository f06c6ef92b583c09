// Would other weights have given the same answer? Random permutations, and the most different
// weights that an optimiser finds (Jain & Wallace 2019, sections 4.2.1 and 4.2.2).
#include <torch/optim/adam.h>

#include <algorithm>

#include "explain/audit_case.hpp"
#include "heed/explain/distance.hpp"

namespace heed::explain {
namespace {

constexpr std::size_t kStarts = 5;     // adversaries of each example, each from a start of its own
constexpr std::int64_t kSteps = 150;   // of their optimiser
constexpr double kRate = 0.1;          // its learning rate
constexpr double kPunishment = 500;    // of a change past epsilon, as in the paper
constexpr std::size_t kTogether = 48;  // examples a batch

/// Each row's weights in another order, among the keys it may look at.
Tensor permuted(const Tensor& weights, const Tensor& support) {
  const Tensor allowed = support.expand_as(weights);
  const Tensor from =
      torch::where(allowed, torch::rand_like(weights), 2.0).argsort(/*stable=*/true, 3);
  const Tensor to = (~allowed).to(torch::kInt8).argsort(/*stable=*/true, 3);
  return torch::zeros_like(weights).scatter(3, to, weights.gather(3, from));
}

/// [B] the mean of what each row of a map [B, H, Q, …] gives, over the queries there are.
Tensor mean_of_rows(const Tensor& rows, const TraceMap& map) {
  const Tensor each = rows.dim() == 4 ? rows.mean(-1).mean(1) : rows.mean(1);  // [B, Q]
  if (!map.query_lengths.defined()) return each.mean(1);
  const Tensor valid = torch::arange(each.size(1)).unsqueeze(0) < map.query_lengths.unsqueeze(1);
  return torch::where(valid, each, 0.0).sum(1) / map.query_lengths.clamp_min(1);
}

/// [B] how far other weights are from the model's own: the mean over modules and their rows.
Tensor distance_of(const Seen& seen, const std::vector<Tensor>& others) {
  Tensor sum;
  for (std::size_t i = 0; i < others.size(); ++i) {
    const Tensor each =
        mean_of_rows(jensen_shannon(given(seen.maps[i]), others[i], 3), seen.maps[i]);
    sum = sum.defined() ? sum + each : each;
  }
  return sum / static_cast<double>(others.size());
}

/// The greatest distance from a row's own weights that leaves the output within epsilon, [B].
Tensor most_different(const AuditCase& audited, const Seen& seen) {
  std::vector<Tensor> free, supports;
  for (const TraceMap& map : seen.maps) {
    supports.push_back(audited.subject.support(seen.batch, map));
    free.push_back(torch::randn_like(given(map)).requires_grad_(true));
  }
  torch::optim::Adam optimiser(free, torch::optim::AdamOptions(kRate).amsgrad(true));
  Tensor best = torch::zeros({seen.batch.size()});
  for (std::int64_t step = 0; step < kSteps; ++step) {
    std::vector<Tensor> weights;
    for (std::size_t i = 0; i < free.size(); ++i) {
      weights.push_back(
          torch::softmax(free[i].masked_fill(~supports[i], -1e9), 3).masked_fill(~supports[i], 0));
    }
    const Tensor change =
        total_variation(audited.subject.probabilities(seen, weights), seen.probabilities);
    const Tensor distance = distance_of(seen, weights);
    const Tensor within = change.detach() <= audited.options.epsilon;
    best = torch::where(within, torch::maximum(best, distance.detach()), best);
    optimiser.zero_grad();
    (kPunishment * torch::relu(change - audited.options.epsilon) - distance).sum().backward();
    optimiser.step();
  }
  return best;
}

/// The greatest weight of each example.
std::vector<double> greatest_weights(const AuditCase& audited) {
  std::vector<double> result(audited.examples.size());
  for (const auto& indices : batches_of(audited.examples)) {
    const Seen seen = audited.subject.look(audited.examples, indices);
    const Tensor most = audited.subject.attention(seen).amax(1);
    for (std::size_t b = 0; b < indices.size(); ++b)
      result[indices[b]] = most[static_cast<std::int64_t>(b)].item<double>();
  }
  return result;
}

/// Overall and by class, and by how much weight the heaviest word has.
Json weights_result(const AuditCase& audited, const std::vector<double>& values) {
  Json result = by_class(audited, values);
  const std::vector<double> most = greatest_weights(audited);
  constexpr int kBins = 4;
  for (int bin = 0; bin < kBins; ++bin) {
    const double low = static_cast<double>(bin) / kBins, high = (bin + 1.0) / kBins;
    std::vector<double> inside;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (most[i] >= low && (most[i] < high || bin + 1 == kBins)) inside.push_back(values[i]);
    }
    Json row{{"greatest_weight_from", low}, {"to", high}};
    row.update(summary(inside));
    result["by_greatest_weight"].push_back(row);
  }
  return result;
}

double share_over(const std::vector<double>& values, double limit) {
  const auto over = std::ranges::count_if(values, [&](double x) { return x > limit; });
  return static_cast<double>(over) / static_cast<double>(std::max<std::size_t>(1, values.size()));
}

}  // namespace

Json permutation_test(const AuditCase& audited) {
  torch::manual_seed(1);
  const torch::NoGradGuard no_grad;
  std::vector<double> medians(audited.examples.size());
  for (const auto& indices : batches_of(audited.examples)) {
    const Seen seen = audited.subject.look(audited.examples, indices);
    std::vector<Tensor> changes;
    for (std::int64_t n = 0; n < audited.options.permutations; ++n) {
      std::vector<Tensor> weights;
      for (const TraceMap& map : seen.maps)
        weights.push_back(permuted(given(map), audited.subject.support(seen.batch, map)));
      changes.push_back(
          total_variation(audited.subject.probabilities(seen, weights), seen.probabilities));
    }
    const Tensor median = torch::stack(changes).quantile(0.5, 0);
    for (std::size_t b = 0; b < indices.size(); ++b)
      medians[indices[b]] = median[static_cast<std::int64_t>(b)].item<double>();
  }
  Json result = weights_result(audited, medians);
  result["measure"] = "median total variation of the output over permutations";
  result["permutations"] = audited.options.permutations;
  return result;
}

Json adversarial_test(const AuditCase& audited) {
  torch::manual_seed(1);
  std::vector<double> greatest(audited.examples.size());
  for (const auto& indices : batches_of(audited.examples, kTogether)) {
    std::vector<std::size_t> repeated;
    for (std::size_t start = 0; start < kStarts; ++start)
      repeated.insert(repeated.end(), indices.begin(), indices.end());
    const Seen seen = audited.subject.look(audited.examples, repeated);
    const Tensor best =
        most_different(audited, seen)
            .view({static_cast<std::int64_t>(kStarts), static_cast<std::int64_t>(indices.size())})
            .amax(0);
    for (std::size_t b = 0; b < indices.size(); ++b)
      greatest[indices[b]] = best[static_cast<std::int64_t>(b)].item<double>();
  }
  Json result = weights_result(audited, greatest);
  result["measure"] =
      "greatest Jensen-Shannon divergence (nats, at most 0.693) from the model's "
      "weights that leaves the output within epsilon";
  result["epsilon"] = audited.options.epsilon;
  result["share_over_0.5"] = share_over(greatest, 0.5);
  return result;
}

}  // namespace heed::explain
