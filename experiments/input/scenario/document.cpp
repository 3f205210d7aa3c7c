#include "experiments/input/scenario/document.hpp"

#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"

namespace penstock {

std::string document_text(const Scenario& scenario) { return printed(*scenario.document); }

std::optional<std::string> value_at(const Scenario& scenario, const std::string& pointer) {
  const nlohmann::json::json_pointer place(pointer);
  if (!scenario.document->contains(place)) return std::nullopt;
  const nlohmann::json& value = scenario.document->at(place);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace penstock
