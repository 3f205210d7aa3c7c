#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/layout.hpp"

namespace penstock {

/// What the viewer changes while a hand moves: a key of a scenario that is `turned` in the table of
/// its section, or the times of a stage, by a factor.
struct Knob {
  std::string pointer;  // into the scenario; empty: of a stage
  const Field* field;
  std::vector<std::string> words{};  // of a choice

  bool of_stage() const { return pointer.empty(); }
  const Slider& slider() const { return *field->slider; }
  /// "µs"; empty for a plain number.
  std::string_view unit() const;
};

/// All knobs, in the order of the tables.
const std::vector<Knob>& knobs();

/// The value of a knob in a scenario; nothing if the scenario leaves it out.
std::optional<std::string> knob_value(const Scenario& scenario, const Knob& knob);

/// The value of a knob in a settled layout, as a scenario would state it: what is in force where
/// the scenario leaves it out. Nothing where no one value says it.
std::optional<std::string> value_in_force(const Layout& layout, const Knob& knob);

/// Whether a scenario knows what a knob turns.
bool knob_applies(const Scenario& scenario, const Knob& knob);

/// The number of a value, which may have a unit; nothing if it is none.
std::optional<double> knob_number(const Knob& knob, const std::string& value);

/// A number for a person, with the unit that scenarios read: "10GB/s", "2us".
std::string knob_text(const Knob& knob, double number);

/// Settings, as of `run --set`, that turn a knob to a value.
std::vector<std::string> settings_for(const Scenario& scenario, const Knob& knob,
                                      const std::string& value, std::uint32_t stage);

/// Settings of a scenario, completed: where a command gives the order, a scenario that states
/// anything of its schedule states all that is in force.
std::vector<std::string> with_schedule_of(const Layout& layout, const Scenario& scenario,
                                          std::vector<std::string> settings);

/// The value for a position of a slider from 0 to 1, and back.
double knob_at(const Knob& knob, double position);
double position_of(const Knob& knob, double value);

/// The number of stages that a scenario gives by numbers; 0 if its model is given otherwise.
std::uint32_t numbered_stages(const Scenario& scenario);

}  // namespace penstock
