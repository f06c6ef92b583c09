#include "heed/data/user_vectors.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "heed/base/error.hpp"
#include "heed/data/safetensors.hpp"

namespace heed {
namespace {

using torch::Tensor;

constexpr int kTurns = 40;            // of the subspace iteration
constexpr std::int64_t kBeside = 16;  // directions carried beside those that are kept
constexpr std::uint64_t kSeed = 1;    // where it starts

Tensor whole_numbers(const std::vector<std::int64_t>& numbers) {
  return torch::tensor(numbers, torch::kInt64);
}

/// A sparse matrix by rows: `x` gives what each row's columns add up to.
struct Rows {
  std::vector<std::int64_t> columns, offsets = {0};
  std::vector<float> values;

  void add(std::int64_t column, double value) {
    columns.push_back(column);
    values.push_back(static_cast<float>(value));
  }
  void end() { offsets.push_back(static_cast<std::int64_t>(columns.size())); }

  Rows transposed(std::size_t width) const {
    std::vector<std::vector<std::pair<std::int64_t, float>>> turned(width);
    for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
      for (auto i = static_cast<std::size_t>(offsets[row]);
           i < static_cast<std::size_t>(offsets[row + 1]); ++i)
        turned[static_cast<std::size_t>(columns[i])].emplace_back(row, values[i]);
    }
    Rows rows;
    for (const auto& entries : turned) {
      for (const auto& [column, value] : entries) rows.add(column, value);
      rows.end();
    }
    return rows;
  }
};

/// Holds the tensors of `Rows`, as products are made many times.
class Product {
 public:
  explicit Product(const Rows& rows)
      : columns_(whole_numbers(rows.columns)),
        offsets_(whole_numbers(rows.offsets)),
        values_(torch::tensor(rows.values)) {}

  Tensor operator()(const Tensor& x) const {
    return std::get<0>(torch::embedding_bag(x, columns_, offsets_, false, /*mode=*/0, false,
                                            values_, /*include_last_offset=*/true));
  }

 private:
  Tensor columns_, offsets_, values_;
};

/// Right singular vectors [columns, ≤ dim] of the leading singular values, by subspace iteration.
Tensor singular_vectors(const Rows& matrix, std::size_t width, std::int64_t dim) {
  const Product times(matrix), back(matrix.transposed(width));
  const auto rows = static_cast<std::int64_t>(matrix.offsets.size()) - 1;
  const std::int64_t carried = std::min({dim + kBeside, rows, static_cast<std::int64_t>(width)});
  auto generator = at::detail::createCPUGenerator(kSeed);
  const auto orthogonal = [](const Tensor& x) { return std::get<0>(torch::linalg_qr(x)); };
  Tensor left = orthogonal(torch::randn({rows, carried}, generator));
  for (int turn = 0; turn < kTurns; ++turn) left = orthogonal(times(back(left)));
  const Tensor right = back(left);
  const auto [squares, directions] = torch::linalg_eigh(torch::matmul(right.t(), right));
  const std::int64_t kept = std::min(dim, carried);
  const Tensor sizes = squares.slice(0, carried - kept).clamp_min(0).sqrt();
  const Tensor vectors = torch::matmul(right, directions.slice(1, carried - kept));
  return torch::where(sizes > 1e-4, vectors / sizes, torch::zeros({}));  // the others are rounding
}

}  // namespace

