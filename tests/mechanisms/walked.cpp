#include "mechanisms/walked.hpp"

namespace heed {
namespace {

// 1, 2, 3 … and what is left: 7 → 1, 2, 3, 1.
std::vector<std::int64_t> run_sizes(std::int64_t n) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = 1; n > 0; n -= sizes.back(), ++size) sizes.push_back(std::min(size, n));
  return sizes;
}

// One level of segments over entries of these lengths, which become the next level's.
Segments segments_of(std::vector<std::int64_t>& lengths) {
  std::vector<std::vector<std::int64_t>> all;
  std::size_t most = 0;
  for (const std::int64_t n : lengths) {
    all.push_back(run_sizes(n));
    most = std::max(most, all.back().size());
  }
  const auto B = static_cast<std::int64_t>(lengths.size());
  Tensor sizes = torch::zeros({B, static_cast<std::int64_t>(most)}, torch::kInt64);
  for (std::size_t b = 0; b < all.size(); ++b) {
    lengths[b] = static_cast<std::int64_t>(all[b].size());
    for (std::size_t s = 0; s < all[b].size(); ++s)
      sizes[static_cast<std::int64_t>(b)][static_cast<std::int64_t>(s)] = all[b][s];
  }
  return {.sizes = sizes, .lengths = torch::tensor(lengths)};
}

std::vector<Segments> two_levels(std::vector<std::int64_t> lengths) {
  const Segments sentences = segments_of(lengths), paragraphs = segments_of(lengths);
  return {sentences, paragraphs};
}

}  // namespace

Walked::Walked(const PartInfo& info, std::vector<std::int64_t> lengths) {
  torch::manual_seed(3);
  const auto B = static_cast<std::int64_t>(lengths.size());
  const auto add = [&](std::string name, std::int64_t shorter, std::int64_t width, bool levels) {
    std::vector<std::int64_t> own;
    for (const std::int64_t n : lengths)
      own.push_back(std::max(std::min<std::int64_t>(n, 1), n - shorter));
    const std::int64_t N = *std::max_element(own.begin(), own.end());
    inputs.push_back({.data = torch::randn({B, N, width}, torch::kFloat64),
                      .lengths = torch::tensor(own),
                      .name = std::move(name),
                      .levels = levels ? two_levels(own) : std::vector<Segments>{}});
  };
  for (std::size_t i = 0; i < info.takes.size(); ++i) {
    const InputNeed& need = info.takes[i];
    const auto order = static_cast<std::int64_t>(i);
    add(need.name.empty() ? "input " + std::to_string(i + 1) : need.name, order, kWidth,
        need.levels);
    // Of several that go together the lengths are one and the widths differ.
    if (need.more) add("second", order, kWidth - 1, false), add("third", order, kWidth + 1, false);
  }
  query = torch::randn({B, kWidth}, torch::kFloat64);
}

Inputs Walked::given() const {
  Inputs in;
  for (const Input& x : inputs) in.set(x.name, x.data, x.lengths, x.levels);
  in.query = query;
  return in;
}

Walked Walked::alone(std::int64_t b) const {
  Walked one = *this;
  for (Input& x : one.inputs) {
    const auto n = x.lengths[b].item<std::int64_t>();
    x.data = x.data.narrow(0, b, 1).narrow(1, 0, n);
    x.lengths = Tensor();
    if (!x.levels.empty()) x.levels = two_levels({n});
  }
  one.query = query.narrow(0, b, 1);
  return one;
}

Walked Walked::poisoned() const {
  Walked bad = *this;
  for (Input& x : bad.inputs)
    x.data = x.data.detach().masked_fill(~valid_positions(x).unsqueeze(-1), NAN);
  return bad;
}

std::vector<Tensor> Walked::leaves() {
  std::vector<Tensor> all;
  for (Input& x : inputs) all.push_back(x.data = x.data.detach().clone().set_requires_grad(true));
  all.push_back(query = query.detach().clone().set_requires_grad(true));
  return all;
}

std::vector<MechanismProblem::NamedWidth> Walked::widths() const {
  std::vector<MechanismProblem::NamedWidth> all;
  for (const Input& x : inputs)
    all.push_back({.name = x.name,
                   .dim = x.data.size(2),
                   .levels = static_cast<std::int64_t>(x.levels.size())});
  return all;
}

std::vector<PartInfo> walked_mechanisms() {
  std::vector<PartInfo> all;
  for (const PartInfo& info : mechanism_parts().parts()) {
    // Over a graph the batch is the nodes: graph_test.cpp holds those.
    if (info.group == Group::mechanism && !info.takes.front().edges) all.push_back(info);
  }
  return all;
}

std::shared_ptr<Mechanism> make_walked(const PartInfo& info, AttentionSpec parts,
                                       std::uint64_t seed) {
  const Walked sizes(info, {6, 4});
  torch::manual_seed(seed);
  parts.mechanism.id = info.id;
  auto mechanism = make_mechanism({.parts = std::move(parts),
                                   .options = {},
                                   .inputs = sizes.widths(),
                                   .query_dim = Walked::kWidth,
                                   .classes = 3});
  mechanism->to(torch::kFloat64);
  return mechanism;
}

}  // namespace heed
