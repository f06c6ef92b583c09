#include "heed/data/split.hpp"

#include "heed/base/error.hpp"

namespace heed {

std::vector<Example> load_split(const DataSource& source, const std::string& split,
                                const std::string& asked) {
  Dataset data = load_dataset(source);
  std::vector<Example>& part = split == "train" ? data.train
                               : split == "val" ? data.val
                                                : data.test;
  HEED_CHECK(!part.empty(), "{}: the data has no {} part; give another --split, or --data FILE",
             asked, split);
  return std::move(part);
}

}  // namespace heed
