#include <numeric>

#include "experiments/plan/planner/space/layout_space.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

bool encodes(const LayoutChoice& layout) { return layout.stash || layout.link; }

}  // namespace

bool goes_with_module(const ScheduleEntry& rule) {
  return rule.copies == 1 && rule.slices_for == nullptr;
}

std::vector<ModuleChoice> module_choices(const LayoutSpace& space, const LayoutChoice& layout) {
  std::vector<ModuleChoice> choices;
  const bool goes = goes_with_module(*find_named(schedule_entries(), layout.schedule));
  if (space.module.empty() || layout.pipeline == 1 || !goes || encodes(layout)) return choices;
  for (const std::uint32_t tensor : divisors(layout.tensor)) {
    for (const bool in_bubbles : {false, true}) {
      choices.push_back({space.module, in_bubbles, tensor});
    }
  }
  return choices;
}

std::vector<ModuleChoice> own_device_choices(const std::string& module, std::uint32_t devices,
                                             const LayoutChoice& layout) {
  std::vector<ModuleChoice> choices;
  if (encodes(layout)) return choices;
  for (const std::uint32_t tensor : divisors(std::gcd(layout.tensor, devices))) {
    const std::uint32_t data = devices / tensor;
    if (data % layout.data != 0 && layout.data % data != 0) continue;
    choices.push_back({.name = module, .tensor = tensor, .devices = devices});
  }
  return choices;
}

}  // namespace penstock