std::shared_ptr<const UserVectors> UserVectors::learn(std::span<const UserItems> lists,
                                                      std::span<const std::string> labels,
                                                      const Vocabulary& vocabulary,
                                                      const UserVectorOptions& options) {
  HEED_CHECK(!lists.empty(),
             "vectors of users are learned from lists of who took what: tasks of kind 'recommend'");
  // A column for each label, then one for each word that is none.
  const auto label_of = [&](const std::string& item) {
    return std::ranges::lower_bound(labels, item) - labels.begin();
  };
  const std::size_t width = labels.size() + vocabulary.size();
  std::vector<double> item_sums(width), user_sums;
  std::vector<std::vector<std::pair<std::int64_t, double>>> entries;
  Rows taken;
  for (const UserItems& list : lists) {
    auto& own = entries.emplace_back();
    for (const std::string& item : list.history) {
      own.emplace_back(label_of(item), 1.0);
      taken.add(label_of(item), 1.0 / static_cast<double>(list.history.size()));
    }
    taken.end();
    for (const std::string& item : list.source)
      own.emplace_back(static_cast<std::int64_t>(labels.size()) + vocabulary.id(item),
                       options.source);
    double sum = 0;
    for (const auto& [column, value] : own) {
      sum += value;
      item_sums[static_cast<std::size_t>(column)] += value;
    }
    user_sums.push_back(sum);
  }
  const auto damped = [](double sum) { return 1 / std::sqrt(sum + 1); };
  Rows matrix;
  for (std::size_t user = 0; user < lists.size(); ++user) {
    for (const auto& [column, value] : entries[user])
      matrix.add(column, value * damped(user_sums[user]) *
                             damped(item_sums[static_cast<std::size_t>(column)]));
    matrix.end();
  }
  const Tensor vectors = singular_vectors(matrix, width, options.dim);
  // Of a user, what a step of the product above gives, but for the user's own factor.
  std::vector<std::int64_t> column_of(vocabulary.size(), -1);
  std::vector<float> weights(vocabulary.size());
  for (std::size_t id = 2; id < vocabulary.size(); ++id) {
    const std::string& item = vocabulary.word(static_cast<std::int64_t>(id));
    const bool label = std::ranges::binary_search(labels, item);
    column_of[id] = label ? label_of(item) : static_cast<std::int64_t>(labels.size() + id);
    weights[id] = static_cast<float>((label ? 1 : options.source) *
                                     damped(item_sums[static_cast<std::size_t>(column_of[id])]));
  }
  const Tensor columns = whole_numbers(column_of).clamp_min(0);
  auto made = std::make_shared<UserVectors>();
  made->items = vectors.index_select(0, columns) * torch::tensor(weights).unsqueeze(1);
  made->users = Product(matrix)(vectors);
  const Rows by_item = taken.transposed(labels.size());
  made->takers = whole_numbers(by_item.columns);
  made->offsets = whole_numbers(by_item.offsets);
  made->shares = torch::tensor(by_item.values);
  return made;
}

void UserVectors::save(const std::filesystem::path& file) const {
  write_safetensors(file, {{"items", items},
                           {"users", users},
                           {"takers", takers},
                           {"offsets", offsets},
                           {"shares", shares}});
}

std::shared_ptr<const UserVectors> UserVectors::load(const std::filesystem::path& file,
                                                     std::size_t labels, std::size_t vocabulary) {
  const auto tensors = read_safetensors(file).tensors;
  const auto tensor = [&](const char* name, torch::ScalarType type, std::int64_t axes) {
    const auto found = tensors.find(name);
    HEED_CHECK(found != tensors.end() && found->second.scalar_type() == type &&
                   found->second.dim() == axes,
               "{}: damaged: vectors of users need '{}'", file.string(), name);
    return found->second;
  };
  auto read = std::make_shared<UserVectors>();
  read->items = tensor("items", torch::kFloat32, 2);
  read->users = tensor("users", torch::kFloat32, 2);
  read->takers = tensor("takers", torch::kInt64, 1);
  read->offsets = tensor("offsets", torch::kInt64, 1);
  read->shares = tensor("shares", torch::kFloat32, 1);
  const Tensor &takers = read->takers, &offsets = read->offsets;
  const auto all = [](const Tensor& condition) { return condition.all().item<bool>(); };
  const bool fits = read->items.size(0) == static_cast<std::int64_t>(vocabulary) &&
                    offsets.size(0) == static_cast<std::int64_t>(labels) + 1 &&
                    read->items.size(1) == read->users.size(1) &&
                    takers.size(0) == read->shares.size(0);
  HEED_CHECK(fits, "{}: vectors of users are of other data than this run", file.string());
  HEED_CHECK(all(takers >= 0) && all(takers < read->users.size(0)) && all(offsets.diff() >= 0) &&
                 offsets[0].item<std::int64_t>() == 0 &&
                 offsets[-1].item<std::int64_t>() == takers.size(0) &&
                 all(torch::isfinite(read->items)) && all(torch::isfinite(read->users)) &&
                 all(torch::isfinite(read->shares)),
             "{}: damaged: vectors of users name users or items that are not there", file.string());
  return read;
}

}  // namespace heed
