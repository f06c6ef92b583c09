#include <heed/kernels/random.hpp>

int main() {
  std::uint8_t keep[8];
  heed::kernels::dropout_keep(1, 0.0, 0, 0, 0, 8, keep);
  for (const auto k : keep) {
    if (k != 1) return 1;
  }
  return 0;
}
