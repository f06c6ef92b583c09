#include "heed/data/geometry.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "heed/base/error.hpp"
#include "heed/base/random.hpp"

namespace heed {
namespace {

constexpr std::size_t kMostCities = 13;  // 2ⁿ n² steps

double cross(const Point& o, const Point& a, const Point& b) {
  return (a.first - o.first) * (b.second - o.second) - (a.second - o.second) * (b.first - o.first);
}

double distance(const Point& a, const Point& b) {
  return std::hypot(a.first - b.first, a.second - b.second);
}

using Solve = std::vector<std::size_t> (*)(std::span<const Point>);

std::vector<Example> problems(std::string_view name, std::size_t size, std::size_t n,
                              std::int64_t width, std::uint64_t seed, Solve solve) {
  Random random(seed);
  std::vector<Example> examples;
  for (std::size_t i = 0; i < size; ++i) {
    Example example{.id = fmt::format("{}-{}", name, i + 1)};
    Values& values = example.values["points"] = {.width = width};
    for (std::size_t p = 0; p < n * static_cast<std::size_t>(width); ++p)
      values.data.push_back(static_cast<float>(random.uniform()));
    std::vector<float>& gold = example.gold["points"];
    gold.assign(n, 0.0f);
    // Solved as they are stored: rounding may move a corner.
    for (const std::size_t place : solve(points_of(example))) {
      example.target.push_back(std::to_string(place));
      gold[place] = 1.0f;
    }
    examples.push_back(std::move(example));
  }
  return examples;
}

Dataset corpus(const std::string& name, const CorpusOptions& options, std::size_t n,
               std::int64_t width, Solve solve) {
  const auto make = [&](std::string_view part, std::size_t size, std::uint64_t stream) {
    return problems(part, size, n, width, Random::derive(options.seed, stream), solve);
  };
  return {.name = name,
          .labels = {},
          .train = make("train", options.train, 1),
          .val = make("val", options.val, 2),
          .test = make("test", options.test, 3),
          .inputs = {{.name = "points", .width = width}}};
}

std::vector<std::size_t> rising(std::span<const Point> points) {
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return points[i].first; });
  return order;
}

}  // namespace

std::vector<Point> points_of(const Example& example) {
  const Values& values = example.values.at("points");
  std::vector<Point> points;
  for (std::size_t i = 0; i < values.length(); ++i) {
    const auto at = i * static_cast<std::size_t>(values.width);
    points.emplace_back(values.data[at], values.width > 1 ? values.data[at + 1] : 0.0f);
  }
  return points;
}

// Andrew's monotone chain.
std::vector<std::size_t> convex_hull(std::span<const Point> points) {
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return points[i]; });
  if (points.size() < 3) {
    std::ranges::sort(order);
    return order;
  }
  std::vector<std::size_t> corners;
  const auto walk = [&](auto begin, auto end) {
    const std::size_t start = corners.size();
    for (auto i = begin; i != end; ++i) {
      while (corners.size() >= start + 2 &&
             cross(points[corners[corners.size() - 2]], points[corners.back()], points[*i]) <= 0)
        corners.pop_back();
      corners.push_back(*i);
    }
    corners.pop_back();  // the other half starts there
  };
  walk(order.begin(), order.end());
  walk(order.rbegin(), order.rend());
  std::rotate(corners.begin(), std::ranges::min_element(corners), corners.end());
  return corners;
}

// best[S][j]: the shortest way from 0 through the set S, which ends in j. City c > 0 is bit c − 1.
std::vector<std::size_t> shortest_tour(std::span<const Point> points) {
  const std::size_t n = points.size(), m = n - 1;
  if (n < 3) return rising(points);
  HEED_CHECK(n <= kMostCities, "tsp: {} points; at most {} are solved exactly", n, kMostCities);
  const std::size_t sets = std::size_t{1} << m;
  std::vector<double> best(sets * m, std::numeric_limits<double>::infinity());
  std::vector<std::size_t> before(sets * m, 0);
  for (std::size_t j = 0; j < m; ++j)
    best[(std::size_t{1} << j) * m + j] = distance(points[0], points[j + 1]);
  for (std::size_t set = 1; set < sets; ++set) {
    for (std::size_t j = 0; j < m; ++j) {
      if (!(set >> j & 1)) continue;
      for (std::size_t k = 0; k < m; ++k) {
        if (set >> k & 1) continue;
        const std::size_t next = (set | std::size_t{1} << k) * m + k;
        const double length = best[set * m + j] + distance(points[j + 1], points[k + 1]);
        if (length >= best[next]) continue;
        best[next] = length;
        before[next] = j;
      }
    }
  }
  std::size_t set = sets - 1, last = 0;
  const auto whole = [&](std::size_t j) {
    return best[set * m + j] + distance(points[j + 1], points[0]);
  };
  for (std::size_t j = 1; j < m; ++j) {
    if (whole(j) < whole(last)) last = j;
  }
  std::vector<std::size_t> tour = {0};
  for (std::size_t step = 0; step < m; ++step) {
    tour.push_back(last + 1);
    const std::size_t previous = before[set * m + last];
    set &= ~(std::size_t{1} << last);
    last = previous;
  }
  if (tour[1] > tour.back()) std::reverse(tour.begin() + 1, tour.end());
  return tour;
}

double tour_length(std::span<const Point> points, std::span<const std::size_t> order) {
  double length = 0;
  for (std::size_t i = 0; i < order.size(); ++i)
    length += distance(points[order[i]], points[order[(i + 1) % order.size()]]);
  return length;
}

double polygon_area(std::span<const Point> points, std::span<const std::size_t> corners) {
  double twice = 0;
  for (std::size_t i = 1; i + 1 < corners.size(); ++i)
    twice += cross(points[corners[0]], points[corners[i]], points[corners[i + 1]]);
  return std::abs(twice) / 2;
}

Dataset hull(const CorpusOptions& options) {
  return corpus("hull", options, options.n > 0 ? options.n : 10, 2, convex_hull);
}

Dataset tsp(const CorpusOptions& options) {
  const std::size_t n = options.n > 0 ? options.n : 5;
  HEED_CHECK(n <= kMostCities, "builtin:tsp: n is {}; at most {} points are solved exactly", n,
             kMostCities);
  return corpus("tsp", options, n, 2, shortest_tour);
}

Dataset sort(const CorpusOptions& options) {
  return corpus("sort", options, options.n > 0 ? options.n : 10, 1, rising);
}

}  // namespace heed
