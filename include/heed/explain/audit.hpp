#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "heed/models/task_model.hpp"

namespace heed::explain {

/// What the tests of an audit are made with. A test's result is used again only with the same.
struct AuditOptions {
  std::string input = {};                               // empty: the first that attention looks at
  std::string split = "test";                           // which part of the data is examined
  std::int64_t examples = 500;                          // at most so many of it
  std::int64_t permutations = 100;                      // of each example's weights
  double epsilon = 0.01;                                // what may not change: total variation
  std::int64_t seeds = 3;                               // models of other seeds to train beside it
  std::vector<double> lambdas = {0.001, 0.01, 0.1, 1};  // of the trained adversary
  bool retrain = true;                                  // also the tests that train models
};

/// The names of the tests, in order of their place in the table: agreement, permutation,
/// adversarial, faithfulness, rationales; with `retrain` also uniform, seed-N, mlp-…, adversary-λ.
std::vector<std::string> audit_tests(const AuditOptions& options);

/// Runs one test of `run` and writes RUN/audit/TEST.json, unless it is there from the same options;
/// models that are trained for it go below RUN/audit/runs and are resumed.
void run_audit_test(const std::filesystem::path& run, const std::string& test,
                    const AuditOptions& options);

/// True if the test's result is there, from the same options.
bool is_audited(const std::filesystem::path& run, const std::string& test,
                const AuditOptions& options);

/// All results that are there, with the verdict, written to RUN/audit/audit.json and returned as
/// JSON text.
std::string collect_audit(const std::filesystem::path& run, const AuditOptions& options);

/// A collected audit as text: tables, then what the tests allow one to say, and what not.
std::string readable_audit(const std::string& audit_json);

}  // namespace heed::explain
