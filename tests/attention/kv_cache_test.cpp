#include "heed/attention/kv_cache.hpp"

#include <gmock/gmock.h>

#include "heed/attention/attend.hpp"
#include "heed/base/error.hpp"

namespace heed {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(KVCache, GivesBackWhatWasAppendedWithoutCopying) {
  const Tensor key = torch::randn({2, 3, 5, 4}), value = torch::randn({2, 3, 5, 6});
  KVCache cache({.batch = 2, .heads = 3, .key_dim = 4, .value_dim = 6, .room = 5});
  cache.append(key.narrow(2, 0, 2), value.narrow(2, 0, 2));
  const void* storage = cache.keys().const_data_ptr();
  cache.append(key.narrow(2, 2, 3), value.narrow(2, 2, 3));
  EXPECT_EQ(cache.keys().const_data_ptr(), storage);
  EXPECT_TRUE(torch::equal(cache.keys(), key));
  EXPECT_TRUE(torch::equal(cache.values(), value));
  cache.append(key, value);  // over the room: moved, and still the same
  EXPECT_TRUE(torch::equal(cache.keys(), torch::cat({key, key}, 2)));
}

TEST(KVCache, OneStepAtATimeEqualsTheWholeSequence) {
  const auto doubles = torch::kFloat64;
  for (const std::optional<std::int64_t> window : {std::optional<std::int64_t>(), {3}}) {
    const Tensor q = torch::randn({1, 2, 20, 4}, doubles), k = torch::randn({1, 1, 20, 4}, doubles);
    KVCache cache({.batch = 1,
                   .heads = 1,
                   .key_dim = 4,
                   .value_dim = 4,
                   .tensors = doubles,
                   .room = 1,
                   .window = window});
    AttendOptions options{.causal = Causal::bottom_right()};
    if (window) options.window = {*window - 1, -1};
    const Tensor whole = attend(q, k, k, options).output;
    for (std::int64_t i = 0; i < 20; ++i) {
      cache.append(k.narrow(2, i, 1), k.narrow(2, i, 1));
      options.lengths = cache.lengths();
      const Tensor step = attend(q.narrow(2, i, 1), cache.keys(), cache.values(), options).output;
      EXPECT_TRUE(torch::allclose(step, whole.narrow(2, i, 1), 1e-13, 1e-13)) << "step " << i;
    }
    EXPECT_EQ(cache.next_positions(1).item<std::int64_t>(), 20);
    EXPECT_LE(cache.keys().size(2), window ? 2 * *window : 20);
  }
}

TEST(KVCache, RefusesWhatItCannotHold) {
  KVCache cache({.batch = 1, .heads = 1, .key_dim = 2, .value_dim = 2, .capacity = 3});
  const Tensor four = torch::zeros({1, 1, 4, 2});
  EXPECT_THAT([&] { cache.append(four, four); },
              ThrowsMessage<InputError>(HasSubstr("would hold 4 keys; the capacity is 3")));
  EXPECT_THAT([&] { cache.append(four.to(torch::kFloat64), four); },
              ThrowsMessage<InputError>(HasSubstr("key is Double on cpu")));
}

}  // namespace
}  // namespace heed
