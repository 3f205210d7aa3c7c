#include "experiments/input/scenario/take_stack.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/input/files/nearest.hpp"
#include "experiments/input/scenario/hardware_checks.hpp"

namespace penstock {
namespace {

constexpr const char* none = "none";

/// The stack that a scenario means without naming one; empty: none.
std::string usual_stack(const Scenario& scenario) {
  const HardwareSection& hardware = scenario.hardware;
  const bool stated = hardware.efficiency || hardware.memory_efficiency;
  const bool profiled = !hardware.profile.empty() || hardware.name == "measured";
  if (stated || profiled || !scenario.model.by_kind()) return "";
  return scenario.memory.zero >= 2 ? "fsdp-eager" : "megatron";
}

const CatalogueItem* stack_item(const Scenario& scenario, const Catalogue& catalogue) {
  const std::string& stated = scenario.hardware.stack.name;
  if (stated == none) return nullptr;
  if (stated.empty()) {
    const std::string usual = usual_stack(scenario);
    return usual.empty() ? nullptr : find_item(catalogue, "stack", usual);
  }
  if (const CatalogueItem* item = find_item(catalogue, "stack", stated)) return item;
  refuse_hardware(scenario, "stack",
                  unknown_text(fmt::format("name \"{}\"", stated), stated,
                               std::string(none) + ", " + names_of_items(catalogue, "stack")));
}

void append(std::vector<std::string>& all, const std::vector<std::string>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

/// Where the constants of device and stack come from; those of the stack replace the device's.
Provenance provenance_on(const CatalogueItem* device, const Stack& stack) {
  Provenance all = stack.provenance;
  if (device == nullptr) return all;
  Provenance own = provenance_of(*device, stack.constants.attention);
  if (stack.kernel_issue_us) std::erase(own.assumed, "kernel_issue_us");
  append(all.measured, own.measured);
  append(all.fitted, own.fitted);
  append(all.assumed, own.assumed);
  return all;
}

std::string note_of(const Scenario& scenario, const Stack& stack, const Device& device) {
  std::string text = fmt::format("stack {}", stack.constants.name);
  if (scenario.hardware.stack.name.empty()) {
    text += fmt::format(" (the default with zero {})", scenario.memory.zero);
  }
  if (!stack.known_device) {
    text += fmt::format(", with general constants: it has none of its own on {}", device.name);
  }
  return text + "; /hardware/stack names another, or none";
}

/// Constants that the scenario states itself.
void take_own(const StackChoice& own, StackConstants& constants) {
  constants.fp8_share = own.fp8_share.value_or(own.matrix_share.value_or(constants.fp8_share));
  constants.matrix_share = own.matrix_share.value_or(constants.matrix_share);
  constants.attention_share = own.attention_share.value_or(constants.attention_share);
  constants.vector_passes = own.vector_passes.value_or(constants.vector_passes);
  constants.computes_masked = own.computes_masked.value_or(constants.computes_masked);
  constants.attention = own.attention.value_or(constants.attention);
}

}  // namespace

void take_stack(const Scenario& scenario, const Catalogue& catalogue, Hardware& hardware) {
  if (!hardware.spec.machine) return;
  const CatalogueItem* item = stack_item(scenario, catalogue);
  if (item == nullptr) return;
  Device& device = hardware.spec.machine->device;
  const Stack stack = stack_of(*item, device.like.empty() ? device.name : device.like);
  // The default must know the device; a named stack may be carried to others.
  if (scenario.hardware.stack.name.empty() && !stack.known_device) return;
  device.stack = stack.constants;
  take_own(scenario.hardware.stack, device.stack);
  if (stack.kernel_issue_us) device.kernel_issue_us = *stack.kernel_issue_us;
  hardware.notes.push_back(note_of(scenario, stack, device));
  hardware.confidence =
      Confidence{stack.spread, stack.spread_of,
                 provenance_on(find_item(catalogue, "device", device.name), stack)};
}

}  // namespace penstock
