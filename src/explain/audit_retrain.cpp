// What other models show: one with uniform weights, others of other seeds, a model of single words
// that is given the weights, and one trained to answer alike with other weights (Wiegreffe & Pinter
// 2019, sections 3 and 4).
#include "explain/audit_case.hpp"
#include "explain/guided_model.hpp"
#include "heed/base/error.hpp"
#include "heed/explain/distance.hpp"
#include "heed/train/trainer.hpp"

namespace heed::explain {
namespace {

namespace fs = std::filesystem;

/// Trains (or goes on training) into audit/runs/NAME. The folder is the audit's own: what an older
/// config left there is made anew.
TrainResult retrain(const AuditCase& audited, const std::string& name, const Config& config,
                    const MakeModel& make = make_task_model) {
  const fs::path folder = audited.folder / "runs" / name;
  TrainObserver nobody;
  try {
    return train(config, folder, /*resume=*/true, nobody, make);
  } catch (const InputError&) {
    fs::remove_all(folder);
    return train(config, folder, /*resume=*/false, nobody, make);
  }
}

Json scores(const TrainResult& result) {
  Json json = result.test;
  json["best_epoch"] = result.best_epoch;
  json["minutes"] = result.seconds / 60;
  return json;
}

/// How far another model's output and weights are from the audited one's, on each example.
struct Gap {
  std::vector<double> output, weights;
};

Gap gap_to(const AuditCase& audited, const Subject& other) {
  Gap gap{.output = std::vector<double>(audited.examples.size()),
          .weights = std::vector<double>(audited.examples.size())};
  for (const auto& indices : batches_of(audited.examples)) {
    const Seen a = audited.subject.look(audited.examples, indices);
    const Seen b = other.look(audited.examples, indices);
    const Tensor output = total_variation(a.probabilities, b.probabilities);
    const Tensor weights =
        jensen_shannon(audited.subject.attention(a), audited.subject.attention(b));
    for (std::size_t i = 0; i < indices.size(); ++i) {
      gap.output[indices[i]] = output[static_cast<std::int64_t>(i)].item<double>();
      gap.weights[indices[i]] = weights[static_cast<std::int64_t>(i)].item<double>();
    }
  }
  return gap;
}

/// Scores of a retrained model of the same kind, and its distance from the audited one.
Json compared_with(const AuditCase& audited, const std::string& name, const TrainResult& result) {
  const LoadedRun run = load(audited.folder / "runs" / name);
  const Subject other(run, audited.examples.front(), audited.subject.input());
  const Gap gap = gap_to(audited, other);
  return {{"test", scores(result)},
          {"output_change", summary(gap.output)},
          {"weights_distance", summary(gap.weights)}};
}

}  // namespace

Json uniform_test(const AuditCase& audited) {
  const MakeModel make = [&](const Config& config, const DataInfo& info) {
    return std::make_shared<GuidedModel>(
        config, info, [&](const Batch& batch, const std::vector<TraceMap>& maps) {
          return uniform_weights(audited.subject, batch, maps);
        });
  };
  return {{"measure", "the same model, trained with the same weight for every word"},
          {"test", scores(retrain(audited, "uniform", audited.subject.run().config, make))}};
}

Json seed_test(const AuditCase& audited, std::int64_t seed) {
  Config config = audited.subject.run().config;
  config.train.seed = seed;
  const std::string name = fmt::format("seed-{}", seed);
  const TrainResult result = retrain(audited, name, config);
  Json json = compared_with(audited, name, result);
  const LoadedRun run = load(audited.folder / "runs" / name);
  const Subject other(run, audited.examples.front(), audited.subject.input());
  json["agreement"] = agreement_test({.subject = other,
                                      .examples = audited.examples,
                                      .options = audited.options,
                                      .folder = audited.folder});
  return json;
}

Json diagnostic_test(const AuditCase& audited, const std::string& weights) {
  Config config = audited.subject.run().config;
  config.feature.model = {"cnn", {{"width", std::int64_t{1}}}};  // each word alone
  config.feature.layers = 1;
  MakeModel make = make_task_model;
  if (weights != "own") {
    make = [&](const Config& given, const DataInfo& info) {
      return std::make_shared<GuidedModel>(
          given, info, [&](const Batch& batch, const std::vector<TraceMap>& maps) {
            return weights == "uniform" ? uniform_weights(audited.subject, batch, maps)
                                        : weights_of(audited.subject, batch, maps);
          });
    };
  }
  return {{"measure", "a model that sees each word alone, with the weights of " +
                          (weights == "own"       ? std::string("its own attention")
                           : weights == "uniform" ? "no attention: all alike"
                                                  : "the audited model")},
          {"test", scores(retrain(audited, "mlp-" + weights, config, make))}};
}

Json adversary_test(const AuditCase& audited, double lambda) {
  Config config = audited.subject.run().config;
  config.train.select = "loss";  // it is not to be right, but to be like the other
  config.train.label_smoothing = config.train.supervise = 0;
  const std::string name = fmt::format("adversary-{}", lambda);
  const TrainResult result =
      retrain(audited, name, config, [&](const Config& given, const DataInfo& info) {
        return std::make_shared<AdversaryModel>(given, info, audited.subject, lambda);
      });
  Json json = compared_with(audited, name, result);
  json["lambda"] = lambda;
  return json;
}

}  // namespace heed::explain
