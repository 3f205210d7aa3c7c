#include "validate/calibration/term_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>

#include "hardware_models/layers/registry.hpp"
#include "sim/base/named.hpp"
#include "validate/calibration/nonnegative.hpp"
#include "validate/probes/registry.hpp"
#include "validate/statistics/summary.hpp"
#include "validate/store/layer_point.hpp"

namespace penstock {
namespace {

constexpr int huber_rounds = 12;
constexpr double term_interval_share = 0.95;

double sum_of(const std::vector<double>& terms, const std::vector<double>& coefficients) {
  return std::inner_product(terms.begin(), terms.end(), coefficients.begin(), 0.0);
}

/// Relative to the measurement, times the root of the weight.
std::vector<Equation> equations_of(std::span<const TermPoint> points,
                                   const std::vector<double>& factors) {
  std::vector<Equation> equations;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double scale = std::sqrt(points[i].weight * factors[i]);
    Equation& equation = equations.emplace_back(Equation{points[i].terms, scale});
    for (double& term : equation.factors) term *= scale / points[i].measured;
  }
  return equations;
}

/// A factor on the weight of each point, by its error. No coefficients: no errors.
std::vector<double> huber_factors(std::span<const TermPoint> points,
                                  const std::vector<double>& coefficients) {
  std::vector<double> misses;
  for (const TermPoint& point : points) {
    misses.push_back(std::abs(sum_of(point.terms, coefficients) / point.measured - 1));
  }
  const double far = 1.345 * 1.4826 * median(misses);
  if (far <= 1e-12) return {};
  for (double& miss : misses) miss = miss <= far ? 1 : far / miss;
  return misses;
}

/// The points with only some of their terms.
std::vector<TermPoint> with_terms(std::span<const TermPoint> points,
                                  const std::vector<std::size_t>& kept) {
  std::vector<TermPoint> chosen;
  for (const TermPoint& point : points) {
    TermPoint some = point;
    some.terms.clear();
    for (const std::size_t term : kept) some.terms.push_back(point.terms[term]);
    chosen.push_back(std::move(some));
  }
  return chosen;
}

/// The points of the drawn blocks, repeated as often as drawn.
std::vector<TermPoint> drawn(std::span<const TermPoint> points, std::uint64_t seed,
                             std::uint32_t draw, std::uint32_t blocks) {
  const std::vector<std::uint32_t> times = drawn_blocks(seed, draw, blocks);
  std::vector<TermPoint> chosen;
  for (const TermPoint& point : points) {
    if (times[point.block] == 0) continue;
    chosen.push_back(point);
    chosen.back().weight *= times[point.block];
  }
  return chosen;
}

std::uint32_t blocks_of(std::span<const TermPoint> points) {
  std::uint32_t blocks = 0;
  for (const TermPoint& point : points) blocks = std::max(blocks, point.block + 1);
  return blocks;
}

std::vector<std::vector<double>> bootstrap(std::span<const TermPoint> points,
                                           const BootstrapPlan& plan) {
  const std::uint32_t blocks = blocks_of(points);
  std::vector<std::vector<double>> draws;
  for (std::uint32_t draw = 0; draw < plan.draws && blocks > 0; ++draw) {
    draws.push_back(fit_terms(drawn(points, plan.seed, draw, blocks)));
  }
  return draws;
}

/// The term to drop: among those whose interval reaches 0, the one most often at 0.
std::optional<std::size_t> needless(const std::vector<std::vector<double>>& draws,
                                    std::size_t terms) {
  std::optional<std::size_t> worst;
  std::ptrdiff_t most_zeros = 0;
  for (std::size_t term = 0; term < terms && terms > 1; ++term) {
    const std::vector<double> values = values_of(draws, term);
    const std::ptrdiff_t zeros = std::count(values.begin(), values.end(), 0.0);
    if (zeros <= most_zeros || middle_share(values, term_interval_share).low > 0) continue;
    most_zeros = zeros;
    worst = term;
  }
  return worst;
}

/// A fit of some of the terms.
struct Reduced {
  std::vector<std::size_t> kept;
  std::vector<double> coefficients;
  std::vector<std::vector<double>> draws;
};

/// Puts the kept terms back into their positions.
void fill(const Reduced& fit, TermModel& model) {
  const std::size_t terms = model.names.size();
  const auto widened = [&](const std::vector<double>& values) {
    std::vector<double> all(terms);
    for (std::size_t i = 0; i < fit.kept.size() && i < values.size(); ++i) {
      all[fit.kept[i]] = values[i];
    }
    return all;
  };
  model.coefficients = widened(fit.coefficients);
  for (const std::vector<double>& draw : fit.draws) model.draws.push_back(widened(draw));
  for (std::size_t term = 0; term < terms; ++term) {
    model.intervals.push_back(middle_share(values_of(model.draws, term), term_interval_share));
  }
}

/// Work of a pass of a layer.
struct PassWork {
  double flops = 0;
  double product_bytes = 0;
  double other_bytes = 0;
};

/// Whether a kernel belongs to the pass of this name; B is I and W.
bool is_of(std::string_view pass, Pass kernel) {
  if (kernel == Pass::forward) return pass == "forward";
  if (pass == "backward") return true;
  return pass == (kernel == Pass::backward_input ? "backward_input" : "backward_weight");
}

PassWork work_of_pass(const LayerWork& work, std::string_view pass) {
  PassWork sums;
  for (const Kernel& kernel : work.kernels) {
    if (!is_of(pass, kernel.pass)) continue;
    sums.flops += kernel.flops * kernel.count;
    const bool is_product = kernel.kind != KernelKind::vector;
    (is_product ? sums.product_bytes : sums.other_bytes) += kernel.bytes * kernel.count;
  }
  return sums;
}

std::vector<double> layer_terms(std::string_view kind, std::string_view pass,
                                const NamedNumbers& sizes) {
  const auto layer = layer_point({std::string(kind), std::string(pass), shape_text(sizes), "solo"});
  if (!layer) throw std::logic_error("no pass of a layer");
  const LayerWork work =
      work_of({.kind = layer->kind, .numbers = layer->numbers}, cell_shape(*layer));
  const PassWork sums = work_of_pass(work, pass);
  return {1, sums.flops, sums.product_bytes, sums.other_bytes};
}

}  // namespace

