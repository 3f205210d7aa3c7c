#include "validate/kernel_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "sim/error.hpp"
#include "sim/named.hpp"
#include "validate/bootstrap.hpp"
#include "validate/layer_point.hpp"
#include "validate/probe_timing.hpp"
#include "validate/probes/registry.hpp"

namespace penstock {
namespace {

std::optional<Sampler> sampler_of(const KernelPoint& point) {
  const ProbeEntry* probe = find_named(probe_entries(), point.kernel);
  const auto sizes = shape_numbers(point.shape);
  if (probe == nullptr || !sizes || !point.pass.empty()) return std::nullopt;
  try {
    return probe->make(settled_numbers(probe->name, probe->sizes, *sizes));
  } catch (const InputError&) {
    return std::nullopt;
  }
}

std::string text_of(const KernelPoint& point) {
  return fmt::format("{} {} {} {}", point.kernel, point.pass, point.shape, point.condition);
}

/// Whether a point inside the sizes is kept back.
bool is_held_out(std::uint64_t seed, const KernelPoint& point) {
  return drawn_number(seed, text_of(point), 0, 0, 3) == 0;
}

/// Collects points, each in its part.
class PointList {
 public:
  explicit PointList(std::uint64_t seed) : seed_(seed) {}

  /// A point that is fitted to, whatever the hash says: an end, which nothing lies beyond.
  void add_end(std::string kernel, NamedNumbers sizes) {
    SweepPoint point;
    point.kernel = {std::move(kernel), "", shape_text(sizes), "solo"};
    point.sizes = std::move(sizes);
    points.push_back(std::move(point));
  }

  void add(std::string kernel, NamedNumbers sizes, bool is_beyond) {
    add_end(std::move(kernel), std::move(sizes));
    SweepPoint& point = points.back();
    if (is_held_out(seed_, point.kernel)) point.part = Part::interpolation;
    if (is_beyond) point.part = Part::extrapolation;
  }

  std::vector<SweepPoint> points;

 private:
  std::uint64_t seed_;
};

/// 2 to the power of a number between two, in steps of a quarter.
double drawn_size(std::uint64_t seed, std::uint32_t shape, std::uint32_t side, double low,
                  double high) {
  const auto steps = static_cast<std::uint32_t>(4 * (high - low)) + 1;
  return std::round(std::exp2(low + drawn_number(seed, "gemm", shape, side, steps) / 4.0));
}

void add_products(std::uint64_t seed, PointList& list) {
  constexpr std::uint32_t inside = 36, beyond = 8;
  for (std::uint32_t shape = 0; shape < inside + beyond; ++shape) {
    const bool is_beyond = shape >= inside;
    const auto size = [&](std::uint32_t side) {
      return is_beyond ? drawn_size(seed, shape, side, 8, 8.75)
                       : drawn_size(seed, shape, side, 5, 8);
    };
    list.add("gemm", {{"m", size(0)}, {"n", size(1)}, {"k", size(2)}}, is_beyond);
  }
}

/// A kernel with one number: at some values, those above the last one inside to be extrapolated to.
void add_row(PointList& list, const std::string& kernel, const std::string& number,
             const std::vector<double>& values, double inside) {
  for (const double value : values) {
    const bool is_end = value == values.front() || value == inside;
    is_end ? list.add_end(kernel, {{number, value}})
           : list.add(kernel, {{number, value}}, value > inside);
  }
}

/// From one power of two to another, two to each doubling, whole words.
std::vector<double> doublings(int first, int last) {
  std::vector<double> values;
  for (int half = 2 * first; half <= 2 * last; ++half) {
    values.push_back(8 * std::round(std::exp2(half / 2.0) / 8));
  }
  return values;
}

}  // namespace

std::optional<std::vector<double>> sample_kernel(const KernelPoint& point, std::uint32_t repeats) {
  const auto sampler = sampler_of(point);
  if (!sampler) return std::nullopt;
  (*sampler)();
  std::vector<double> samples;
  for (std::uint32_t i = 0; i < repeats; ++i) samples.push_back((*sampler)());
  return samples;
}

std::string_view name(Part part) {
  constexpr std::array<std::string_view, 3> names{"training", "interpolation", "extrapolation"};
  return names[static_cast<std::size_t>(part)];
}

std::vector<SweepPoint> sweep_points(std::uint64_t seed) {
  PointList list(seed);
  add_products(seed, list);
  add_row(list, "copy", "bytes", doublings(6, 22), 1 << 20);
  add_row(list, "handover", "bytes", doublings(6, 18), 1 << 16);
  add_row(list, "busy", "ns", doublings(10, 17), 1 << 15);
  add_row(list, "launch", "threads", {1, 2, 3, 4, 5, 6, 7, 8, 12, 16}, 8);
  return std::move(list.points);
}

std::uint64_t split_hash(const std::vector<SweepPoint>& points) {
  std::string all;
  for (const SweepPoint& point : points) {
    all += fmt::format("{}: {}\n", text_of(point.kernel), name(point.part));
  }
  return text_hash(all);
}

Sweep sweep(const std::vector<SweepPoint>& points, std::uint64_t seed, const SweepLimits& limits) {
  Sweep swept;
  std::vector<Sampler> samplers;
  for (const SweepPoint& point : points) {
    auto sampler = sampler_of(point.kernel);
    if (!sampler) throw std::logic_error("nothing runs " + text_of(point.kernel));
    samplers.push_back(std::move(*sampler));
    swept.points.push_back({point, {}});
  }
  const Sampler canary = *sampler_of({"canary", "", "", "solo"});
  const Sampler clock = *sampler_of({"clock", "", "", "solo"});
  const std::int64_t begin = steady_ns();
  const auto elapsed_s = [begin] { return 1e-9 * static_cast<double>(steady_ns() - begin); };
  while (swept.rounds < limits.most_rounds &&
         (swept.rounds < limits.least_rounds || elapsed_s() < limits.seconds)) {
    const auto count = static_cast<std::uint32_t>(points.size());
    for (const std::uint32_t i : shuffled(seed, "sweep", swept.rounds, count)) {
      swept.points[i].samples_ns.push_back(samplers[i]());
    }
    swept.canary_ns.push_back(canary());
    swept.clock_ns.push_back(clock());
    ++swept.rounds;
  }
  for (SweptPoint& point : swept.points) {
    point.samples_ns.erase(point.samples_ns.begin(), point.samples_ns.begin() + swept.rounds / 4);
  }
  return swept;
}

}  // namespace penstock
