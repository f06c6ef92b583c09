#include "kernels/support.hpp"

#include <cmath>
#include <limits>
#include <sstream>

#include "kernels/convert.hpp"
#include "kernels/reference.hpp"

namespace heed::kernels::testing {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

static std::size_t bytes_of(Type type) {
  return type == Type::float64 ? 8 : type == Type::float32 ? 4 : 2;
}

Buffer::Buffer(Type type, std::int64_t size, double fill)
    : type_(type), size_(size), bytes_(static_cast<std::size_t>(size) * bytes_of(type)) {
  for (std::int64_t i = 0; i < size; ++i) set(i, fill);
}

template <class T>
static T load(const std::uint8_t* bytes, std::int64_t i) {
  T x;
  std::memcpy(&x, bytes + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
  return x;
}
template <class T>
static void store(std::uint8_t* bytes, std::int64_t i, T x) {
  std::memcpy(bytes + static_cast<std::size_t>(i) * sizeof(T), &x, sizeof(T));
}

double Buffer::get(std::int64_t i) const {
  switch (type_) {
    case Type::float32:
      return load<float>(bytes_.data(), i);
    case Type::float64:
      return load<double>(bytes_.data(), i);
    case Type::bfloat16:
      return widen(load<BFloat16>(bytes_.data(), i));
    case Type::float16:
      return widen(load<Float16>(bytes_.data(), i));
  }
  return 0;
}

void Buffer::set(std::int64_t i, double x) {
  switch (type_) {
    case Type::float32:
      return store(bytes_.data(), i, static_cast<float>(x));
    case Type::float64:
      return store(bytes_.data(), i, x);
    case Type::bfloat16:
      return store(bytes_.data(), i, narrow_bfloat16(static_cast<float>(x)));
    case Type::float16:
      return store(bytes_.data(), i, narrow_float16(static_cast<float>(x)));
  }
}

Tensor::Tensor(Type type, std::array<std::int64_t, 4> of, Layout layout) : shape(of) {
  const auto [b, h, n, d] = of;
  const std::int64_t step = layout == Layout::gaps ? 2 : 1;
  stride = layout == Layout::blhd
               ? std::array<std::int64_t, 4>{n * h * d, d, h * d, 1}
               : std::array<std::int64_t, 4>{h * n * d * step, n * d * step, d * step, step};
  buffer = Buffer(type, b * h * n * d * step, kNaN);
}

void Tensor::fill(const std::function<double()>& next) {
  for (std::int64_t b = 0; b < shape[0]; ++b)
    for (std::int64_t h = 0; h < shape[1]; ++h)
      for (std::int64_t i = 0; i < shape[2]; ++i)
        for (std::int64_t j = 0; j < shape[3]; ++j) set(b, h, i, j, next());
}

void Case::connect() {
  problem.query = query.input(), problem.key = key.input(), problem.value = value.input();
  if (!mask.empty()) problem.mask.data = mask.data();
  if (bias.buffer.size() > 0) problem.bias.data = bias.buffer.data();
  if (!lengths.empty()) problem.lengths = lengths.data();
  if (!slopes.empty()) problem.alibi_slopes = slopes.data();
  if (row_bias.size() > 0) {
    problem.row_bias = {row_bias.data(), {problem.heads * problem.queries, problem.queries, 1, 0}};
  }
  if (column_bias.size() > 0) {
    problem.column_bias = {column_bias.data(), {problem.heads * problem.keys, problem.keys, 1, 0}};
  }
  if (sink.size() > 0) problem.sink = sink.data();
  if (alpha.size() > 0) problem.alpha = alpha.data();
  if (weight.size() > 0) problem.weight = weight.data();
  if (center.size() > 0) {
    problem.center = {center.data(), {problem.heads * problem.queries, problem.queries, 1, 0}};
  }
}

std::string Case::describe() const {
  const AttentionProblem& p = problem;
  std::ostringstream s;
  s << simd_target() << " type " << int(p.type) << " B" << p.batch << " H" << p.heads << " G"
    << p.kv_heads << " Q" << p.queries << " K" << p.keys << " D" << p.width << " V" << p.value_width
    << " scale " << p.scale << " softcap " << p.softcap << " act " << int(p.activation)
    << " causal " << int(p.causal) << " offset " << p.offset << " window " << p.window_left << ","
    << p.window_right << " dropout " << p.dropout << " mask " << (p.mask.data != nullptr)
    << " bias " << (p.bias.data != nullptr) << " lengths " << (p.lengths != nullptr) << " alibi "
    << (p.alibi_slopes != nullptr) << " row " << (p.row_bias.data != nullptr) << " column "
    << (p.column_bias.data != nullptr) << " sink " << (p.sink != nullptr) << " stride "
    << p.query.stride[2] << "," << p.query.stride[3] << " score " << int(p.score) << " align "
    << int(p.align) << " sample " << p.sample << " through " << p.straight_through;
  return s.str();
}

Case make_case(const CaseOptions& o, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  Case c;
  AttentionProblem& p = c.problem;
  p.type = o.type;
  p.batch = o.batch, p.heads = o.heads, p.kv_heads = o.kv_heads;
  p.queries = o.queries, p.keys = o.keys, p.width = o.width, p.value_width = o.value_width;
  p.scale = 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(o.width, 1)));
  c.query = Tensor(o.type, {o.batch, o.heads, o.queries, o.width}, o.layout);
  c.key = Tensor(o.type, {o.batch, o.kv_heads, o.keys, o.width}, o.layout);
  c.value = Tensor(o.type, {o.batch, o.kv_heads, o.keys, o.value_width}, o.layout);
  c.grad_out = Tensor(o.type, {o.batch, o.heads, o.queries, o.value_width}, o.layout);
  c.query.fill([&] { return o.spread * normal(random); });
  c.key.fill([&] { return o.spread * normal(random); });
  c.value.fill([&] { return normal(random); });
  c.grad_out.fill([&] { return normal(random); });
  c.connect();
  return c;
}

