#pragma once
#include <span>
#include <utility>

#include "heed/data/dataset.hpp"

namespace heed {

/// Problems on points whose answer is an order of them (Vinyals et al. 2015), `options.n` points
/// each. Example::values["points"] holds them, Example::target their numbers; Example::gold has 1
/// for each point of the answer. The same options give the same corpus everywhere.

/// The corners of the convex hull of points in the unit square, counter-clockwise, from the corner
/// with the lowest number. n is 10 unless given.
Dataset hull(const CorpusOptions& options = {});
/// The shortest round trip through points in the unit square, from point 0 on, in the direction
/// in which the second point has the lower number; exact (Held & Karp 1962). n is 5 unless given,
/// at most 13.
Dataset tsp(const CorpusOptions& options = {});
/// Numbers in [0, 1), in rising order. n is 10 unless given.
Dataset sort(const CorpusOptions& options = {});

using Point = std::pair<double, double>;
std::vector<std::size_t> convex_hull(std::span<const Point> points);
std::vector<std::size_t> shortest_tour(std::span<const Point> points);
/// Of the way through the points in that order and back to the first.
double tour_length(std::span<const Point> points, std::span<const std::size_t> order);
/// Of the polygon with these corners.
double polygon_area(std::span<const Point> points, std::span<const std::size_t> corners);

/// The points of an example that has them.
std::vector<Point> points_of(const Example& example);

}  // namespace heed
