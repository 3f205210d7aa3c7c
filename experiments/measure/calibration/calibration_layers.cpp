#include "experiments/measure/calibration/calibration_layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "experiments/input/files/files.hpp"
#include "experiments/run/layout/layout.hpp"
#include "sim/base/error.hpp"
#include "validate/calibration/kernel_sweep.hpp"

namespace penstock {
namespace {

[[noreturn]] void refuse(const Scenario& scenario, const Layer& layer, const std::string& why) {
  throw UsageError(
      fmt::format("{}: layer \"{}\" cannot be measured: {}", scenario.source, layer.name, why));
}

NamedNumbers stated(const NamedNumbers& numbers) {
  NamedNumbers all = numbers;
  std::erase_if(all, [](const auto& number) { return std::isnan(number.second); });
  return all;
}

void add(const Scenario& scenario, const Layer& layer, LayerPoint point,
         std::vector<KernelPoint>& points) {
  for (const char* pass : {"forward", "backward_input", "backward_weight"}) {
    point.pass = pass;
    KernelPoint kernel = kernel_point(point);
    if (std::find(points.begin(), points.end(), kernel) != points.end()) continue;
    if (!layer_sampler(point)) {
      refuse(scenario, layer,
             fmt::format("no kernel here runs {} of the kind \"{}\" at {}", pass, point.kind,
                         kernel.shape));
    }
    points.push_back(std::move(kernel));
  }
}

}  // namespace

std::vector<LayerPoint> points_of_layer(const Layer& layer) {
  std::vector<LayerPoint> points;
  for (const LayerPart& part : layer.key.parts) {
    points.push_back({.kind = part.kind,
                      .pass = "",
                      .numbers = stated(part.numbers),
                      .amount = layer.key.examples,
                      .sequence = layer.key.sequence});
  }
  return points;
}

std::vector<KernelPoint> layer_points(const Scenario& scenario) {
  std::vector<KernelPoint> points;
  for (const Layer& layer : settle(scenario).model.layers) {
    if (layer.key.parts.empty()) {
      refuse(scenario, layer,
             layer.key.kind.empty() ? "it is known by its times" : "a group of devices shares it");
    }
    for (LayerPoint& part : points_of_layer(layer)) add(scenario, layer, std::move(part), points);
  }
  return points;
}

}  // namespace penstock
