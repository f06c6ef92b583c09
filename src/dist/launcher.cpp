#include "heed/dist/launcher.hpp"

#include <cstdlib>
#include <initializer_list>

namespace heed::dist {
namespace {

/// The first of the variables that is set: Open MPI's, then MPICH's.
int number_from(std::initializer_list<const char*> names, int fallback) {
  for (const char* name : names) {
    if (const char* value = std::getenv(name)) return std::atoi(value);
  }
  return fallback;
}

}  // namespace

Launched launched() {
  return {.rank = number_from({"OMPI_COMM_WORLD_RANK", "PMI_RANK"}, 0),
          .size = number_from({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}, 1),
          .here = number_from({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}, 1)};
}

}  // namespace heed::dist
