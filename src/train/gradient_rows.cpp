#include "train/gradient_rows.hpp"

#include <algorithm>
#include <cstring>

namespace heed {
namespace {

constexpr std::int64_t kTableRows = 1024;

/// The numbers of the rows, then the rows.
std::string written_rows(const Tensor& gradient, const std::vector<std::int64_t>& rows) {
  if (rows.empty()) return {};
  const Tensor values = gradient.index_select(0, torch::tensor(rows)).contiguous();
  const std::size_t numbers = rows.size() * sizeof(std::int64_t);
  std::string bytes(numbers + values.nbytes(), '\0');
  std::memcpy(bytes.data(), rows.data(), numbers);
  std::memcpy(bytes.data() + numbers, values.const_data_ptr(), values.nbytes());
  return bytes;
}

void add_rows(Tensor& sum, std::string& bytes) {
  const std::int64_t width = sum.size(1);
  const auto each = static_cast<std::int64_t>(sizeof(std::int64_t) + sizeof(float) * width);
  const std::int64_t count = static_cast<std::int64_t>(bytes.size()) / each;
  const Tensor numbers = torch::from_blob(bytes.data(), {count}, torch::kInt64);
  // index_add_ would go row by row; a rank names no row twice.
  const Tensor values = torch::from_blob(bytes.data() + count * sizeof(std::int64_t),
                                         {count, width}, torch::kFloat32);
  sum.index_copy_(0, numbers, sum.index_select(0, numbers) + values);
}

}  // namespace

bool is_table(const Tensor& parameter) {
  return parameter.dim() == 2 && parameter.size(0) >= kTableRows;
}

std::vector<std::int64_t> touched_rows(const Tensor& gradient) {
  std::vector<std::int64_t> rows;
  if (!gradient.defined()) return rows;
  const Tensor whole = gradient.contiguous();
  const std::int64_t width = whole.size(1);
  const float* row = whole.const_data_ptr<float>();
  for (std::int64_t i = 0; i < whole.size(0); ++i, row += width) {
    if (std::any_of(row, row + width, [](float x) { return x != 0; })) rows.push_back(i);
  }
  return rows;
}

bool worth_sending_as_rows(const Tensor& table, std::int64_t touched) {
  return 2 * touched <= table.size(0);
}

Tensor sum_as_rows(const Tensor& table, const std::vector<std::int64_t>& touched,
                   dist::Group& group) {
  Tensor sum = torch::zeros_like(table);
  for (std::string& bytes : group.gather(written_rows(table.grad(), touched))) add_rows(sum, bytes);
  return sum;
}

}  // namespace heed
