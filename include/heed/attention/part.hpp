#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace heed {

class Score;
class Align;
class Mechanism;
class FeatureModel;
class VectorModel;
class Position;
struct MechanismProblem;
struct FeatureProblem;
struct VectorsProblem;
struct PositionProblem;

using OptionValue = std::variant<bool, std::int64_t, double, std::string>;
using Options = std::map<std::string, OptionValue>;

/// A part named by a user: its id and its options, `{ id = "entmax", alpha = 1.3 }` in a config.
struct PartSpec {
  std::string id;
  Options options;

  PartSpec() = default;
  PartSpec(const char* id) : id(id) {}  // NOLINT: a bare id is a whole spec
  PartSpec(std::string id, Options options = {}) : id(std::move(id)), options(std::move(options)) {}
};

/// What an option may be; the fallback's type is the option's type.
struct OptionInfo {
  std::string name;
  OptionValue fallback;
  std::string doc;
  std::vector<std::string> choices;  // empty: any text
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
};

/// The groups of the taxonomy, then the groups only a config names.
enum class Group {
  score,
  align,
  dimensionality,
  query,
  queries,
  mechanism,
  position,
  feature,
  output,
  vectors
};

enum class Status { built, planned };

/// The sizes a part is made for. Widths of one vector; `heads` query heads.
struct Problem {
  std::int64_t query_dim = 0;
  std::int64_t key_dim = 0;
  std::int64_t value_dim = 0;
  std::int64_t heads = 1;
};

/// Why something cannot be done, a sentence each; empty means it can.
using Reasons = std::vector<std::string>;

using MakeScore = std::function<std::unique_ptr<Score>(const Options&)>;
using MakeAlign = std::function<std::unique_ptr<Align>(const Options&)>;
using MakeMechanism = std::function<std::shared_ptr<Mechanism>(const MechanismProblem&)>;
using MakeFeature = std::function<std::shared_ptr<FeatureModel>(const FeatureProblem&)>;
using MakeVectors = std::function<std::shared_ptr<VectorModel>(const VectorsProblem&)>;
using MakePosition = std::function<std::shared_ptr<Position>(const PositionProblem&)>;
using Maker = std::variant<std::monostate, MakeScore, MakeAlign, MakeMechanism, MakeFeature,
                           MakePosition, MakeVectors>;

/// One input that a mechanism takes.
struct InputNeed {
  std::string name = "";  // empty: whatever comes next in the task's order
  bool more = false;      // and all that follow
  bool levels = false;    // with its segments, see Input::levels
  bool edges = false;     // the nodes of a graph, whose edges come beside it
};

/// One entry of the registry: all that the config, the command line, the documentation, the tests
/// and Python know of a part.
constexpr double kSoftmaxMatrices = 5;  // scores, what is shown of them, weights, both again

struct PartInfo {
  std::string id;
  Group group;
  std::string family = "";  // of a mechanism: features, selection, more
  std::string title;
  std::string formula;  // LaTeX
  std::string paper;
  std::string inputs = "";
  std::string time = "";
  std::string memory = "";
  std::string advice;
  std::vector<std::string> suits = {};  // needs it serves, words for `heed advise`
  std::vector<OptionInfo> options = {};
  std::string fused = "";               // the kernel that serves it; empty: the reference only
  std::string promises = "";            // determinism, where it is less than rule 8 of the contract
  std::vector<InputNeed> takes = {{}};  // of a mechanism
  bool scored = true;                   // of a mechanism: the config's score and alignment matter
  Status status = Status::built;
  /// Of an alignment: matrices [Q, K] that its plain formula holds at once to learn from, measured.
  double matrices = kSoftmaxMatrices;
  double error_factor = 2;  // allowed error, in units of the plain formula's in the same type
  std::function<Reasons(const Problem&)> unsupported = {};
  Maker make = {};
};

}  // namespace heed
