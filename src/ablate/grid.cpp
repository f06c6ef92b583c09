#include "heed/ablate/grid.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>

#include "base/hash.hpp"
#include "heed/ablate/axis.hpp"
#include "heed/base/error.hpp"
#include "heed/base/words.hpp"
#include "heed/metrics/metric.hpp"
#include "heed/models/config_paths.hpp"

namespace heed::ablate {
namespace {

using Changes = std::vector<std::string>;

constexpr std::size_t kMostRows = 10000;

/// Attention gives way to `mechanism`, and with it all that would ask it or teach it.
Changes replaced_by(const std::string& mechanism) {
  return {"attention.mechanism=" + mechanism, "attention.queries=singular", "query.model=basic",
          "train.supervise=0"};
}

/// The message of an error in a config, without the line: a change stands in none.
std::string without_place(const std::string& message, const std::string& file) {
  if (!message.starts_with(file + ":")) return message;
  const std::size_t end = message.find(": ", file.size() + 1);
  return end == std::string::npos ? message : message.substr(end + 2);
}

class GridMaker {
 public:
  GridMaker(const GridRequest& request, const Registry& registry, const Fits& fits)
      : request_(request), registry_(registry), fits_(fits) {
    for (const std::string& over : request.over) axes_.push_back(parse_axis(over, registry));
    std::size_t rows = 1;
    for (const Axis& axis : axes_) {
      rows *= axis.values.size();
      HEED_CHECK(rows <= kMostRows, "--over: more than {} combinations; leave some out", kMostRows);
      any_all_ = any_all_ || axis.all;
    }
  }

  Grid make() {
    load_config(request_.config, registry_, request_.set);  // a mistake in the file itself
    product({}, 0);
    const std::size_t own = add({}, "", false);
    grid_.baseline =
        request_.baseline == "config" ? own : add(parse_changes(request_.baseline), "", false);
    const Row& baseline = grid_.rows[grid_.baseline];
    HEED_CHECK(baseline.refusal.empty(), "baseline '{}': {}", baseline.name, baseline.refusal);
    add(replaced_by("mean-pool"), "mean pooling", false);
    add(replaced_by("no-attention"), "no attention", false);
    grid_.seeds = request_.seeds;
    return std::move(grid_);
  }

 private:
  void product(const Changes& changes, std::size_t axis) {
    if (axis == axes_.size()) {
      add(changes, "", any_all_);
      return;
    }
    for (const std::string& value : axes_[axis].values) {
      Changes more = changes;
      more.push_back(axes_[axis].key + "=" + value);
      product(more, axis + 1);
    }
  }

  /// The row of these changes, a new one unless there is one with the same config.
  std::size_t add(const Changes& given, const std::string& name, bool may_fail) {
    Row row{.name = name, .changes = given};
    try {
      row.config = load(given);
      drop_what_has_no_place(row);
    } catch (const InputError& error) {
      row.refusal = without_place(error.what(), request_.config.string());
      if (!may_fail) throw InputError(fmt::format("{}: {}", name_of(given), row.refusal));
    }
    if (row.name.empty()) row.name = name_of(row.changes);
    const std::string key = row.refusal.empty() ? to_toml(row.config) : row.name;
    const auto [place, is_new] = places_.try_emplace(key, grid_.rows.size());
    if (is_new) {
      if (row.refusal.empty()) row.refusal = fits_(row.config);
      grid_.rows.push_back(std::move(row));
    }
    return place->second;
  }

  /// Where nothing scores, score and alignment say nothing; where nothing attends, no part of
  /// attention does. Rows that differ in these alone are thus the same.
  void drop_what_has_no_place(Row& row) const {
    const PartInfo& mechanism = registry_.find(Group::mechanism, row.config.attention.mechanism.id);
    if (mechanism.scored || row.changes.empty()) return;
    const bool replaced = std::ranges::find(mechanism.suits, "baseline") != mechanism.suits.end();
    std::erase_if(row.changes, [&](const std::string& change) {
      return change.starts_with("attention.score") || change.starts_with("attention.align") ||
             (replaced && change.starts_with("attention.") &&
              !change.starts_with("attention.mechanism"));
    });
    if (row.name.empty()) row.name = name_of(row.changes);
    for (const std::string& change : replaced ? replaced_by(mechanism.id) : Changes{}) {
      if (std::ranges::find(row.changes, change) == row.changes.end())
        row.changes.push_back(change);
    }
    row.config = load(row.changes);
  }

  Config load(const Changes& changes) const {
    Changes all = request_.set;
    all.insert(all.end(), changes.begin(), changes.end());
    const Config config = with_absolute_paths(load_config(request_.config, registry_, all));
    // Read again as it is written, so that parts that were left to their defaults name their
    // options too: equal models have equal texts.
    return parse_config(to_toml(config), request_.config.string(), registry_);
  }

  static std::string name_of(const Changes& changes) {
    if (changes.empty()) return "as configured";
    Changes shown;
    for (const std::string& change : changes) shown.push_back(short_change(change));
    return join(shown, ", ");
  }

  const GridRequest& request_;
  const Registry& registry_;
  const Fits& fits_;
  std::vector<Axis> axes_;
  bool any_all_ = false;
  Grid grid_;
  std::map<std::string, std::size_t> places_;
};

/// Letters and digits of the name, for a file.
std::string slug(const std::string& name) {
  constexpr std::size_t kLongest = 40;
  std::string result;
  for (const char c : name) {
    if (result.size() == kLongest) break;
    if (std::isalnum(static_cast<unsigned char>(c))) {
      result += c;
    } else if (!result.empty() && result.back() != '-') {
      result += '-';
    }
  }
  while (result.ends_with('-')) result.pop_back();
  return result;
}

}  // namespace

Grid make_grid(const GridRequest& request, const Registry& registry, const Fits& fits) {
  HEED_CHECK(request.seeds >= 1, "--seeds {}: at least one is needed", request.seeds);
  return GridMaker(request, registry, fits).make();
}

Config cell_config(const Grid& grid, const Cell& cell) {
  Config config = grid.rows[cell.row].config;
  config.train.seed = cell.seed;
  return config;
}

std::vector<Cell> list_cells(const Grid& grid) {
  std::vector<Cell> cells;
  for (std::int64_t s = 0; s < grid.seeds; ++s) {
    for (std::size_t r = 0; r < grid.rows.size(); ++r) {
      const Row& row = grid.rows[r];
      if (!row.refusal.empty()) continue;
      Cell cell{.row = r, .seed = row.config.train.seed + s};
      const std::uint64_t hash = hash_text(to_toml(cell_config(grid, cell)));
      cell.id =
          fmt::format("{}-{:08x}-{}", slug(row.name), (hash ^ hash >> 32) & 0xFFFFFFFFu, cell.seed);
      cells.push_back(std::move(cell));
    }
  }
  return cells;
}

std::string describe(const Grid& grid) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Row& row : grid.rows) {
    nlohmann::ordered_json json{{"name", row.name}, {"changes", row.changes}};
    if (row.refusal.empty()) {
      json["config"] = fmt::format("{:016x}", hash_text(to_toml(row.config)));
    } else {
      json["refusal"] = row.refusal;
    }
    rows.push_back(std::move(json));
  }
  return nlohmann::ordered_json{{"version", 1},
                                {"heed", metrics::version()},
                                {"baseline", grid.rows[grid.baseline].name},
                                {"rows", std::move(rows)}}
             .dump(1) +
         "\n";
}

}  // namespace heed::ablate
