#include "heed/dist/mailbox.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <map>
#include <vector>

#include "dist/world.hpp"
#include "heed/dist/mpi.hpp"

namespace heed::dist {
namespace {

constexpr int kTag = 7;
// Small enough to be sent without the receiver's part, so that a rank that ends does not leave
// another in the middle of a long piece.
constexpr std::size_t kLetterPiece = 2048;

/// A letter in pieces: each begins with a byte that says whether more follow.
std::vector<std::string> pieces_of(const std::string& text) {
  std::vector<std::string> pieces;
  std::size_t at = 0;
  do {
    const std::size_t size = std::min(kLetterPiece, text.size() - at);
    pieces.push_back((at + size < text.size() ? '+' : '.') + text.substr(at, size));
    at += size;
  } while (at < text.size());
  return pieces;
}

class MpiMailbox final : public Mailbox {
 public:
  explicit MpiMailbox(const Group& group) : rank_(group.rank()), size_(group.size()) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void post(int to, const std::string& text) override {
    for (std::string& piece : pieces_of(text)) {
      Sent& sent = sent_.emplace_back(Sent{to, std::move(piece), MPI_REQUEST_NULL});
      MPI_Isend(sent.bytes.data(), static_cast<int>(sent.bytes.size()), MPI_CHAR, to, kTag, comm_,
                &sent.request);
    }
    clear_sent();
  }

  std::optional<Letter> receive() override {
    clear_sent();
    for (;;) {
      int waiting = 0;
      MPI_Status status;
      if (MPI_Iprobe(MPI_ANY_SOURCE, kTag, comm_, &waiting, &status) != MPI_SUCCESS || !waiting)
        return std::nullopt;
      int size = 0;
      MPI_Get_count(&status, MPI_CHAR, &size);
      std::string piece(static_cast<std::size_t>(size), '\0');
      const int from = status.MPI_SOURCE;
      MPI_Recv(piece.data(), size, MPI_CHAR, from, kTag, comm_, MPI_STATUS_IGNORE);
      std::string& text = begun_[from];
      text.append(piece, 1);
      if (piece.front() == '.') return Letter{from, std::exchange(text, {})};
    }
  }

  bool sending() override {
    clear_sent();
    return !sent_.empty();
  }

  void give_up(int rank) override {
    begun_.erase(rank);
    // Their memory may still be read by MPI: kept to the end.
    for (auto sent = sent_.begin(); sent != sent_.end();) {
      const auto next = std::next(sent);
      if (sent->to == rank) lost_.splice(lost_.end(), sent_, sent);
      sent = next;
    }
    leave_without_farewell();
  }

 private:
  struct Sent {
    int to;
    std::string bytes;
    MPI_Request request;
  };

  void clear_sent() {
    std::erase_if(sent_, [](Sent& sent) {
      int done = 0;
      return MPI_Test(&sent.request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done;
    });
  }

  int rank_, size_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::list<Sent> sent_, lost_;
  std::map<int, std::string> begun_;
};

}  // namespace

std::unique_ptr<Mailbox> mpi_mailbox() {
  const Group& world = mpi_world();
  if (world.size() == 1) return nullptr;
  return std::make_unique<MpiMailbox>(world);
}

}  // namespace heed::dist
