#include "train/sharing.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/hash.hpp"
#include "heed/base/error.hpp"

namespace heed {
namespace {

std::uint64_t hash_words(const std::vector<std::string>& words, std::uint64_t hash) {
  for (const std::string& word : words) hash = hash_text(" ", hash_text(word, hash));
  return hash;
}

template <class T>
std::uint64_t hash_numbers(const std::vector<T>& numbers, std::uint64_t hash) {
  return hash_text({reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)},
                   hash);
}

std::uint64_t hash_example(const Example& example, std::uint64_t hash) {
  hash = hash_text(fmt::format("{}\n{}\n{}\n", example.id, example.label, example.number), hash);
  for (const auto& [name, words] : example.inputs) hash = hash_words(words, hash_text(name, hash));
  for (const auto& [name, values] : example.values)
    hash = hash_numbers(values.data, hash_text(name, hash));
  for (const auto& [name, gold] : example.gold) hash = hash_numbers(gold, hash_text(name, hash));
  return hash_words(example.target, hash);
}

}  // namespace

std::string from_first(const std::string& mine, dist::Group& group) {
  return std::move(group.gather(group.first() ? mine : "").front());
}

void set_to_first(const NamedTensors& tensors, dist::Group& group) {
  if (group.size() == 1) return;
  torch::NoGradGuard no_grad;
  for (const auto& [name, tensor] : tensors) {
    const Tensor whole = tensor.contiguous();
    std::string bytes =
        from_first({static_cast<const char*>(whole.const_data_ptr()), whole.nbytes()}, group);
    Tensor(tensor).copy_(torch::from_blob(bytes.data(), whole.sizes(), whole.options()));
  }
}

void check_alike(const std::vector<std::pair<std::string, std::string>>& things,
                 dist::Group& group) {
  for (const auto& [name, mine] : things) {
    const std::vector<std::string> all = group.gather(mine);
    const auto other = std::ranges::find_if(all, [&](const auto& text) { return text != all[0]; });
    HEED_CHECK(other == all.end(),
               "rank {} has another {} than rank 0; all hosts need the same heed, config and data",
               other - all.begin(), name);
  }
}

bool anyone(bool mine, dist::Group& group) {
  std::vector<std::int64_t> count = {mine ? 1 : 0};
  group.sum(count)->wait();
  return count.front() > 0;
}

std::string digest(const Dataset& data) {
  // Of a shared reading the file's own hash tells, which also covers what is held out.
  std::uint64_t hash = hash_text(fmt::format("{:016x}", data.train_held.hash));
  const std::span<const Example> ignored;
  const std::span<const Example> train = data.train_held.size > 0 ? ignored : std::span(data.train);
  const std::span<const Example> val = data.val_held.size > 0 ? ignored : std::span(data.val);
  for (const std::span<const Example> part : {train, val, std::span(data.test)}) {
    for (const Example& example : part) hash = hash_example(example, hash);
  }
  return fmt::format("{} {} {} {} {} {:016x}", data.train_held.size, train.size(),
                     data.val_held.size, val.size(), data.test.size(), hash);
}

std::string digest(const NamedTensors& tensors) {
  std::string text;
  for (const auto& [name, tensor] : tensors) text += name + " " + shape_text(tensor) + "\n";
  return text;
}

std::vector<std::size_t> own_part(std::span<const std::size_t> batch, const dist::Group& group) {
  std::vector<std::size_t> part;
  for (auto i = static_cast<std::size_t>(group.rank()); i < batch.size();
       i += static_cast<std::size_t>(group.size()))
    part.push_back(batch[i]);
  return part;
}

std::vector<int> deal(std::span<const double> costs, int ranks) {
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return costs[i]; });
  std::vector<double> load(static_cast<std::size_t>(ranks));
  std::vector<int> owners(costs.size());
  for (const std::size_t i : order) {
    const auto least = std::ranges::min_element(load);
    *least += costs[i];
    owners[i] = static_cast<int>(least - load.begin());
  }
  return owners;
}

}  // namespace heed
