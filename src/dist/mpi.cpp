#include "heed/dist/mpi.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdlib>

#include "dist/world.hpp"
#include "heed/base/error.hpp"

namespace heed::dist {
namespace {

// Counts are ints in MPI: longer messages go in pieces.
constexpr std::size_t kPiece = std::size_t{1} << 30;

class MpiWork final : public Work {
 public:
  explicit MpiWork(std::vector<MPI_Request> requests) : requests_(std::move(requests)) {}
  ~MpiWork() override { MpiWork::wait(); }
  MpiWork(const MpiWork&) = delete;
  MpiWork& operator=(const MpiWork&) = delete;
  bool done() override {
    int flag = 0;
    MPI_Testall(count(), requests_.data(), &flag, MPI_STATUSES_IGNORE);
    return flag != 0;
  }
  void wait() override { MPI_Waitall(count(), requests_.data(), MPI_STATUSES_IGNORE); }

 private:
  int count() const { return static_cast<int>(requests_.size()); }
  std::vector<MPI_Request> requests_;
};

template <class T, class Start>
void in_pieces(std::span<T> values, const Start& start) {
  const std::size_t piece = kPiece / sizeof(T);
  for (std::size_t i = 0; i < values.size(); i += piece)
    start(values.subspan(i, std::min(piece, values.size() - i)));
}

class MpiGroup final : public Group {
 public:
  MpiGroup() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::unique_ptr<Work> sum(std::span<float> values) override { return sum(values, MPI_FLOAT); }
  std::unique_ptr<Work> sum(std::span<double> values) override { return sum(values, MPI_DOUBLE); }
  std::unique_ptr<Work> sum(std::span<std::int64_t> values) override {
    return sum(values, MPI_INT64_T);
  }

  std::unique_ptr<Work> exchange(std::span<const std::byte> out, int to, std::span<std::byte> in,
                                 int from) override {
    std::vector<MPI_Request> requests;
    in_pieces(in, [&](std::span<std::byte> piece) {
      MPI_Irecv(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, from, 0, MPI_COMM_WORLD,
                &requests.emplace_back());
    });
    in_pieces(out, [&](std::span<const std::byte> piece) {
      MPI_Isend(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, to, 0, MPI_COMM_WORLD,
                &requests.emplace_back());
    });
    return std::make_unique<MpiWork>(std::move(requests));
  }

  std::vector<std::string> gather(const std::string& mine) override {
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(size_));
    sizes[static_cast<std::size_t>(rank_)] = static_cast<std::int64_t>(mine.size());
    sum(sizes)->wait();
    std::vector<std::string> all;
    for (int from = 0; from < size_; ++from) {
      std::string& text = all.emplace_back(from == rank_ ? mine : "");
      text.resize(static_cast<std::size_t>(sizes[static_cast<std::size_t>(from)]));
      in_pieces(std::span(text), [&](std::span<char> piece) {
        MPI_Bcast(piece.data(), static_cast<int>(piece.size()), MPI_CHAR, from, MPI_COMM_WORLD);
      });
    }
    return all;
  }

 private:
  template <class T>
  std::unique_ptr<Work> sum(std::span<T> values, MPI_Datatype type) {
    std::vector<MPI_Request> requests;
    in_pieces(values, [&](std::span<T> piece) {
      MPI_Iallreduce(MPI_IN_PLACE, piece.data(), static_cast<int>(piece.size()), type, MPI_SUM,
                     MPI_COMM_WORLD, &requests.emplace_back());
    });
    return std::make_unique<MpiWork>(std::move(requests));
  }

  int rank_ = 0, size_ = 1;
};

bool farewell = true;

bool was_launched() {
  return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr || std::getenv("PMI_SIZE") != nullptr;
}

void start_mpi() {
  // An abort is announced in eight lines, after the one that tells the reason. What mpirun itself
  // says of a rank that was killed stays.
  setenv("OMPI_MCA_orte_execute_quiet", "1", /*overwrite=*/0);
  int given = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &given);
  HEED_CHECK(given >= MPI_THREAD_SERIALIZED,
             "this MPI cannot be called from more than one thread; use one that can");
  std::atexit([] {
    if (farewell) MPI_Finalize();
  });
}

}  // namespace

Group& mpi_world() {
  if (!was_launched()) return alone();
  static const bool started = (start_mpi(), true);
  static_cast<void>(started);
  static MpiGroup group;
  return group;
}

void leave_without_farewell() { farewell = false; }

bool is_rank() {
  int started = 0;
  return was_launched() && MPI_Initialized(&started) == MPI_SUCCESS && started != 0;
}

void abort_world(int code) {
  if (is_rank()) MPI_Abort(MPI_COMM_WORLD, code);
}

}  // namespace heed::dist
