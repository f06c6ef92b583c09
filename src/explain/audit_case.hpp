#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>

#include "heed/explain/audit.hpp"
#include "heed/explain/subject.hpp"

namespace heed::explain {

using Json = nlohmann::ordered_json;

/// What every test of an audit is given.
struct AuditCase {
  const Subject& subject;
  std::span<const Example> examples;  // those under examination
  const AuditOptions& options;
  std::filesystem::path folder;  // RUN/audit
};

/// One list of numbers in a table: {count, mean, sd, low, high}, the interval being 95 % of the
/// mean, by the normal distribution; NaN is left out.
Json summary(const std::vector<double>& values);

/// `summary` overall and for each class that was predicted.
Json by_class(const AuditCase& audited, const std::vector<double>& values);

/// The index of the class that each example was predicted.
std::vector<std::size_t> predicted_classes(const AuditCase& audited);

/// The tests: one file each, or two that share their means.
Json agreement_test(const AuditCase& audited);
Json permutation_test(const AuditCase& audited);
Json adversarial_test(const AuditCase& audited);
Json faithfulness_test(const AuditCase& audited);
Json rationales_test(const AuditCase& audited);
Json uniform_test(const AuditCase& audited);
Json seed_test(const AuditCase& audited, std::int64_t seed);
Json diagnostic_test(const AuditCase& audited, const std::string& weights);
Json adversary_test(const AuditCase& audited, double lambda);

/// What a collected audit allows one to say, and what not, in sentences.
std::vector<std::string> verdict(const Json& audit);

}  // namespace heed::explain