Case random_case(Type type, std::mt19937_64& random) {
  const auto pick = [&](std::vector<std::int64_t> from) { return from[random() % from.size()]; };
  const auto chance = [&](int in) { return random() % static_cast<unsigned>(in) == 0; };
  std::normal_distribution<double> normal;
  const std::int64_t group = pick({1, 1, 2, 3});
  CaseOptions o{.type = type, .batch = pick({1, 2, 3}), .heads = 0, .kv_heads = pick({1, 2})};
  o.heads = o.kv_heads * group;
  o.queries = pick({0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 80});
  o.keys = pick({0, 1, 2, 5, 6, 7, 12, 17, 48, 95, 96, 97, 100, 130, 192, 193});
  o.width = pick({1, 2, 3, 4, 7, 8, 16, 17, 33});
  o.value_width = chance(2) ? o.width : pick({1, 2, 5, 6, 7, 9, 16, 18});
  o.spread = chance(4) ? 3 : 1;
  o.layout = static_cast<Layout>(random() % 3);
  Case c = make_case(o, random);
  AttentionProblem& p = c.problem;
  if (chance(4)) p.scale = normal(random);
  if (chance(6)) p.softcap = 2.5;
  if (chance(6)) p.activation = static_cast<Activation>(random() % 5);
  if (chance(3)) {
    p.causal = chance(2) ? Causal::bottom_right : Causal::offset;
  }
  if (chance(2)) p.offset = static_cast<std::int64_t>(random() % 41) - 20;
  if (chance(4)) p.window_left = pick({0, 1, 5, 40});
  if (chance(4)) p.window_right = pick({0, 1, 5, 40});
  if (chance(3)) {
    for (std::int64_t b = 0; b < o.batch; ++b) {
      c.lengths.push_back(static_cast<std::int64_t>(random() % static_cast<unsigned>(o.keys + 1)));
    }
  }
  const auto broadcast = [&] {
    std::array<std::int64_t, 4> size{o.batch, o.heads, o.queries, o.keys};
    for (auto& n : size) n = chance(3) ? 1 : n;
    const std::array<std::int64_t, 4> full{size[1] * size[2] * size[3], size[2] * size[3], size[3],
                                           1};
    std::array<std::int64_t, 4> stride{};
    for (std::size_t i = 0; i < 4; ++i) stride[i] = size[i] == 1 ? 0 : full[i];
    return std::pair{stride, size[0] * size[1] * size[2] * size[3]};
  };
  if (chance(3)) {
    const auto [stride, size] = broadcast();
    p.mask.stride = stride;
    const auto often = pick({2, 10, 1000});
    // One byte more than needed, so that an empty mask still is one.
    c.mask.resize(static_cast<std::size_t>(size) + 1);
    for (auto& m : c.mask)
      m = random() % static_cast<unsigned>(often) == 0
              ? 0
              : static_cast<std::uint8_t>(1 + random() % 3);
    if (chance(4))
      std::fill(c.mask.begin(), c.mask.begin() + static_cast<std::ptrdiff_t>(c.mask.size() / 2), 0);
  }
  if (chance(3)) {
    const auto [stride, size] = broadcast();
    p.bias.stride = stride;
    p.bias_type = chance(2) ? type : Type::float32;
    c.bias.buffer = Buffer(p.bias_type, size + 1);
    for (std::int64_t i = 0; i < size; ++i)
      c.bias.buffer.set(i, chance(8) ? -kInf : normal(random));
  }
  const auto fill = [&](Buffer& buffer, std::int64_t size) {
    buffer = Buffer(c.working(), size + 1);
    for (std::int64_t i = 0; i <= size; ++i) buffer.set(i, normal(random));
  };
  if (chance(6)) fill(c.row_bias, o.batch * o.heads * o.queries);
  if (chance(6)) fill(c.column_bias, o.batch * o.heads * o.keys);
  if (chance(6)) fill(c.sink, o.heads);
  if (chance(6)) {
    for (std::int64_t h = 0; h < o.heads; ++h) c.slopes.push_back(0.1f * static_cast<float>(h + 1));
  }
  if (chance(6)) p.dropout = 0.3, p.seed = random();
  c.connect();
  return c;
}

