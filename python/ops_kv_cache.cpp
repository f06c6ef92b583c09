// torch.classes.heed.KVCache: heed::KVCache as torch hands objects to Python.
#include <torch/custom_class.h>

#include "heed/attention/kv_cache.hpp"
#include "heed/base/error.hpp"

namespace {

using namespace heed;

struct KVCacheObject : torch::CustomClassHolder {
  explicit KVCacheObject(const KVCacheOptions& options) : cache(options) {}
  KVCache cache;
};
using Self = c10::intrusive_ptr<KVCacheObject>;

// Runs `body`, with mistakes as Python's ValueError.
template <class Body>
auto checked(Body&& body) try {
  return body();
} catch (const InputError& error) {
  TORCH_CHECK_VALUE(false, error.what());
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(heed, library) {
  library.class_<KVCacheObject>("KVCache")
      .def(
          torch::init([](std::vector<std::int64_t> sizes, const Tensor& like, std::int64_t room,
                         std::optional<std::int64_t> capacity, std::optional<std::int64_t> window) {
            return checked([&] {
              return c10::make_intrusive<KVCacheObject>(KVCacheOptions{.batch = sizes.at(0),
                                                                       .heads = sizes.at(1),
                                                                       .key_dim = sizes.at(2),
                                                                       .value_dim = sizes.at(3),
                                                                       .tensors = like.options(),
                                                                       .room = room,
                                                                       .capacity = capacity,
                                                                       .window = window});
            });
          }))
      .def("append",
           [](const Self& self, const Tensor& key, const Tensor& value,
              const std::optional<Tensor>& counts) {
             checked([&] { self->cache.append(key, value, counts.value_or(Tensor())); });
           })
      .def("truncate",
           [](const Self& self, const Tensor& positions) {
             checked([&] { self->cache.truncate(positions); });
           })
      .def("reorder", [](const Self& self,
                         const Tensor& index) { checked([&] { self->cache.reorder(index); }); })
      .def("keys", [](const Self& self) { return self->cache.keys(); })
      .def("values", [](const Self& self) { return self->cache.values(); })
      .def("lengths", [](const Self& self) { return self->cache.lengths(); })
      .def("offsets", [](const Self& self) { return self->cache.offsets(); })
      .def("positions", [](const Self& self) { return self->cache.positions(); })
      .def("next_positions", [](const Self& self, std::int64_t count) {
        return checked([&] { return self->cache.next_positions(count); });
      });
}