std::string_view name(DataPart part) {
  constexpr std::array<std::string_view, 4> names{"training", "interpolation", "extrapolation",
                                                  "transfer"};
  return names[static_cast<std::size_t>(part)];
}

double TermModel::at(const std::vector<double>& terms) const { return sum_of(terms, coefficients); }

double TermModel::at(const std::vector<double>& terms, std::size_t draw) const {
  return sum_of(terms, draws[draw]);
}

std::vector<double> fit_terms(std::span<const TermPoint> points) {
  std::vector<double> factors(points.size(), 1.0);
  std::vector<double> coefficients = solve_nonnegative(equations_of(points, factors));
  for (int round = 0; round < huber_rounds; ++round) {
    factors = huber_factors(points, coefficients);
    if (factors.empty()) break;
    coefficients = solve_nonnegative(equations_of(points, factors));
  }
  return coefficients;
}

std::vector<double> values_of(const std::vector<std::vector<double>>& draws, std::size_t term) {
  std::vector<double> values;
  for (const std::vector<double>& draw : draws) values.push_back(draw[term]);
  return values;
}

TermModel calibrate_terms(std::vector<std::string> names, std::span<const TermPoint> points,
                          const BootstrapPlan& plan) {
  TermModel model{.names = std::move(names), .blocks = blocks_of(points)};
  Reduced fit;
  fit.kept.resize(model.names.size());
  std::iota(fit.kept.begin(), fit.kept.end(), 0);
  std::vector<TermPoint> used(points.begin(), points.end());
  for (;;) {
    fit.draws = bootstrap(used, plan);
    const auto term = needless(fit.draws, fit.kept.size());
    if (!term) break;
    model.dropped.push_back(model.names[fit.kept[*term]]);
    fit.kept.erase(fit.kept.begin() + static_cast<std::ptrdiff_t>(*term));
    used = with_terms(points, fit.kept);
  }
  fit.coefficients = fit_terms(used);
  model.condition = condition(equations_of(used, std::vector<double>(used.size(), 1.0)));
  fill(fit, model);
  return model;
}

double weight_of(const SampleSpread& spread) {
  if (spread.deviation <= steady_deviation) return 1;
  const double excess = steady_deviation / spread.deviation;
  return excess * excess;
}

std::vector<std::string> term_names(std::string_view kernel, std::string_view pass) {
  if (!pass.empty()) return {"start", "FLOPs", "bytes of products", "other bytes"};
  if (kernel == "gemm") return {"start", "MNK", "NK", "MK", "MN"};
  return {"start", std::string(find_named(probe_entries(), kernel)->sizes.front().name)};
}

std::vector<double> terms_at(std::string_view kernel, std::string_view pass,
                             const NamedNumbers& sizes) {
  if (!pass.empty()) return layer_terms(kernel, pass, sizes);
  if (kernel != "gemm") return {1, sizes.begin()->second};
  const double m = sizes.at("m"), n = sizes.at("n"), k = sizes.at("k");
  return {1, m * n * k, n * k, m * k, m * n};
}

}  // namespace penstock
