#include "experiments/input/scenario/take_stack.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "hardware_models/model/model_layers.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr const char* none = "none";
constexpr const char* newest_family = "megatron-bridge";

/// The newest stack of a family: "megatron" means the last of "megatron-2021", "megatron-2024".
const CatalogueItem* newest_of(const Catalogue& catalogue, const std::string& family) {
  const CatalogueItem* newest = nullptr;
  for (const auto& [name, item] : catalogue) {
    const std::string year = name.starts_with(family + "-") ? name.substr(family.size() + 1) : "";
    const bool dated =
        year.size() == 4 && year.find_first_not_of("0123456789") == std::string::npos;
    if (item.is == "stack" && dated) newest = &item;  // names ascend
  }
  return newest;
}

/// A stack by its name, with or without its year; nullptr: there is none.
const CatalogueItem* stack_named(const Catalogue& catalogue, const std::string& name) {
  const CatalogueItem* item = find_item(catalogue, "stack", name);
  return item != nullptr ? item : newest_of(catalogue, name);
}

/// What a scenario without a stack asks for: that of the command's framework, without a command
/// PyTorch's own for sharded weights.
const CatalogueItem* wanted_stack(const Scenario& scenario, const Catalogue& catalogue) {
  const std::string& usual = scenario.hardware.usual_stack;
  const char* by_level = scenario.memory.zero >= 2 ? "fsdp-compiled" : newest_family;
  return stack_named(catalogue, usual.empty() ? by_level : usual);
}

/// The stack that a scenario means without naming one: the device's usual one, or the wanted one;
/// where that was not measured on the device, the newest. nullptr: none.
const CatalogueItem* usual_stack(const Scenario& scenario, const Catalogue& catalogue,
                                 const Device& on, const std::string& device) {
  const HardwareSection& hardware = scenario.hardware;
  const bool stated = hardware.efficiency || hardware.memory_efficiency;
  const bool profiled = !hardware.profile.empty() || hardware.name == "measured";
  if (stated || profiled || !scenario.model.by_kind()) return nullptr;
  if (!on.usual_stack.empty()) return stack_named(catalogue, on.usual_stack);
  const CatalogueItem* wanted = wanted_stack(scenario, catalogue);
  const bool listed = wanted != nullptr && stack_of(*wanted, device).known_device;
  return listed ? wanted : stack_named(catalogue, newest_family);
}

const CatalogueItem* stack_item(const Scenario& scenario, const Catalogue& catalogue,
                                const Device& on, const std::string& device) {
  const std::string& stated = scenario.hardware.stack.name;
  if (stated == none) return nullptr;
  if (stated.empty()) return usual_stack(scenario, catalogue, on, device);
  if (const CatalogueItem* item = stack_named(catalogue, stated)) return item;
  throw in_file(scenario.source, InputError("/hardware/stack",
                                            unknown_text(fmt::format("name \"{}\"", stated), stated,
                                                         std::string(none) + ", " +
                                                             names_of_items(catalogue, "stack"))));
}

void append(std::vector<std::string>& all, const std::vector<std::string>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

/// Where the constants of device and stack come from; those of the stack replace the device's.
Provenance provenance_on(const Scenario& scenario, const CatalogueItem* device,
                         const Stack& stack) {
  Provenance all = stack.provenance;
  if (!scenario.model.fp8_attention.value_or(false)) {
    std::erase(all.assumed, "fp8_attention_share");
  }
  if (device == nullptr) return all;
  Provenance own = provenance_of(*device, stack.constants.attention);
  if (stack.kernel_issue_us) std::erase(own.assumed, "kernel_issue_us");
  append(all.measured, own.measured);
  append(all.fitted, own.fitted);
  append(all.assumed, own.assumed);
  return all;
}

/// Why a scenario without a stack has this one.
std::string reason_of(const Scenario& scenario, bool wanted, const Device& device) {
  if (!wanted) return fmt::format("the default of {}", device.name);
  const bool of_command = !scenario.hardware.usual_stack.empty();
  return of_command ? "the default of the command's framework"
                    : fmt::format("the default with zero {}", scenario.memory.zero);
}

std::string note_of(const Scenario& scenario, bool wanted, const Stack& stack,
                    const Device& device) {
  std::string text = fmt::format("stack {}", stack.constants.name);
  if (scenario.hardware.stack.name.empty()) {
    text += fmt::format(" ({})", reason_of(scenario, wanted, device));
  }
  if (!stack.known_device) {
    text += fmt::format(", with general constants: it has none of its own on {}", device.name);
  }
  return text + "; /hardware/stack names another, or none";
}

/// Constants that the scenario states itself.
void take_own(const StackChoice& choice, StackConstants& constants) {
  const nlohmann::json own = nlohmann::json::parse(choice.own);
  read_fields({"", stack_constants()}, own, &constants);
  set_open_shares(own, constants);
}

/// Whether layers pass a state from token to token.
bool has_states(const ModelSpec& spec) {
  return spec.any_part(
      [](const LayerSpec& part) { return part.kind == "mamba2" || part.kind == "gated_delta"; });
}

/// The widest of the spreads of runs like this one.
StackSpread spread_of(const Scenario& scenario, const Stack& stack) {
  const std::array of_kind{
      std::pair{"spread_narrow", recipe_of(scenario.model.dtype.value_or("")) != nullptr},
      std::pair{"spread_experts", has_experts(scenario.model.spec)},
      std::pair{"spread_states", has_states(scenario.model.spec)}};
  StackSpread widest = stack.spreads.at("spread");
  for (const auto& [key, applies] : of_kind) {
    const auto found = stack.spreads.find(key);
    if (!applies || found == stack.spreads.end()) continue;
    if (found->second.value > widest.value) widest = found->second;
  }
  return widest;
}

}  // namespace

std::optional<Confidence> take_stack(const Scenario& scenario, const Catalogue& catalogue,
                                     Device& device, std::vector<std::string>& notes) {
  const std::string& chip = device.like.empty() ? device.name : device.like;
  const CatalogueItem* item = stack_item(scenario, catalogue, device, chip);
  if (item == nullptr) return std::nullopt;
  const Stack stack = stack_of(*item, chip);
  // What a user's own file states of a device is all there is, unless it is like another or the
  // scenario names a stack.
  const CatalogueItem* described = find_item(catalogue, "device", device.name);
  const bool own = described == nullptr || !described->built_in;
  if (own && !stack.known_device && scenario.hardware.stack.name.empty()) {
    notes.push_back(
        fmt::format("{}{} comes from a file that states rates alone, which price its kernels; "
                    "state {}/hardware/stack",
                    no_stack, device.name, device.like.empty() ? "\"like\" there, or " : ""));
    return std::nullopt;
  }
  device.stack = stack.constants;
  take_own(scenario.hardware.stack, device.stack);
  if (stack.kernel_issue_us) device.kernel_issue_us = *stack.kernel_issue_us;
  const bool wanted = item == wanted_stack(scenario, catalogue);
  notes.push_back(note_of(scenario, wanted, stack, device));
  const StackSpread spread = spread_of(scenario, stack);
  return Confidence{spread.value, spread.because, stack.fitted,
                    provenance_on(scenario, described, stack)};
}

}  // namespace penstock
