// A pointer network sorts 10 numbers: the share of lists that come out exactly right. Places
// already chosen are masked, so the least of what is left is enough; with the argument `repeat`
// they are not, and the network has to remember where it is.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>

#include "mechanisms/sorting.hpp"

int main(int argc, char** argv) {
  const bool repeat = argc > 1 && std::string(argv[1]) == "repeat";
  torch::set_num_threads(1);
  double worst = 1;
  for (const int seed : {1, 2, 3}) {
    const auto before = std::chrono::steady_clock::now();
    const double exact = heed::learn_to_sort({.numbers = 10,
                                              .dim = 32,
                                              .steps = repeat ? 4000 : 1000,
                                              .batch = 128,
                                              .repeat = repeat,
                                              .seed = seed},
                                             2000);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - before;
    fmt::print("seed {}: {:.2f} % of 2000 lists of 10 numbers sorted exactly, {:.0f} s\n", seed,
               100 * exact, taken.count());
    worst = std::min(worst, exact);
  }
  return repeat || worst >= 0.95 ? EXIT_SUCCESS : EXIT_FAILURE;
}
