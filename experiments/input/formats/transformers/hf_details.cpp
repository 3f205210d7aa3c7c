#include <initializer_list>
#include <nlohmann/json.hpp>

#include "experiments/input/formats/transformers/hf_parts.hpp"

namespace penstock {
namespace {

using nlohmann::json;

/// nullptr: there is no such object.
const json* object_in(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_object() ? &*found : nullptr;
}

/// The first of these fields that is a number; no simulation depends on them, so none is refused.
std::optional<double> number_in(const json& object, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto found = object.find(name);
    if (found != object.end() && found->is_number()) return found->get<double>();
  }
  return std::nullopt;
}

std::string word_in(const json& object, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto found = object.find(name);
    if (found != object.end() && found->is_string()) return found->get<std::string>();
  }
  return "";
}

}  // namespace

ModelDetails hf_details(const json& config) {
  const json* inner = object_in(config, "text_config");
  const json& text = inner != nullptr ? *inner : config;
  ModelDetails details{
      .rotary_base = number_in(text, {"rope_theta"}),
      .rotary_share = number_in(text, {"partial_rotary_factor", "rotary_pct"}),
      .activation = word_in(text, {"hidden_activation", "hidden_act", "activation_function"}),
      .scoring = word_in(text, {"scoring_func"}),
      .rope_scaling = "",
      .norm_epsilon = number_in(text, {"rms_norm_eps", "layer_norm_epsilon", "layer_norm_eps"})};
  for (const char* name : {"rope_scaling", "rope_parameters"}) {
    const json* rope = object_in(text, name);
    if (rope == nullptr) continue;
    if (!details.rotary_base) details.rotary_base = number_in(*rope, {"rope_theta"});
    if (!details.rotary_share) details.rotary_share = number_in(*rope, {"partial_rotary_factor"});
    const std::string type = word_in(*rope, {"rope_type", "type"});
    if (type == "default") continue;
    details.rope_scaling = type;
    details.rope_factor = number_in(*rope, {"factor"}).value_or(1);
  }
  return details;
}

}  // namespace penstock
