#include "heed/explain/alignments_model.hpp"

#include <algorithm>
#include <numeric>

#include "heed/base/error.hpp"
#include "heed/base/words.hpp"
#include "heed/data/buckets.hpp"

namespace heed {
namespace {

using metrics::Alignment;

void check_pairs(const LoadedRun& run, std::span<const Example> pairs) {
  HEED_CHECK(run.config.task.source.kind == "translate",
             "align: the run is of kind '{}'; alignments are read from kind 'translate'",
             run.config.task.source.kind);
  HEED_CHECK(run.info.inputs.front().width == 0,
             "align: the run reads frames; alignments are between words");
  for (const Example& pair : pairs) {
    HEED_CHECK(!pair.target.empty(),
               "align: example '{}' has no translation; alignments need both sides", pair.id);
  }
}

/// Where words begin among what the model reads.
std::vector<std::size_t> word_places(const LoadedRun& run, std::span<const std::string> words) {
  if (run.info.segmenter) return run.info.segmenter->places(words);
  std::vector<std::size_t> places(words.size() + 1);
  std::iota(places.begin(), places.end(), std::size_t{0});
  return places;
}

/// The maps in which words of the translation look at the text.
std::vector<TraceMap> translation_maps(const Trace& trace, const std::string& input,
                                       const std::string& wanted) {
  std::vector<TraceMap> maps;
  std::vector<std::string> names;
  for (const TraceMap& map : trace.maps()) {
    if (map.query_input != "target" || map.key_input != input || map.weights.dim() != 4) continue;
    names.push_back(map.name);
    if (wanted.empty() || map.name == wanted) maps.push_back(map);
  }
  HEED_CHECK(!names.empty(), "align: the model has no weights of a translation on its text");
  HEED_CHECK(!maps.empty(), "align: no map '{}'{}; there are {}", wanted, suggestion(wanted, names),
             join(names, ", "));
  return maps;
}

std::vector<AlignmentPlace> open_places(std::span<const TraceMap> maps,
                                        const AlignmentOptions& options) {
  std::vector<AlignmentPlace> places;
  for (const TraceMap& map : maps) {
    const std::int64_t heads = map.weights.size(1);
    HEED_CHECK(!options.head || (*options.head >= 0 && *options.head <= heads),
               "align: no head {} of map '{}'; it has {} (from 1; 0 is their mean)",
               options.head.value_or(0), map.name, heads);
    for (std::int64_t head = 0; head <= (heads == 1 ? 0 : heads); ++head) {
      if (options.head && heads > 1 && *options.head != head) continue;
      for (const std::int64_t shift : {0, 1}) {
        if (options.shift && *options.shift != shift) continue;
        places.push_back({.map = map.name, .head = head, .shift = shift});
      }
    }
  }
  return places;
}

/// One pair's weights at one place, in what the model reads. `own` is [H, T + 1, K], the last row
/// the end's.
WordWeights weights_at(const Tensor& own, const AlignmentPlace& place, std::size_t targets) {
  const Tensor rows = (place.head == 0 ? own.mean(0) : own.select(0, place.head - 1))
                          .narrow(0, place.shift, static_cast<std::int64_t>(targets))
                          .to(torch::kFloat32)
                          .contiguous();
  return {.sources = static_cast<std::size_t>(rows.size(1)),
          .targets = targets,
          .data = {rows.data_ptr<float>(), rows.data_ptr<float>() + rows.numel()}};
}

const TraceMap& named(std::span<const TraceMap> maps, const std::string& name) {
  return *std::ranges::find(maps, name, &TraceMap::name);
}

}  // namespace

std::vector<PlaceLinks> attention_links(const LoadedRun& run, std::span<const Example> words,
                                        const AlignmentOptions& options,
                                        const std::function<void(std::size_t)>& progress) {
  check_pairs(run, words);
  torch::NoGradGuard no_grad;
  run.model->eval();
  const std::string input = run.info.inputs.front().name;
  const std::vector<Example> seen = run.info.seen({words.begin(), words.end()});
  std::vector<std::int64_t> lengths;
  for (const Example& example : seen) lengths.push_back(total_length(example));
  std::vector<PlaceLinks> found;
  std::size_t done = 0;
  for (const auto& indices : in_order_batches(lengths, options.batch)) {
    Trace trace = Trace::recording();
    run.model->losses(collate(seen, indices, run.info), trace);
    const std::vector<TraceMap> maps = translation_maps(trace, input, options.map);
    if (found.empty()) {
      for (const AlignmentPlace& place : open_places(maps, options))
        found.push_back({.place = place, .links = std::vector<Alignment>(words.size())});
    }
    for (std::size_t row = 0; row < indices.size(); ++row) {
      const std::size_t i = indices[row];
      const auto sources = word_places(run, words[i].inputs.at(input));
      const auto targets = word_places(run, words[i].target);
      for (PlaceLinks& at : found) {
        const Tensor own = named(maps, at.place.map).entry(static_cast<std::int64_t>(row));
        const WordWeights weights = merge_pieces(weights_at(own, at.place, seen[i].target.size()),
                                                 sources, targets, options.mean_of_pieces);
        at.links[i] = links_of(weights, options.threshold);
        at.agreement += mutual_agreement(weights) / static_cast<double>(words.size());
      }
    }
    done += indices.size();
    if (progress) progress(done);
  }
  return found;
}

std::vector<Example> turned(std::span<const Example> examples) {
  std::vector<Example> result;
  for (const Example& example : examples) {
    Example other{.id = example.id};
    other.inputs["text"] = example.target;
    other.target = example.inputs.at("text");
    for (const auto& [target, source] : example.links) other.links.emplace_back(source, target);
    std::ranges::sort(other.links);
    result.push_back(std::move(other));
  }
  return result;
}

std::vector<Alignment> gold_alignments(std::span<const Example> examples) {
  std::vector<Alignment> gold;
  for (const Example& example : examples) {
    Alignment& alignment = gold.emplace_back();
    for (const auto& [target, source] : example.links)
      alignment.sure.push_back(
          {static_cast<std::uint32_t>(source), static_cast<std::uint32_t>(target)});
    std::ranges::sort(alignment.sure);
  }
  return gold;
}

}  // namespace heed
