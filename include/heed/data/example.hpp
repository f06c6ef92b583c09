#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace heed {

/// Numbers at each position of an input: the pixels of a patch, the coordinates of a point.
struct Values {
  std::int64_t width = 0;
  std::vector<float> data = {};  ///< length × width, row by row.

  std::size_t length() const {
    return width > 0 ? data.size() / static_cast<std::size_t>(width) : 0;
  }
};

/// A stretch of another input, which is read in its context and then cut out: the words left of a
/// target.
struct View {
  std::string of;
  std::size_t begin = 0, end = 0;  ///< Positions of that input, begin ≤ end.
};

/// One thing to learn from or to answer. An input is words, numbers or a view, under one name.
struct Example {
  std::string id;
  std::map<std::string, std::vector<std::string>> inputs;
  std::string label;  ///< Empty when it is not known, or the task has none.
  /// The attention a reader should pay, one finite number ≥ 0 a position of that input; absent =
  /// unknown.
  std::map<std::string, std::vector<float>> gold;
  std::map<std::string, Values> values = {};
  std::map<std::string, View> views = {};
  /// Runs of an input that belong together, finest first: words of each sentence, sentences of
  /// each paragraph. The runs of a level add up to the length of the one below.
  std::map<std::string, std::vector<std::vector<std::int64_t>>> levels = {};
  std::vector<std::string> target = {};  ///< Of tasks that answer with a sequence.
  /// Of translations: which word of the target says what which word of the text does.
  std::vector<std::pair<std::size_t, std::size_t>> links = {};
  double number = 0;       ///< Of tasks that answer with a number.
  std::int64_t node = -1;  ///< Of tasks on a graph: which node this is.
  std::string group = {};  ///< Examples that must not be parted when some are held out: a story.
};

/// Positions of one input of an example; 0 when it has no such input.
std::size_t input_length(const Example& example, const std::string& input);

/// What a batch of such examples costs, roughly: positions of all inputs and of the target.
std::int64_t total_length(const Example& example);

/// What a task's examples consist of, in the task's order.
struct InputInfo {
  std::string name;
  std::int64_t width = 0;   ///< Numbers a position; 0: words.
  std::int64_t levels = 0;  ///< How many of Example::levels it comes with.
  /// Of pictures: rows and columns that its positions fill, row by row; of films also the frames,
  /// first. Empty: a sequence.
  std::vector<std::int64_t> grid = {};

  bool operator==(const InputInfo&) const = default;
};

/// Edges of one kind, from node to node, in order of their targets.
struct Relation {
  std::string name;
  std::vector<std::int64_t> sources, targets;
};

/// One graph that all examples of a task are nodes of. A node's features are words (the indices
/// of a bag of words), as Example::inputs["nodes"], or numbers, as Example::values["nodes"].
struct GraphData {
  std::vector<Example> nodes;
  std::vector<Relation> relations;
};

}  // namespace heed
