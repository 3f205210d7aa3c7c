#include "experiments/plan/sweeps/cost_knobs.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>

#include "experiments/input/files/quantity.hpp"

namespace penstock {
namespace {

using nlohmann::json;

constexpr std::string_view stages_pointer = "/model/stages/";
constexpr std::string_view link_pointer = "/hardware/";

/// The number of a stage, or all of them.
std::optional<std::size_t> stage_in(std::string_view text) {
  if (text == "*") return CostKnob::every_stage;
  std::size_t stage = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), stage);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return stage;
}

}  // namespace

CostKnob::CostKnob(const Field& field, std::size_t stage)
    : field_(&field),
      stage_(stage),
      bounds_(field.takes.bounds()),
      changes_bytes_(!of_link() && measure_of_key(field.key) == QuantityKind::bytes) {}

std::optional<CostKnob> CostKnob::at(std::string_view pointer) {
  const std::string_view key = pointer.substr(pointer.rfind('/') + 1);
  const std::string_view before = pointer.substr(0, pointer.size() - key.size());
  const Fields* fields = nullptr;
  std::optional<std::size_t> stage;
  if (before == link_pointer) {
    fields = &fields_of(HardwareSpec{});
    stage = no_stage;
  } else if (before.starts_with(stages_pointer)) {
    fields = &fields_of(Layer{});
    const std::size_t begin = stages_pointer.size();
    stage = stage_in(before.substr(begin, before.size() - begin - 1));
  }
  const Field* field = stage ? find_field(*fields, key) : nullptr;
  if (field == nullptr || !field->of_costs) return std::nullopt;
  return CostKnob(*field, *stage);
}

bool CostKnob::is_stated(const json& document) const {
  const auto states = [&](const json& object) {
    const auto value = object.find(field_->key);
    return value != object.end() && value->is_number();
  };
  if (of_link()) return document.contains("hardware") && states(document["hardware"]);
  const json& stages = document["model"]["stages"];
  if (stage_ != every_stage) return stage_ < stages.size() && states(stages[stage_]);
  return std::all_of(stages.begin(), stages.end(), states);
}

void CostKnob::set(Layout& layout, double value) const {
  const json number = value;
  if (of_link()) return field_->read(number, &layout.hardware.spec);
  std::vector<Layer>& layers = layout.model.layers;
  if (stage_ != every_stage) return field_->read(number, &layers[stage_]);
  for (Layer& layer : layers) field_->read(number, &layer);
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
                     [&](const CostKnob& knob) { return knob.is_stated(document); });
}

}  // namespace penstock