Case random_aligned_case(Type type, Align align, std::mt19937_64& random) {
  const auto pick = [&](std::vector<std::int64_t> from) { return from[random() % from.size()]; };
  std::normal_distribution<double> normal;
  Case c = random_case(type, random);
  AttentionProblem& p = c.problem;
  p.align = align;
  p.sink = nullptr, c.sink = Buffer();
  const std::int64_t rows = p.batch * p.heads * p.queries;
  if (align == Align::entmax) {
    c.alpha = Buffer(c.working(), p.heads);
    for (std::int64_t h = 0; h < p.heads; ++h)
      c.alpha.set(h, std::vector{1.2, 1.5, 2.0, 1.75}[random() % 4]);
  }
  if (align == Align::local_p) {
    p.reach = static_cast<double>(pick({1, 2, 5, 40}));
    c.center = Buffer(c.working(), rows + 1);
    for (std::int64_t i = 0; i < rows; ++i)
      c.center.set(
          i, static_cast<double>(random() % 1000) * 0.001 * static_cast<double>(p.keys + 4) - 2);
  }
  if (align == Align::top_k || align == Align::hard) {
    // Small whole numbers: scores are exact in every type, and ties are many.
    const auto whole = [&] { return static_cast<double>(random() % 3) - 1; };
    c.query.fill(whole), c.key.fill(whole);
    p.scale = 0.5, p.softcap = 0, p.activation = Activation::identity;
    p.bias = {}, c.bias = Tensor(), p.alibi_slopes = nullptr, c.slopes.clear();
    p.row_bias = p.column_bias = {}, c.row_bias = c.column_bias = Buffer();
    p.top = pick({1, 2, 5, 64});
    p.straight_through = random() % 2 == 0;
    // In float a running sum may pass the drawn number one key earlier or later than in double.
    p.sample = type == Type::float64 && random() % 2 == 0;
    p.seed = random();
  }
  if (align != Align::sparsemax && align != Align::entmax15 && align != Align::entmax &&
      align != Align::sigmoid && random() % 2 == 0) {
    for (std::int64_t i = 0; i < rows; ++i)
      c.grad_lse.push_back(static_cast<float>(normal(random)));
  }
  c.connect();
  return c;
}

