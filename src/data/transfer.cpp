// Two domains of one task: labels of the one, texts of the other.
#include <algorithm>

#include "data/parts.hpp"
#include "heed/base/error.hpp"
#include "heed/base/words.hpp"

namespace heed {

Dataset load_transfer(const DataSource& source) {
  DataSource known = source, wanted = source;
  known.data = source.source;
  known.train = known.val = known.test = "";
  known.source = wanted.extra = wanted.human = "";
  Dataset data = load_dataset(known);
  HEED_CHECK(!data.labels.empty(), "task.source: tasks of kind '{}' have no labels to carry over",
             source.kind);
  Dataset target = load_own(wanted);
  data.name = data.name + " to " + target.name;
  for (auto* part : {&target.train, &target.val}) {
    for (Example& example : *part) {
      example.label = "";
      data.train.push_back(std::move(example));
    }
  }
  for (const Example& example : target.test) {
    HEED_CHECK(std::ranges::binary_search(data.labels, example.label),
               "{}: label '{}' of the test part does not occur in task.source {}{}",
               place_of_label(source, "test", example.label), example.label, source.source,
               suggestion(example.label, data.labels));
  }
  data.test = std::move(target.test);
  return data;
}

}  // namespace heed
