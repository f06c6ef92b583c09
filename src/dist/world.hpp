#pragma once

namespace heed::dist {

/// A rank is gone: at its end this process does not wait for the others, as MPI_Finalize would.
void leave_without_farewell();

}  // namespace heed::dist