void make_additive(Case& c, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  AttentionProblem& p = c.problem;
  p.score = Score::additive;
  p.scale = 1;  // what the score has by default
  p.activation = static_cast<Activation>(random() % 5);
  p.weight_stride = p.heads == p.kv_heads && random() % 2 == 0 ? p.width : 0;
  const std::int64_t size = (p.weight_stride == 0 ? 1 : p.heads) * p.width;
  c.weight = Buffer(c.working(), size + 1);
  for (std::int64_t i = 0; i < size; ++i) c.weight.set(i, normal(random));
  if (random() % 4 == 0) {  // large terms of opposite sign: their exponentials are out of range
    const double far = p.type == Type::float64 ? 1000 : 64;
    c.query.fill([&] { return far + normal(random); });
    c.key.fill([&] { return -far + normal(random); });
  }
  c.connect();
}

void poison(Case& c, std::mt19937_64& random) {
  const AttentionProblem& p = c.problem;
  const double bad[] = {kNaN, kInf, -kInf};
  const auto any_bad = [&] { return bad[random() % 3]; };
  std::vector<std::uint8_t> seen(static_cast<std::size_t>(p.batch * p.kv_heads * p.keys + 1), 0);
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t h = 0; h < p.heads; ++h) {
      const std::int64_t g = h / (p.heads / p.kv_heads);
      for (std::int64_t i = 0; i < p.queries; ++i) {
        for (std::int64_t j = 0; j < p.keys; ++j) {
          if (visible(c, b, h, i, j))
            seen[static_cast<std::size_t>((b * p.kv_heads + g) * p.keys + j)] = 1;
        }
      }
    }
  }
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t g = 0; g < p.kv_heads; ++g) {
      for (std::int64_t j = 0; j < p.keys; ++j) {
        if (seen[static_cast<std::size_t>((b * p.kv_heads + g) * p.keys + j)]) continue;
        for (std::int64_t w = 0; w < p.width; ++w) c.key.set(b, g, j, w, any_bad());
        for (std::int64_t w = 0; w < p.value_width; ++w) c.value.set(b, g, j, w, any_bad());
      }
    }
  }
  // A bias element shared by several pairs is hidden only when all of them are.
  if (p.bias.data == nullptr) return;
  std::vector<std::uint8_t> used(static_cast<std::size_t>(c.bias.buffer.size()), 0);
  const auto element = [&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
    return b * p.bias.stride[0] + h * p.bias.stride[1] + i * p.bias.stride[2] +
           j * p.bias.stride[3];
  };
  for (int pass = 0; pass < 2; ++pass) {
    for (std::int64_t b = 0; b < p.batch; ++b)
      for (std::int64_t h = 0; h < p.heads; ++h)
        for (std::int64_t i = 0; i < p.queries; ++i)
          for (std::int64_t j = 0; j < p.keys; ++j) {
            const auto at = element(b, h, i, j);
            if (pass == 0 && visible(c, b, h, i, j)) used[static_cast<std::size_t>(at)] = 1;
            if (pass == 1 && !used[static_cast<std::size_t>(at)] && c.bias.buffer.get(at) != -kInf)
              c.bias.buffer.set(at, any_bad());
          }
  }
}

}  // namespace heed::kernels::testing
