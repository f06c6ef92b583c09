// The table as text, JSON and CSV, and what it says in sentences.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "heed/ablate/table.hpp"
#include "heed/base/memory.hpp"
#include "heed/base/words.hpp"

namespace heed::ablate {
namespace {

using Json = nlohmann::ordered_json;
using metrics::Interval;

constexpr double kLevel = 0.05;

std::string interval_text(const Interval& interval) {
  if (std::isnan(interval.mean)) return "–";
  if (std::isnan(interval.low)) return fmt::format("{:.4f}", interval.mean);
  return fmt::format("{:.4f} [{:.4f}, {:.4f}]", interval.mean, interval.low, interval.high);
}

std::string difference_text(const TableRow& row) {
  if (row.baseline) return "baseline";
  if (!row.against) return "–";
  const Interval& d = row.against->difference;
  if (std::isnan(d.low)) return fmt::format("{:+.4f}", d.mean);
  return fmt::format("{:+.4f} [{:+.4f}, {:+.4f}]", d.mean, d.low, d.high);
}

std::string p_text(const TableRow& row) {
  if (!row.against || std::isnan(row.p_corrected)) return "–";
  return fmt::format("{:.4f}{}", row.p_corrected, row.p_corrected < kLevel ? " *" : "");
}

Interval interval_of(const std::map<std::string, Measured>& measured, const std::string& metric) {
  const auto found = measured.find(metric);
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  return found == measured.end() ? Interval{kNone, kNone, kNone} : found->second.interval;
}

/// Characters as a terminal counts them.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string aligned(const std::vector<std::vector<std::string>>& lines) {
  std::vector<std::size_t> widths;
  for (const auto& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (std::size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], width(line[c]));
  }
  std::string text;
  for (const auto& line : lines) {
    std::string padded;
    for (std::size_t c = 0; c < line.size(); ++c)
      padded += line[c] + std::string(widths[c] - width(line[c]) + 2, ' ');
    padded.resize(padded.find_last_not_of(' ') + 1);
    text += padded + "\n";
  }
  return text;
}

Json interval_json(const Interval& interval) {
  return {{"mean", interval.mean}, {"low", interval.low}, {"high", interval.high}};
}

Json measured_json(const std::map<std::string, Measured>& measured) {
  Json json = Json::object();
  for (const auto& [name, m] : measured) {
    json[name] = interval_json(m.interval);
    json[name]["values"] = m.values;
  }
  return json;
}

Json row_json(const TableRow& row) {
  Json json{{"name", row.name}, {"changes", row.changes}, {"baseline", row.baseline}};
  if (!row.refusal.empty()) {
    json["does_not_fit"] = row.refusal;
    return json;
  }
  json["cells"] = row.cells;
  json["seeds"] = row.seeds;
  json["failures"] = Json::array();
  for (const Failure& failure : row.failures)
    json["failures"].push_back({{"seed", failure.seed}, {"message", failure.message}});
  json["val"] = measured_json(row.val);
  json["test"] = measured_json(row.test);
  if (row.against) {
    json["against_baseline"] = interval_json(row.against->difference);
    Json& against = json["against_baseline"];
    against["df"] = row.against->df;
    against["p"] = row.against->p_value;
    against["p_corrected"] = row.p_corrected;
    against["significant"] = row.p_corrected < kLevel;
    against["p_examples"] = row.against->p_examples;
    against["p_seeds"] = row.against->p_seeds;
  }
  if (!row.cells.empty()) {
    json["parameters"] = row.parameters;
    json["seconds"] = row.seconds;
    json["memory"] = row.memory;
  }
  return json;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string csv_number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "";
}

void add_interval(std::vector<std::string>& fields, const Interval& interval) {
  for (const double value : {interval.mean, interval.low, interval.high})
    fields.push_back(csv_number(value));
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::vector<std::string> written;
  written.reserve(fields.size());
  for (const std::string& field : fields) written.push_back(csv_field(field));
  return join(written, ",") + "\r\n";
}

std::string status_of(const TableRow& row) {
  if (!row.refusal.empty()) return "does not fit";
  if (!row.failures.empty()) return row.cells.empty() ? "failed" : "some seeds failed";
  return row.cells.empty() ? "not run" : "finished";
}

std::string notes_of(const TableRow& row) {
  if (!row.refusal.empty()) return row.refusal;
  std::vector<std::string> notes;
  for (const Failure& failure : row.failures)
    notes.push_back(fmt::format("seed {}: {}", failure.seed, failure.message));
  return join(notes, "; ");
}

}  // namespace

