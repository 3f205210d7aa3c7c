#include "experiments/plan/sweeps/cost_knobs.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>

namespace penstock {
namespace {

using nlohmann::json;

constexpr std::string_view stages_pointer = "/model/stages/";
constexpr std::string_view link_pointer = "/hardware/";

struct StageKey {
  std::string_view name;
  void (*set)(Layer& layer, double value);
  bool bytes;
};
constexpr std::array stage_keys{
    StageKey{"forward_us", [](Layer& layer, double us) { layer.forward_us = us; }, false},
    StageKey{"backward_us", [](Layer& layer, double us) { layer.backward_us = us; }, false},
    StageKey{"backward_input_us", [](Layer& layer, double us) { layer.backward_input_us = us; },
             false},
    StageKey{"backward_weight_us", [](Layer& layer, double us) { layer.backward_weight_us = us; },
             false},
    StageKey{"activation_bytes", [](Layer& layer, double bytes) { layer.activation_bytes = bytes; },
             true},
    StageKey{"stash_bytes", [](Layer& layer, double bytes) { layer.stash_bytes = bytes; }, true}};

struct LinkKey {
  std::string_view name;
  void (*set)(HardwareSpec& spec, double value);
};
constexpr std::array link_keys{
    LinkKey{"transfer_us", [](HardwareSpec& spec, double us) { spec.transfer_us = us; }},
    LinkKey{"latency_us", [](HardwareSpec& spec, double us) { spec.latency_us = us; }},
    LinkKey{"bandwidth_bytes_per_s",
            [](HardwareSpec& spec, double speed) { spec.bandwidth_bytes_per_s = speed; }}};

template <class Keys>
auto find_key(const Keys& keys, std::string_view name) {
  return std::find_if(keys.begin(), keys.end(), [&](const auto& key) { return key.name == name; });
}

std::optional<CostKnob> stage_knob(std::string_view rest) {
  const std::size_t slash = rest.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  CostKnob knob{.key = std::string(rest.substr(slash + 1))};
  if (find_key(stage_keys, knob.key) == stage_keys.end()) return std::nullopt;
  const std::string_view stage = rest.substr(0, slash);
  if (stage == "*") return knob;
  const auto [end, error] = std::from_chars(stage.data(), stage.data() + slash, knob.stage);
  if (error != std::errc{} || end != stage.data() + slash) return std::nullopt;
  return knob;
}

/// Whether a document states a number for a knob, everywhere.
bool is_stated(const json& document, const CostKnob& knob) {
  const auto states = [&](const json& object) {
    return object.contains(knob.key) && object[knob.key].is_number();
  };
  if (knob.of_link) return document.contains("hardware") && states(document["hardware"]);
  const json& stages = document["model"]["stages"];
  if (knob.stage != CostKnob::every_stage) {
    return knob.stage < stages.size() && states(stages[knob.stage]);
  }
  return std::all_of(stages.begin(), stages.end(), states);
}

}  // namespace

bool CostKnob::changes_bytes() const { return !of_link && find_key(stage_keys, key)->bytes; }

bool CostKnob::takes(double value) const {
  const bool is_speed = key == "bandwidth_bytes_per_s";
  return value >= (is_speed ? 1 : 0) && value <= (is_speed ? 1e18 : 1e12);
}

void CostKnob::set(Layout& layout, double value) const {
  if (of_link) return find_key(link_keys, key)->set(layout.hardware.spec, value);
  const auto change = find_key(stage_keys, key)->set;
  std::vector<Layer>& layers = layout.model.layers;
  if (stage != every_stage) return change(layers[stage], value);
  for (Layer& layer : layers) change(layer, value);
}

std::optional<CostKnob> cost_knob(const std::string& pointer) {
  const std::string_view text(pointer);
  if (text.starts_with(stages_pointer)) return stage_knob(text.substr(stages_pointer.size()));
  if (!text.starts_with(link_pointer)) return std::nullopt;
  CostKnob knob{.key = std::string(text.substr(link_pointer.size())), .of_link = true};
  if (find_key(link_keys, knob.key) == link_keys.end()) return std::nullopt;
  return knob;
}

bool knobs_decide(const json& document, const Layout& layout, const std::vector<CostKnob>& knobs) {
  for (const char* section :
       {"codec", "recompute", "offload", "chance", "partition", "overheads"}) {
    if (document.contains(section)) return false;
  }
  const json& model = document["model"];
  if (!model.contains("stages") || model["stages"].size() != layout.model.layers.size()) {
    return false;
  }
  if (layout.policy != nullptr || layout.hardware.cost_model != "ideal") return false;
  return std::all_of(knobs.begin(), knobs.end(),
                     [&](const CostKnob& knob) { return is_stated(document, knob); });
}

}  // namespace penstock
