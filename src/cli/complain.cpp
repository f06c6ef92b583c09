#include "cli/complain.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "heed/base/memory.hpp"
#include "heed/base/words.hpp"
#include "heed/dist/launcher.hpp"
#include "heed/dist/mpi.hpp"

namespace heed::cli {
namespace {

/// What mpirun may take to end the ranks, on a busy machine.
constexpr std::chrono::seconds kLastWords{3};

constexpr std::size_t kLongest = 2000;  // bytes of a message

/// Without the middle of what is very long: a cell of a file may be megabytes.
std::string shortened(const std::string& message) {
  if (message.size() <= kLongest) return message;
  std::size_t head = kLongest / 2, tail = message.size() - kLongest / 2;
  const auto inside = [&](std::size_t i) { return (message[i] & 0xC0) == 0x80; };
  while (inside(head)) --head;  // not inside a letter
  while (tail < message.size() && inside(tail)) ++tail;
  return message.substr(0, head) + " … " + message.substr(tail);
}

/// On one line, without what a terminal would obey: messages quote files that others have written.
std::string printable(std::string_view message) {
  std::string line;
  for (std::size_t i = 0; i < message.size(); ++i) {
    const auto byte = static_cast<unsigned char>(message[i]);
    const auto next = static_cast<unsigned char>(i + 1 < message.size() ? message[i + 1] : 0);
    if (byte < 0x20 || byte == 0x7F) {
      line += fmt::format("\\x{:02x}", byte);
    } else if (byte == 0xC2 && next >= 0x80 && next < 0xA0) {  // U+0080 … U+009F
      line += fmt::format("\\u00{:02x}", next);
      ++i;
    } else {
      line += message[i];
    }
  }
  return line;
}

int complain_as(bool is_rank, const std::string& message, int code) {
  std::fflush(stdout);
  const int rank = is_rank ? dist::launched().rank : 0;
  if (rank > 0) std::this_thread::sleep_for(kLastWords);
  fmt::print(stderr, "heed: {}{}\n", rank > 0 ? fmt::format("rank {}: ", rank) : "",
             printable(shortened(message)));
  dist::abort_world(code);
  return code;
}

}  // namespace

int complain(const std::string& message, int code) {
  return complain_as(dist::is_rank(), message, code);
}

int complain_of_usage(const std::string& message) { return complain_as(true, message, 2); }

int complain_of_memory(double wanted) {
  return complain(fmt::format(
      "out of memory{}. Take a smaller batch (train.batch), shorter inputs (task.max_length), a "
      "narrower model (feature.dim), fewer traces (train.traces) or fewer --threads, or raise the "
      "limit",
      wanted > 0 ? fmt::format(": {} more were needed", memory_text(wanted)) : ""));
}

int complain_of_torch(const c10::Error& error) {
  const std::string message = error.what_without_backtrace();
  constexpr std::string_view kShort = "you tried to allocate ";
  const std::size_t at = message.find(kShort);
  if (at != std::string::npos)
    return complain_of_memory(std::strtod(message.c_str() + at + kShort.size(), nullptr));
  return complain(split(message, '\n').front(), 1);
}

}  // namespace heed::cli
