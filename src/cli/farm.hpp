#pragma once
#include <functional>
#include <string>
#include <vector>

#include "heed/ablate/result.hpp"
#include "heed/dist/mailbox.hpp"

namespace heed::cli {

/// How a farm is told about; each is called by the first rank alone.
struct FarmEvents {
  /// Cell i has ended, and its files are in their place; `failure` is empty when it ended well.
  std::function<void(std::size_t, const std::string& failure)> ended;
  /// A rank is gone; so many cells of its go to others.
  std::function<void(int rank, std::size_t cells)> lost;
};

/// Runs the cells of an ablation that is laid out, each in a process of its own, `at_once` of them
/// here; with a mailbox other ranks take theirs from the same queue. A rank that ends loses the
/// cells it had begun, and others take them.
void run_cells(const ablate::AblationFiles& files, const std::vector<std::string>& cells,
               std::size_t at_once, dist::Mailbox* mailbox, const FarmEvents& events);

/// What ranks other than the first do: take cells, run them `at_once` at a time in a folder for
/// temporary files, send back what they wrote, until there are no more.
void work_for_farm(dist::Mailbox& mailbox, std::size_t at_once);

}  // namespace heed::cli
