#pragma once

namespace heed::dist {

/// What the launcher (mpirun) told this process, known before MPI is started.
struct Launched {
  int rank = 0;
  int size = 1;
  int here = 1;  ///< Processes of the job on this machine.
};

/// {0, 1, 1} without a launcher.
Launched launched();

}  // namespace heed::dist