std::string to_text(const Table& table) {
  std::vector<std::vector<std::string>> lines = {{"", "val " + table.metric, "test " + table.metric,
                                                  table.split + " difference", "p (Holm)",
                                                  "parameters", "s", "memory"}};
  std::string notes;
  std::map<std::string, std::vector<std::string>> refused;  // by the reason
  for (const TableRow& row : table.rows) {
    if (!row.cells.empty())
      lines.push_back({row.name, interval_text(interval_of(row.val, table.metric)),
                       interval_text(interval_of(row.test, table.metric)), difference_text(row),
                       p_text(row), std::to_string(row.parameters),
                       fmt::format("{:.1f}", row.seconds),
                       memory_text(static_cast<double>(row.memory))});
    if (!row.refusal.empty()) refused[row.refusal].push_back(row.name);
    for (const Failure& failure : row.failures)
      notes += fmt::format("{}, seed {}: failed: {}\n", row.name, failure.seed, failure.message);
  }
  for (const auto& [reason, names] : refused)
    notes += fmt::format("does not fit: {} ({})\n", reason, join(names, "; "));
  return (lines.size() > 1 ? aligned(lines) : "") + notes;
}

std::string to_json(const Table& table) {
  Json json{{"version", 1},
            {"metric", table.metric},
            {"more_is_better", table.more_is_better},
            {"compared_on", table.split},
            {"confidence", 0.95},
            {"pending", table.pending},
            {"test",
             "difference to the baseline, seeds and examples both random and crossed; t with "
             "Satterthwaite's degrees of freedom; p corrected by Holm's method"},
            {"rows", Json::array()}};
  for (const TableRow& row : table.rows) json["rows"].push_back(row_json(row));
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string to_csv(const Table& table) {
  std::set<std::string> measures;
  for (const TableRow& row : table.rows) {
    for (const auto& [name, measured] : row.test) measures.insert(name);
    for (const auto& [name, measured] : row.val) measures.insert(name);
  }
  std::vector<std::string> head = {"row", "changes", "baseline", "status", "seeds"};
  for (const char* part : {"val", "test"}) {
    for (const std::string& name : measures) {
      for (const char* what : {"mean", "low", "high"})
        head.push_back(fmt::format("{}_{}_{}", part, name, what));
    }
  }
  for (const char* name :
       {"difference", "difference_low", "difference_high", "p", "p_corrected", "p_examples",
        "p_seeds", "parameters", "seconds", "memory_bytes", "note"})
    head.emplace_back(name);
  std::string text = csv_line(head);
  for (const TableRow& row : table.rows) {
    std::vector<std::string> fields = {row.name, join(row.changes, " "), row.baseline ? "yes" : "",
                                       status_of(row), std::to_string(row.seeds.size())};
    for (const auto* part : {&row.val, &row.test}) {
      for (const std::string& name : measures) add_interval(fields, interval_of(*part, name));
    }
    if (row.against) {
      add_interval(fields, row.against->difference);
      for (const double p :
           {row.against->p_value, row.p_corrected, row.against->p_examples, row.against->p_seeds})
        fields.push_back(csv_number(p));
    } else {
      fields.resize(fields.size() + 7);
    }
    if (row.cells.empty()) {
      fields.resize(fields.size() + 3);
    } else {
      fields.insert(fields.end(), {std::to_string(row.parameters), csv_number(row.seconds),
                                   std::to_string(row.memory)});
    }
    fields.push_back(notes_of(row));
    text += csv_line(fields);
  }
  return text;
}

std::vector<std::string> verdict(const Table& table) {
  std::vector<std::string> lines;
  if (table.rows.empty() || table.rows.front().cells.empty())
    return {"No cell has finished, so nothing can be said."};
  const TableRow& best = table.rows.front();
  lines.push_back(fmt::format("'{}' is best on validation data: {} {}; on test data {}.", best.name,
                              table.metric, interval_text(interval_of(best.val, table.metric)),
                              interval_text(interval_of(best.test, table.metric))));
  const auto baseline = std::ranges::find_if(table.rows, &TableRow::baseline);
  if (!best.baseline && best.against) {
    const bool sure = best.p_corrected < kLevel;
    lines.push_back(
        fmt::format("Against the baseline '{}' that is {} on the {} part, p = {:.4f} after Holm's "
                    "correction: {}",
                    baseline->name, difference_text(best), table.split, best.p_corrected,
                    sure ? "more than chance would give." : "chance may explain it."));
  }
  std::vector<std::string> better, worse;
  std::size_t compared = 0;
  for (const TableRow& row : table.rows) {
    if (!row.against) continue;
    ++compared;
    if (!(row.p_corrected < kLevel)) continue;
    const bool above = row.against->difference.mean > 0;
    (above == table.more_is_better ? better : worse).push_back("'" + row.name + "'");
  }
  lines.push_back(
      fmt::format("Of {} rows compared, {} {} significantly better than the baseline{}, "
                  "{} significantly worse{}.",
                  compared, better.size(), better.size() == 1 ? "is" : "are",
                  better.empty() ? "" : " (" + join(better, ", ") + ")", worse.size(),
                  worse.empty() ? "" : " (" + join(worse, ", ") + ")"));
  return lines;
}

}  // namespace heed::ablate
