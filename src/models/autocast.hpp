#pragma once
#include <ATen/autocast_mode.h>

namespace heed {

/// Matrix products in bfloat16 while it lives, if `on`.
class Autocast {
 public:
  explicit Autocast(bool on) : on_(on) {
    if (on_) set(true);
  }
  ~Autocast() {
    if (!on_) return;
    set(false);
    at::autocast::clear_cache();
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  static void set(bool on) {
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    at::autocast::set_autocast_enabled(at::kCPU, on);
  }
  bool on_;
};

}  // namespace heed
