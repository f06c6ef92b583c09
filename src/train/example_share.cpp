#include "train/example_share.hpp"

#include <algorithm>
#include <numeric>

#include "heed/base/error.hpp"
#include "train/rank_bytes.hpp"
#include "train/sharing.hpp"

namespace heed {
namespace {

using Indices = ExampleShare::Indices;

Indices first_numbers(std::size_t count) {
  Indices numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

std::string swap_bytes(const std::string& out, int to, int from, dist::Group& group) {
  const std::uint64_t mine = out.size();
  std::uint64_t theirs = 0;
  group
      .exchange(std::as_bytes(std::span(&mine, 1)), to,
                std::as_writable_bytes(std::span(&theirs, 1)), from)
      ->wait();
  std::string in(theirs, '\0');
  group.exchange(std::as_bytes(std::span(out)), to, std::as_writable_bytes(std::span(in)), from)
      ->wait();
  return in;
}

}  // namespace

void complete(std::vector<Example>& examples, Held& held, dist::Group& group) {
  if (held.size == 0) return;
  std::vector<std::int64_t> owners(held.size);
  for (const std::size_t place : held.places) owners[place] = group.rank();
  group.sum(owners)->wait();
  std::vector<std::vector<Example>> read;
  for (const std::string& bytes : group.gather(to_bytes(examples)))
    read.push_back(examples_from(bytes));
  std::vector<std::size_t> next(read.size());
  examples.clear();
  for (const std::int64_t owner : owners) {
    const auto rank = static_cast<std::size_t>(owner);
    examples.push_back(std::move(read[rank].at(next[rank]++)));
  }
  held = {};
}

void ExampleShare::take(std::vector<Example> examples, const Held& held, const TaskModel& model) {
  whole_ = model.whole();
  const std::size_t size = held.size > 0 ? held.size : examples.size();
  Indices indices = held.size > 0 ? held.places : first_numbers(size);
  lengths_.assign(size, 0);
  answers_.assign(size, 0);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    lengths_[indices[i]] = total_length(examples[i]);
    answers_[indices[i]] = model.answers_in(examples[i]);
  }
  owners_.assign(size, 0);
  if (held.size > 0) {
    std::vector<std::int64_t> owners(size);
    for (const std::size_t index : indices) owners[index] = group_.rank();
    group_.sum(owners)->wait();
    owners_.assign(owners.begin(), owners.end());
    group_.sum(lengths_)->wait();  // one rank gave each, the others 0
    group_.sum(answers_)->wait();
  } else if (group_.size() > 1) {
    std::vector<Example> kept;
    Indices places;
    for (std::size_t i = 0; i < size; ++i) {
      owners_[i] = whole_ ? 0 : static_cast<int>(i % static_cast<std::size_t>(group_.size()));
      if (owners_[i] != group_.rank()) continue;
      places.push_back(i);
      kept.push_back(std::move(examples[i]));
    }
    examples = std::move(kept);
    indices = std::move(places);
  }
  keep(std::move(examples), std::move(indices));
}

void ExampleShare::keep(std::vector<Example> examples, Indices indices) {
  const Indices order = [&] {
    Indices by_index = first_numbers(indices.size());
    std::ranges::sort(by_index, {}, [&](std::size_t i) { return indices[i]; });
    return by_index;
  }();
  examples_.clear();
  indices_.clear();
  places_.resize(size());
  for (const std::size_t i : order) {
    places_[indices[i]] = examples_.size();
    indices_.push_back(indices[i]);
    examples_.push_back(std::move(examples[i]));
  }
}

void ExampleShare::deal(const std::vector<Indices>& batches) {
  const int ranks = group_.size(), rank = group_.rank();
  if (ranks == 1 || whole_) return;
  std::vector<int> next = owners_;
  for (const Indices& batch : batches) {
    for (std::size_t i = 0; i < batch.size(); ++i)
      next[batch[i]] = static_cast<int>(i % static_cast<std::size_t>(ranks));
  }
  std::vector<Example> examples;
  Indices indices;
  for (int step = 1; step < ranks; ++step)
    pass_on(next, (rank + step) % ranks, (rank - step + ranks) % ranks, examples, indices);
  for (std::size_t i = 0; i < indices_.size(); ++i) {
    if (next[indices_[i]] != rank) continue;
    indices.push_back(indices_[i]);
    examples.push_back(std::move(examples_[i]));
  }
  owners_ = std::move(next);
  keep(std::move(examples), std::move(indices));
}

void ExampleShare::pass_on(const std::vector<int>& next, int to, int from,
                           std::vector<Example>& got, Indices& indices) {
  std::vector<Example> leaving;
  for (std::size_t i = 0; i < indices_.size(); ++i) {
    if (next[indices_[i]] == to) leaving.push_back(std::move(examples_[i]));
  }
  std::vector<Example> read = examples_from(swap_bytes(to_bytes(leaving), to, from, group_));
  std::ranges::move(read, std::back_inserter(got));
  for (std::size_t index = 0; index < size(); ++index) {
    if (owners_[index] == from && next[index] == group_.rank()) indices.push_back(index);
  }
  HEED_CHECK(indices.size() == got.size(), "rank {} sent {} examples more than were asked for",
             from,
             static_cast<std::int64_t>(got.size()) - static_cast<std::int64_t>(indices.size()));
}

Indices ExampleShare::own(const Indices& batch) const {
  if (whole_) return group_.first() ? batch : Indices();
  return own_part(batch, group_);
}

Indices ExampleShare::places(const Indices& own) const {
  Indices places;
  places.reserve(own.size());
  for (const std::size_t index : own) places.push_back(places_[index]);
  return places;
}

}  // namespace heed
