#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

#include "validate/calibration/gpu/device_fit.hpp"
#include "validate/calibration/gpu/fitting.hpp"
#include "validate/calibration/term_model.hpp"

namespace penstock {
namespace {

constexpr std::size_t least_products = 8;
constexpr std::size_t least_product_shapes = 4;

/// Rows and columns of a result that one SM computes at a time; 0: waves do not show.
struct ProductTile {
  double rows = 0;
  double columns = 0;
};
// Of cuBLASLt on Hopper. Which one an algorithm uses is not recorded.
constexpr std::array product_tiles{
    ProductTile{},         ProductTile{64, 64},   ProductTile{128, 64},  ProductTile{64, 128},
    ProductTile{128, 128}, ProductTile{192, 128}, ProductTile{128, 192}, ProductTile{256, 128},
    ProductTile{128, 256}, ProductTile{320, 128}};

/// How much longer the last, partly filled wave makes a product.
double wave_factor(const DeviceProbe& probe, const ProductTile& tile) {
  if (tile.rows <= 0) return 1;
  const double tiles =
      std::ceil(probe.size("m") / tile.rows) * std::ceil(probe.size("n") / tile.columns);
  const double waves = tiles / probe.size("sms");
  return std::ceil(waves) / waves;
}

/// Start, multiply-adds of an SM, and the operands.
std::vector<double> product_terms(const DeviceProbe& probe, const ProductTile& tile) {
  std::vector<double> terms = terms_at("gemm", "", probe.sizes);
  terms[1] *= wave_factor(probe, tile) / probe.size("sms");
  return terms;
}

std::vector<TermPoint> product_points(std::span<const DeviceProbe> probes,
                                      const ProductTile& tile) {
  std::vector<TermPoint> points;
  for (const DeviceProbe& probe : probes) {
    points.push_back({product_terms(probe, tile), probe.time_ns.median, weight_of(probe.time_ns),
                      static_cast<std::uint32_t>(points.size())});
  }
  return points;
}

/// The tile with the least mean error.
ProductTile best_tile(std::span<const DeviceProbe> probes) {
  ProductTile best;
  double least = std::numeric_limits<double>::infinity();
  for (const ProductTile& tile : product_tiles) {
    const std::vector<TermPoint> points = product_points(probes, tile);
    const TermModel model{.coefficients = fit_terms(points)};
    std::vector<double> errors;
    for (const TermPoint& point : points) {
      errors.push_back(model.at(point.terms) / point.measured - 1);
    }
    const double mean = summarize_errors(errors).mean;
    if (mean < least * (1 - 1e-6)) {
      least = mean;
      best = tile;
    }
  }
  return best;
}

std::size_t different_products(std::span<const DeviceProbe> probes) {
  std::set<std::tuple<double, double, double>> shapes;
  for (const DeviceProbe& probe : probes) {
    shapes.emplace(probe.size("k"), probe.size("m"), probe.size("n"));
  }
  return shapes.size();
}

std::string tile_note(const ProductTile& tile) {
  if (tile.rows <= 0) return "waves of tiles do not show: times go with multiply-adds alone";
  return fmt::format("tiles of {} x {}, the ones that fit best: algorithms do not report theirs",
                     tile.rows, tile.columns);
}

/// FLOPs per nanosecond of an SM, and bytes per nanosecond of operands in bf16.
void add_numbers(const TermModel& model, DeviceFit& result) {
  constexpr double bytes = 2;
  constexpr std::array names{"start", "rate of an SM", "reading B (NK)", "reading A (MK)",
                             "writing C (MN)"};
  for (std::size_t term = 0; term < names.size(); ++term) {
    if (model.coefficients[term] <= 0) continue;
    if (term == 0) {
      result.numbers.push_back(fitted_term(model, term, names[term], "us", 1e-3));
    } else {
      const bool is_work = term == 1;
      result.numbers.push_back(
          fitted_rate(model, term, names[term], is_work ? "GFLOP/s" : "GB/s", is_work ? 2 : bytes));
    }
  }
  if (!model.dropped.empty()) {
    result.notes.push_back(
        fmt::format("dropped, since their interval reaches 0: {}", fmt::join(model.dropped, ", ")));
  }
}

/// The least and the largest share of the asymptotic rate.
std::string efficiency_note(const DeviceFit& result, std::span<const DeviceProbe> probes,
                            double rate_of_sm) {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (std::size_t i = 0; i < probes.size(); ++i) {
    const double share = 1e3 * result.points[i].rate / (rate_of_sm * probes[i].size("sms"));
    least = std::min(least, share);
    most = std::max(most, share);
  }
  return fmt::format("products reach {:.0f} to {:.0f} % of the fitted rate of their SMs",
                     100 * least, 100 * most);
}

}  // namespace

DeviceFit fit_products(std::span<const DeviceProbe> all, const BootstrapPlan& plan) {
  DeviceFit result{.name = "matrix products",
                   .form = "t = start + 2 MNK * wave factor / (rate of an SM * SMs) + NK, MK, MN",
                   .rate_unit = "TFLOP/s"};
  std::vector<DeviceProbe> probes = probes_of(all, "product");
  std::erase_if(probes, [](const DeviceProbe& probe) {
    return std::ranges::any_of(std::array{"k", "m", "n", "sms"},
                               [&](const char* name) { return probe.size(name) <= 0; });
  });
  const std::size_t shapes = different_products(probes);
  if (probes.size() < least_products || shapes < least_product_shapes) {
    result.refusal = fmt::format(
        "needs {} products of {} shapes, got {} of {}; penstock_gpu_check --all FOLDER --step "
        "products measures them",
        least_products, least_product_shapes, probes.size(), shapes);
    return result;
  }
  const ProductTile tile = best_tile(probes);
  const TermModel model =
      calibrate_terms(term_names("gemm", ""), product_points(probes, tile), plan);
  add_numbers(model, result);
  for (const DeviceProbe& probe : probes) {
    const double tera_flop = 2e-3 * probe.size("k") * probe.size("m") * probe.size("n");
    result.points.push_back(fitted_point(probe, model.at(product_terms(probe, tile)), tera_flop));
  }
  result.notes.push_back(tile_note(tile));
  if (const FittedNumber* const rate = number_of(result, "rate of an SM")) {
    result.notes.push_back(efficiency_note(result, probes, rate->value));
  }
  return result;
}

}  // namespace penstock
