#pragma once
#include "heed/dist/group.hpp"

namespace heed::dist {

/// The processes that `mpirun` started together, or this one alone where no launcher is; MPI is
/// started by the first call and ended with the process. Called by one thread at a time.
Group& mpi_world();

/// True once MPI has been started in this process. One that a rank started for itself inherits the
/// launcher's variables, and is no rank.
bool is_rank();

/// Ends all ranks with this exit code, after whatever they have printed. Without a launcher it
/// returns.
void abort_world(int code);

}  // namespace heed::dist
