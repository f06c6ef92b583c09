#pragma once
#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace heed {

/// A mistake in what the user gave: a file, a config, a shape, an id.
///
/// The message says who complains, what was given, what is needed and what to try, on one line.
/// The command line prints it and exits 2; Python raises it as ValueError.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace heed

/// Throws InputError with a formatted message unless `condition` holds. The arguments are
/// evaluated only on failure, so they may be costly.
#define HEED_CHECK(condition, ...)                                        \
  do {                                                                    \
    if (!(condition)) throw ::heed::InputError(fmt::format(__VA_ARGS__)); \
  } while (false)
