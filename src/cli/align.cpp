#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/words.hpp"
#include "heed/data/split.hpp"
#include "heed/explain/alignments_choice.hpp"

namespace heed::cli {
namespace {

using Json = nlohmann::ordered_json;
using Alignments = std::vector<metrics::Alignment>;

constexpr std::size_t kSearched = 500;  // validation pairs that choose the place; more tell nothing

struct AlignArgs {
  std::string run, data, split = "test", gold, reverse, symmetrise, out;
  std::string links, reverse_links;
  AlignmentOptions options;
  bool json = false;
};

/// One direction: where it was read off, why there, and what it says.
struct Direction {
  PlaceChoice choice;
  PlaceLinks found;
};

std::function<void(std::size_t)> counter(const std::string& what, std::size_t all) {
  if (isatty(STDERR_FILENO) == 0) return {};
  return [=](std::size_t done) {
    fmt::print(stderr, "\r{} {} of {} pairs{}", what, done, all, done == all ? "\n" : "");
  };
}

std::vector<Example> pairs_of(const LoadedRun& run, const AlignArgs& args) {
  if (!args.data.empty()) return load_examples(args.data, run.config.task.source);
  return load_split(run.config.task.source, args.split, args.run);
}

/// Validation pairs of the run's own data; those with gold links if any has them.
std::vector<Example> search_pairs(const LoadedRun& run) {
  std::vector<Example> pairs = load_dataset(run.config.task.source).val;
  const auto unlinked = [](const Example& pair) { return pair.links.empty(); };
  if (!std::ranges::all_of(pairs, unlinked)) std::erase_if(pairs, unlinked);
  pairs.resize(std::min(pairs.size(), kSearched));
  return pairs;
}

Json place_json(const AlignmentPlace& place) {
  return {{"map", place.map}, {"head", place.head}, {"shift", place.shift}};
}

std::string place_text(const AlignmentPlace& place) {
  return fmt::format("map '{}', {}, {}", place.map,
                     place.head == 0 ? "mean of heads" : fmt::format("head {}", place.head),
                     place.shift == 0 ? "as a word is written" : "after a word is read");
}

Json direction_json(const Direction& direction) {
  Json places = Json::array();
  for (const ScoredPlace& scored : direction.choice.places) {
    places.push_back(place_json(scored.place));
    places.back()["score"] = scored.score;
  }
  return {{"place", place_json(direction.found.place)},
          {"chosen_by", direction.choice.by},
          {"places", std::move(places)}};
}

void tell(const std::string& who, const Direction& direction) {
  fmt::print(stderr, "{}: {}", who, place_text(direction.found.place));
  if (direction.choice.places.empty()) return fmt::print(stderr, "\n");
  fmt::print(stderr, "; by {}, {:.4f} on validation pairs\n", direction.choice.by,
             direction.choice.places.front().score);
}

std::string check_symmetrise(const AlignArgs& args) {
  const bool two = !args.reverse.empty() || !args.reverse_links.empty();
  HEED_CHECK(two || args.symmetrise.empty(),
             "align: --symmetrise makes one alignment of two; give --reverse RUN too");
  const std::string method = args.symmetrise.empty() ? "grow-diag-final" : args.symmetrise;
  if (two) symmetrise({}, {}, method);  // an unknown one is said before any work
  return method;
}

Alignments combined(const Alignments& forward, const Alignments& reverse,
                    const std::string& method) {
  Alignments result;
  for (std::size_t i = 0; i < forward.size(); ++i)
    result.push_back(symmetrise(forward[i], reverse[i], method));
  return result;
}

/// What is known of the alignments, and where they go.
void give(const AlignArgs& args, const Alignments& links, const Alignments& gold, Json json) {
  std::string text;
  std::size_t count = 0;
  for (const metrics::Alignment& alignment : links) {
    text += metrics::to_pharaoh(alignment) + "\n";
    count += alignment.sure.size();
  }
  if (!args.out.empty()) write_file(args.out, text);
  json["pairs"] = links.size();
  json["links"] = count;
  std::string measured;
  if (!gold.empty()) {
    const metrics::Metric m = metrics::aer(links, gold);
    json["aer"] = {
        {"name", m.name}, {"value", m.value}, {"signature", m.signature}, {"details", m.details}};
    measured = fmt::format("aer {:.4f}  precision {:.4f}  recall {:.4f}   {}\n", m.value,
                           m.details.at("precision"), m.details.at("recall"), m.signature);
  }
  if (args.json) return fmt::print("{}\n", json.dump());
  if (args.out.empty()) fmt::print("{}", text);
  fmt::print(stderr, "{} pairs, {} links\n{}", links.size(), count, measured);
}

void check_count(std::size_t found, std::size_t needed, const std::string& file) {
  HEED_CHECK(found == needed, "{}: {} lines for {} pairs; a line a pair is needed", file, found,
             needed);
}

void align_files(const AlignArgs& args) {
  HEED_CHECK(args.run.empty() && !args.reverse_links.empty(),
             "align: --links goes with --reverse-links, and without a run");
  const std::string method = check_symmetrise(args);
  const Alignments forward = metrics::read_pharaoh(args.links, false),
                   reverse = metrics::read_pharaoh(args.reverse_links, false);
  check_count(reverse.size(), forward.size(), args.reverse_links);
  Alignments gold;
  if (!args.gold.empty()) {
    gold = metrics::read_pharaoh(args.gold, true);
    check_count(gold.size(), forward.size(), args.gold);
  }
  give(args, combined(forward, reverse, method), gold, Json{{"symmetrise", method}});
}

Alignments gold_of(const AlignArgs& args, std::span<const Example> pairs) {
  if (!args.gold.empty()) {
    Alignments gold = metrics::read_pharaoh(args.gold, true);
    check_count(gold.size(), pairs.size(), args.gold);
    return gold;
  }
  const bool known = std::ranges::any_of(pairs, [](const Example& p) { return !p.links.empty(); });
  return known ? gold_alignments(pairs) : Alignments{};
}

Direction read_at(const LoadedRun& run, std::span<const Example> pairs, PlaceChoice choice,
                  const AlignmentOptions& options) {
  const AlignmentOptions settled = choice.places.empty() ? options : choice.settle(options);
  PlaceLinks found = attention_links(run, pairs, settled, counter("aligned", pairs.size())).front();
  return {.choice = std::move(choice), .found = std::move(found)};
}

Alignments align_one(const LoadedRun& run, std::span<const Example> pairs, const AlignArgs& args,
                     Json& json) {
  PlaceChoice choice{.by = "given", .places = {}};
  if (!args.options.settled()) {
    const std::vector<Example> val = search_pairs(run);
    choice = choose_place(run, val, args.options, counter("searched", val.size()));
  }
  const Direction direction = read_at(run, pairs, std::move(choice), args.options);
  json["forward"] = direction_json(direction);
  if (!args.json) tell(args.run, direction);
  return direction.found.links;
}

Alignments align_both(const LoadedRun& run, std::span<const Example> pairs, const AlignArgs& args,
                      Json& json) {
  const std::string method = check_symmetrise(args);
  const LoadedRun other = load(args.reverse);
  // A map or head of one model says nothing of the other's.
  AlignmentOptions open = args.options;
  open.map.clear();
  open.head.reset();
  const std::vector<Example> val = search_pairs(run);
  auto [first, second] =
      choose_places(run, other, val, args.options, open, counter("searched", val.size()));
  const Direction forward = read_at(run, pairs, std::move(first), args.options),
                  reverse = read_at(other, turned(pairs), std::move(second), open);
  json["forward"] = direction_json(forward);
  json["reverse"] = direction_json(reverse);
  json["symmetrise"] = method;
  if (!args.json) {
    tell(args.run, forward);
    tell(args.reverse, reverse);
  }
  Alignments back;
  for (const metrics::Alignment& links : reverse.found.links) back.push_back(turned(links));
  return combined(forward.found.links, back, method);
}

void align_run(const AlignArgs& args) {
  HEED_CHECK(!args.run.empty(), "align: a run directory is needed; see 'heed align --help'");
  check_symmetrise(args);
  const LoadedRun run = load(args.run);
  const std::vector<Example> pairs = pairs_of(run, args);
  const Alignments gold = gold_of(args, pairs);
  Json json{{"run", args.run}};
  const Alignments links =
      args.reverse.empty() ? align_one(run, pairs, args, json) : align_both(run, pairs, args, json);
  give(args, links, gold, std::move(json));
}

}  // namespace

void add_align(CLI::App& app) {
  CLI::App* command = add_command(
      app, "align", "Word alignments of translations, read off the attention of a trained run",
      "  heed align runs/translate --out test.align\n"
      "  heed align runs/en-de --reverse runs/de-en --symmetrise grow-diag --json\n"
      "  heed align runs/en-de --data pairs.tsv --gold gold.align --map \"decoder/layer "
      "2/memory\"\n"
      "  heed align --links en-de.align --reverse-links de-en.align --gold gold.align");
  auto args = std::make_shared<AlignArgs>();
  AlignmentOptions& options = args->options;
  command->add_option("run", args->run, "a run directory of kind translate");
  command->add_option("--data", args->data, "pairs to align, in the format of the run's data");
  command->add_option("--split", args->split, "without --data: train, val or test (test)")
      ->check(CLI::IsMember({"train", "val", "test"}));
  command->add_option("--gold", args->gold,
                      "Pharaoh file to measure against; else the data's links");
  command->add_option("--map", options.map, "the map to read, as traces name it (searched)");
  command->add_option("--head", options.head, "its head, from 1; 0: their mean (searched)");
  command
      ->add_option("--shift", options.shift,
                   "0: the step that writes a word; 1: the next, which has read it (searched)")
      ->check(CLI::Range(0, 1));
  command
      ->add_option("--threshold", options.threshold,
                   "link all words with at least this weight; 0: the heaviest (0)")
      ->check(CLI::Range(0.0, 1.0));
  command
      ->add_option_function<std::string>(
          "--pieces",
          [args](const std::string& how) { args->options.mean_of_pieces = how == "mean"; },
          "a word's weight is the sum or mean of its pieces (sum)")
      ->check(CLI::IsMember({"sum", "mean"}));
  command->add_option("--reverse", args->reverse, "a run of the other direction");
  command->add_option("--symmetrise", args->symmetrise,
                      fmt::format("one of two: {}", join(symmetrisations(), ", ")));
  command->add_option("--links", args->links, "instead of a run: links in a Pharaoh file");
  command->add_option("--reverse-links", args->reverse_links,
                      "those of the other direction, also as text-translation");
  command->add_option("--out", args->out, "Pharaoh file to write; else the screen");
  command->add_flag("--json", args->json, "what was chosen and measured, for programs");
  add_threads(command);
  command->callback([args] { args->links.empty() ? align_run(*args) : align_files(*args); });
}

}  // namespace heed::cli
