#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/layout.hpp"
#include "experiments/run/layout/stage_demand.hpp"

namespace penstock {

/// The module that the first of some layers or blocks state; empty where all do, or it does not.
template <class Layers>
std::string first_module(const Layers& layers) {
  if (layers.empty()) return "";
  const std::string& name = layers.front().module;
  const bool all =
      std::ranges::all_of(layers, [&](const auto& layer) { return layer.module == name; });
  return all ? "" : name;
}

/// A scenario without the layers of a module, and without a place for them.
Scenario without_module(const Scenario& scenario, const std::string& name);

/// Settles a scenario whose module has degrees of its own: the other layers and the module each as
/// a model, then both as one layout, the module in front. Throws as `settle`.
Layout settle_with_module(const Scenario& scenario, const SettleOptions& options);

/// The layers of both parts of a layout with a module, which `others` states.
ModelGraph joined_model(const Layout& module, const Layout& others);

/// What the module of a layout hands to the next stage; nothing without a module.
std::optional<ModuleEnd> module_end(const Layout& layout);

/// By stage of a layout with a module: the name of the module, or nothing.
std::vector<std::string> modules_of_stages(const Layout& layout);

/// The hardware as a layer of a module sees it: its own groups of devices.
HardwareSpec hardware_of_module(const Layout& layout);

}  // namespace penstock
