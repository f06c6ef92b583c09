#include <heed/attention/attend.hpp>

int main() {
  const heed::Tensor q = torch::randn({1, 2, 3, 4});
  const heed::Tensor out = heed::attend(q, q, q, {.causal = heed::Causal::same()}).output;
  return torch::equal(out[0][0][0], q[0][0][0]) ? 0 : 1;  // the first query sees itself alone
}
