#pragma once
#include <memory>
#include <optional>
#include <string>

namespace heed::dist {

struct Letter {
  int from = 0;
  std::string text;
};

/// Letters between ranks of which any may end at any moment: nothing here waits for another rank.
class Mailbox {
 public:
  virtual ~Mailbox() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Sends as far as it goes; the rest goes whenever the mailbox is used again.
  virtual void post(int to, const std::string& text) = 0;
  /// The next letter that has arrived whole, if one has.
  virtual std::optional<Letter> receive() = 0;
  /// True while something posted is still on its way.
  virtual bool sending() = 0;
  /// A rank that is gone: what is on its way to or from it is forgotten, and the process will end
  /// without the farewell in which MPI has all ranks take part.
  virtual void give_up(int rank) = 0;
};

/// The mailbox of this rank; none when the process was started without mpirun, or alone.
std::unique_ptr<Mailbox> mpi_mailbox();

}  // namespace heed::dist
