#include <fmt/format.h>

#include <utility>

#include "experiments/run/changes/scenario_changes.hpp"
#include "experiments/run/layout/modules.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

std::string setting(const std::string& module, const std::string& rest) {
  return "/modules" + pointer_step(module) + rest;
}

/// Tensor groups twice and half as large; on devices of its own with as many devices.
void add_groups(const LayoutModule& module, std::vector<ScenarioChange>& changes) {
  const auto add = [&](std::uint32_t tensor, std::uint32_t data) {
    std::vector<std::string> settings{setting(module.name, fmt::format("/tensor={}", tensor))};
    if (!module.shares_devices) {
      settings.push_back(setting(module.name, fmt::format("/data={}", data)));
    }
    changes.push_back({.settings = std::move(settings)});
  };
  const std::uint32_t tensor = module.degrees.tensor, data = module.degrees.data;
  if (data % 2 == 0) add(2 * tensor, data / 2);
  if (tensor % 2 == 0) add(tensor / 2, 2 * data);
}

}  // namespace

std::vector<ScenarioChange> module_changes(const Scenario& scenario, const Layout& layout) {
  std::vector<ScenarioChange> changes;
  if (!scenario.module) {
    const std::string name = first_module(layout.model.layers);
    if (name.empty()) return changes;
    for (const char* order : {"first", "bubbles"}) {
      changes.push_back(
          {.settings = {
               setting(name, fmt::format(R"(={{"devices":"shared","order":"{}"}})", order))}});
    }
    return changes;
  }
  if (layout.module->shares_devices) {
    const char* other = scenario.module->order == ModuleOrder::first ? "bubbles" : "first";
    changes.push_back(
        {.settings = {setting(layout.module->name, fmt::format("/order={}", other))}});
    if (!layout.module->frozen) changes.push_back({.settings = {}, .left_out = {"modules"}});
  }
  add_groups(*layout.module, changes);
  return changes;
}

}  // namespace penstock
