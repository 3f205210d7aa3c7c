#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/input/scenario/scenario.hpp"

namespace penstock {

/// Reads many scenarios that mostly name the same files: a file that the scenario before names, too,
/// is not read again.
class ScenarioReader {
 public:
  ScenarioReader();
  ScenarioReader(const ScenarioReader&) = delete;
  ScenarioReader& operator=(const ScenarioReader&) = delete;
  ~ScenarioReader();

  /// As `scenario_from`.
  Scenario read(nlohmann::json document, const std::string& source);

 private:
  struct Known;

  std::unique_ptr<Known> known_;  // the files of the scenario before
};

}  // namespace penstock
