#include "gui/models/change/scenario_keys.hpp"

#include "experiments/input/scenario/known_keys.hpp"
#include "experiments/program/commands/line/suggestions.hpp"

namespace penstock {

std::vector<std::string> words_at(const TextPlace& place) {
  if (place.key.empty()) return keys_below(place.pointer);
  const std::string setting = place.pointer + "/" + place.key + "=";
  std::vector<std::string> values;
  for (const std::string& known : suggested_settings(setting)) {
    values.push_back(known.substr(setting.size()));
  }
  return values;
}

}  // namespace penstock
