#pragma once
#include <cstdint>
#include <vector>

#include "heed/attention/tensor.hpp"
#include "heed/dist/group.hpp"

namespace heed {

/// A table of which a batch touches a few rows, as of words, and not one that is small anyway.
bool is_table(const Tensor& parameter);

/// The rows of a table's gradient that are not all zero; none of an undefined one.
std::vector<std::int64_t> touched_rows(const Tensor& gradient);

/// True if so many rows of all ranks are less to send than the table is.
bool worth_sending_as_rows(const Tensor& table, std::int64_t touched);

/// Adds up the gradient of a table over the ranks, of which each sends what it touched. Rows are
/// added in the order of ranks, so that all get the same bits.
Tensor sum_as_rows(const Tensor& table, const std::vector<std::int64_t>& touched,
                   dist::Group& group);

}  // namespace heed
