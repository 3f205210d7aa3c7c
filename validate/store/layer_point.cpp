#include "validate/store/layer_point.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "sim/base/plain_numbers.hpp"

namespace penstock {
namespace {

constexpr std::array<std::string_view, 4> passes{"forward", "backward", "backward_input",
                                                 "backward_weight"};

/// Takes a number out of a shape, if it is there and above zero.
std::optional<double> taken(NamedNumbers& numbers, std::string_view name) {
  const auto found = numbers.find(name);
  if (found == numbers.end() || !(found->second > 0)) return std::nullopt;
  const double value = found->second;
  numbers.erase(found);
  return value;
}

constexpr double least_spread = 0.01;
constexpr Eigen::Index least_freedom = 6;   // points beyond the constants of the curve
constexpr double decides_alone = 1 - 1e-9;  // leverage of a point that determines the curve by
                                            // itself

/// The sizes that all points have, all above zero.
std::vector<std::string> shared_sizes(std::span<const ShapeTime> times) {
  std::vector<std::string> names;
  for (const auto& size : times.front().shape) {
    const bool shared = std::all_of(times.begin(), times.end(), [&](const ShapeTime& time) {
      const auto found = time.shape.find(size.first);
      return found != time.shape.end() && found->second > 0;
    });
    if (shared) names.push_back(size.first);
  }
  return names;
}

Eigen::MatrixXd logs_of_sizes(std::span<const ShapeTime> times) {
  const std::vector<std::string> names = shared_sizes(times);
  Eigen::MatrixXd design(static_cast<Eigen::Index>(times.size()),
                         static_cast<Eigen::Index>(names.size()) + 1);
  for (Eigen::Index i = 0; i < design.rows(); ++i) {
    design(i, 0) = 1;
    for (Eigen::Index c = 1; c < design.cols(); ++c) {
      const auto size =
          times[static_cast<std::size_t>(i)].shape.find(names[static_cast<std::size_t>(c - 1)]);
      design(i, c) = std::log(size->second);
    }
  }
  return design;
}

}  // namespace

std::optional<NamedNumbers> shape_numbers(std::string_view shape) {
  NamedNumbers numbers;
  while (!shape.empty()) {
    const std::string_view word = shape.substr(0, shape.find(' '));
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == std::string_view::npos) return std::nullopt;
    const auto number = plain_number(word.substr(equals + 1));
    if (!number || !numbers.emplace(word.substr(0, equals), *number).second) return std::nullopt;
    shape.remove_prefix(std::min(shape.size(), word.size() + 1));
  }
  return numbers;
}

std::string shape_text(const NamedNumbers& numbers) {
  std::string text;
  for (const auto& [name, value] : numbers) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  }
  return text;
}

CellShape cell_shape(const LayerPoint& layer) {
  CellShape shape;
  shape.microbatch = layer.counts_tokens ? 1 : layer.amount;
  shape.sequence = layer.counts_tokens ? layer.amount : layer.sequence.value_or(1);
  shape.activation_size = shape.parameter_size = sizeof(double);
  return shape;
}

KernelPoint kernel_point(const LayerPoint& layer) {
  NamedNumbers all = layer.numbers;
  all[layer.counts_tokens ? "tokens" : "examples"] = layer.amount;
  if (layer.sequence) all["sequence"] = *layer.sequence;
  return {layer.kind, layer.pass, shape_text(all), layer.condition};
}

std::optional<LayerPoint> layer_point(const KernelPoint& point) {
  if (std::find(passes.begin(), passes.end(), point.pass) == passes.end()) return std::nullopt;
  auto numbers = shape_numbers(point.shape);
  if (!numbers) return std::nullopt;
  LayerPoint layer{.kind = point.kernel, .pass = point.pass, .condition = point.condition};
  const auto tokens = taken(*numbers, "tokens");
  const auto examples = taken(*numbers, "examples");
  if (tokens.has_value() == examples.has_value()) return std::nullopt;
  layer.amount = tokens ? *tokens : *examples;
  layer.counts_tokens = tokens.has_value();
  layer.sequence = taken(*numbers, "sequence");
  layer.numbers = std::move(*numbers);
  return layer;
}

std::vector<double> curve_residuals(std::span<const ShapeTime> times) {
  std::vector<double> residuals(times.size(), 0);
  const bool positive =
      std::all_of(times.begin(), times.end(), [](const ShapeTime& time) { return time.ns > 0; });
  if (times.empty() || !positive) return residuals;
  const Eigen::MatrixXd design = logs_of_sizes(times);
  const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(design);
  const Eigen::Index freedom = design.rows() - qr.rank();
  if (freedom < least_freedom) return residuals;
  Eigen::VectorXd logs(design.rows());
  for (Eigen::Index i = 0; i < logs.size(); ++i) {
    logs(i) = std::log(times[static_cast<std::size_t>(i)].ns);
  }
  const Eigen::MatrixXd basis =
      qr.householderQ() * Eigen::MatrixXd::Identity(design.rows(), qr.rank());
  const Eigen::VectorXd misfit = logs - basis * (basis.transpose() * logs);
  const double squares = misfit.squaredNorm();
  for (Eigen::Index i = 0; i < logs.size(); ++i) {
    const double leverage = basis.row(i).squaredNorm();
    if (leverage > decides_alone) continue;
    const double of_others = squares - misfit(i) * misfit(i) / (1 - leverage);
    const double spread = std::sqrt(std::max(0.0, of_others) / static_cast<double>(freedom - 1));
    residuals[static_cast<std::size_t>(i)] =
        std::abs(misfit(i)) / (std::max(spread, least_spread) * std::sqrt(1 - leverage));
  }
  return residuals;
}

}  // namespace penstock
