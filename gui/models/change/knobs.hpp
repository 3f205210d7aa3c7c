#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/input/scenario/scenario.hpp"

namespace penstock {

/// Something of a scenario that the viewer changes while a hand moves.
struct Knob {
  std::string_view id;
  std::string_view label;
  std::string_view unit;
  std::string_view pointer;          // into the scenario; empty: see `settings_for`
  double low = 0;                    // of numbers
  double high = 0;                   // equal to `low`: a choice of words
  bool whole = false;                // only whole numbers
  bool logarithmic = false;          // equal steps of a hand are equal ratios
  std::vector<std::string> words{};  // of a choice
};

/// All knobs. The one named "stage" multiplies the costs of a stage that is given by numbers.
const std::vector<Knob>& knobs();

/// The value of a knob in a scenario; nothing if the scenario leaves it out.
std::optional<std::string> knob_value(const Scenario& scenario, const Knob& knob);

/// Whether a scenario knows what a knob turns.
bool knob_applies(const Scenario& scenario, const Knob& knob);

/// The number of a value, which may have a unit; nothing if it is none.
std::optional<double> knob_number(const Knob& knob, const std::string& value);

/// A number for a person, with the unit that scenarios read: "10GB/s", "2us".
std::string knob_text(const Knob& knob, double number);

/// Settings, as of `run --set`, that turn a knob to a value.
std::vector<std::string> settings_for(const Scenario& scenario, const Knob& knob,
                                      const std::string& value, std::uint32_t stage);

/// The value for a position of a slider from 0 to 1, and back.
double knob_at(const Knob& knob, double position);
double position_of(const Knob& knob, double value);

/// The number of stages that a scenario gives by numbers; 0 if its model is given otherwise.
std::uint32_t numbered_stages(const Scenario& scenario);

}  // namespace penstock
