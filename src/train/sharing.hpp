#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heed/data/dataset.hpp"
#include "heed/dist/group.hpp"
#include "heed/models/task_model.hpp"

namespace heed {

/// What the first rank gave, at every rank.
std::string from_first(const std::string& mine, dist::Group& group);

/// Sets tensors to the first rank's, in place; all ranks have the same names and sizes.
void set_to_first(const NamedTensors& tensors, dist::Group& group);

/// InputError at every rank, with the number of the rank and the name of the thing, unless all
/// ranks have the same text under each name.
void check_alike(const std::vector<std::pair<std::string, std::string>>& things,
                 dist::Group& group);

/// Whether any rank says so.
bool anyone(bool mine, dist::Group& group);

/// A short text that differs for different data.
std::string digest(const Dataset& data);
/// The same of what a model consists of, its numbers aside.
std::string digest(const NamedTensors& tensors);

/// The part of a batch that this rank learns from: every size()-th example, so that all ranks have
/// short and long ones alike. May be empty.
std::vector<std::size_t> own_part(std::span<const std::size_t> batch, const dist::Group& group);

/// Which rank does each piece of work, so that all have about as much: the largest first, to
/// whoever has least.
std::vector<int> deal(std::span<const double> costs, int ranks);

}  // namespace heed
