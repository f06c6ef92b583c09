#include <cstdlib>

#include "heed/base/error.hpp"
#include "heed/dist/mailbox.hpp"
#include "heed/dist/mpi.hpp"

namespace heed::dist {

Group& mpi_world() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* size = std::getenv(name);
    HEED_CHECK(size == nullptr || std::atoi(size) <= 1,
               "started as one of {} processes, but this heed was built without MPI; install "
               "libopenmpi-dev and build it again",
               size);
  }
  return alone();
}

bool is_rank() { return false; }

void abort_world(int) {}

std::unique_ptr<Mailbox> mpi_mailbox() {
  mpi_world();  // complains where there should be one
  return nullptr;
}

}  // namespace heed::dist
