#include "validate/calibration/sweep_points.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "validate/statistics/bootstrap.hpp"
#include "validate/store/layer_point.hpp"

namespace penstock {
namespace {

/// Collects points and assigns each to a part.
class PointList {
 public:
  explicit PointList(std::uint64_t seed) : seed_(seed) {}

  /// An end of a range: always training, whatever its hash, since nothing lies beyond it.
  void add_end(const std::string& kernel, const NamedNumbers& sizes) {
    add(kernel, "", sizes, Part::training);
  }
  void add(const std::string& kernel, const NamedNumbers& sizes, bool is_beyond) {
    add(kernel, "", sizes, part_of(kernel, sizes, is_beyond));
  }
  /// All passes of a layer, in the same part.
  void add_layer(const std::string& kind, const NamedNumbers& sizes, bool is_beyond) {
    for (const char* pass : {"forward", "backward_input", "backward_weight"}) {
      add(kind, pass, sizes, part_of(kind, sizes, is_beyond));
    }
  }

  std::vector<SweepPoint> points;

 private:
  /// A third of the inner points is held out.
  Part part_of(const std::string& kernel, const NamedNumbers& sizes, bool is_beyond) const {
    if (is_beyond) return Part::extrapolation;
    const bool kept_back = drawn_number(seed_, kernel + " " + shape_text(sizes), 0, 0, 3) == 0;
    return kept_back ? Part::interpolation : Part::training;
  }

  void add(const std::string& kernel, const std::string& pass, const NamedNumbers& sizes,
           Part part) {
    points.push_back({{kernel, pass, shape_text(sizes), "solo"}, sizes, part});
  }

  std::uint64_t seed_;
};

/// A random power of two between the bounds, in quarter steps of the exponent.
double drawn_size(std::uint64_t seed, std::string_view kernel, std::uint32_t shape,
                  std::uint32_t side, double low, double high) {
  const auto steps = static_cast<std::uint32_t>(4 * (high - low)) + 1;
  return std::round(std::exp2(low + drawn_number(seed, kernel, shape, side, steps) / 4.0));
}

void add_products(std::uint64_t seed, PointList& list) {
  constexpr std::uint32_t inside = 36, beyond = 8;
  for (std::uint32_t shape = 0; shape < inside + beyond; ++shape) {
    const bool is_beyond = shape >= inside;
    const auto size = [&](std::uint32_t side) {
      return is_beyond ? drawn_size(seed, "gemm", shape, side, 8.25, 8.75)
                       : drawn_size(seed, "gemm", shape, side, 5, 8);
    };
    list.add("gemm", {{"m", size(0)}, {"n", size(1)}, {"k", size(2)}}, is_beyond);
  }
}

/// Layers of pipelines, with their width and one more number.
void add_layers(std::uint64_t seed, const std::string& kind, const std::string& other,
                PointList& list) {
  constexpr std::uint32_t inside = 14, beyond = 4;
  for (std::uint32_t shape = 0; shape < inside + beyond; ++shape) {
    const bool is_beyond = shape >= inside;
    const auto size = [&](std::uint32_t side, double low, double high) {
      return is_beyond ? drawn_size(seed, kind, shape, side, high + 0.25, high + 0.75)
                       : drawn_size(seed, kind, shape, side, low, high);
    };
    list.add_layer(kind,
                   {{"hidden", size(0, 4.5, 6.5)},
                    {other, size(1, 6, 8.5)},
                    {"examples", 1},
                    {"sequence", size(2, 3, 6)}},
                   is_beyond);
  }
}

/// A kernel with one number. Values above `inside` are extrapolated to.
void add_row(PointList& list, const std::string& kernel, const std::string& number,
             const std::vector<double>& values, double inside) {
  for (const double value : values) {
    const bool is_end = value == values.front() || value == inside;
    is_end ? list.add_end(kernel, {{number, value}})
           : list.add(kernel, {{number, value}}, value > inside);
  }
}

/// From one power of two to another, two values per doubling, in whole words.
std::vector<double> doublings(int first, int last) {
  std::vector<double> values;
  for (int half = 2 * first; half <= 2 * last; ++half) {
    values.push_back(8 * std::round(std::exp2(half / 2.0) / 8));
  }
  return values;
}

}  // namespace

std::string_view name(Part part) {
  constexpr std::array<std::string_view, 3> names{"training", "interpolation", "extrapolation"};
  return names[static_cast<std::size_t>(part)];
}

std::vector<SweepPoint> sweep_points(std::uint64_t seed) {
  PointList list(seed);
  add_products(seed, list);
  add_layers(seed, "mlp", "intermediate", list);
  add_layers(seed, "head", "vocab", list);
  add_row(list, "copy", "bytes", doublings(6, 22), 1 << 20);
  add_row(list, "handover", "bytes", doublings(6, 18), 1 << 16);
  for (const char* codec : {"bfp", "outlier-bfp", "nonuniform-bfp"}) {
    add_row(list, codec, "values", doublings(8, 14), 1 << 12);
  }
  add_row(list, "busy", "ns", doublings(10, 17), 1 << 15);
  add_row(list, "launch", "threads", {1, 2, 3, 4, 5, 6, 7, 8, 12, 16}, 8);
  return std::move(list.points);
}

std::uint64_t split_hash(const std::vector<SweepPoint>& points) {
  std::string all;
  for (const SweepPoint& point : points) {
    all += fmt::format("{} {} {}: {}\n", point.kernel.kernel, point.kernel.pass, point.kernel.shape,
                       name(point.part));
  }
  return text_hash(all);
}

}  // namespace penstock
