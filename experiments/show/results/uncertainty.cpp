#include "experiments/show/results/uncertainty.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/run/step_interval.hpp"

namespace penstock {
namespace {

struct Interval {
  double least_us = 0;
  double most_us = 0;
};

Interval interval_of(const RunResult& result) {
  const StepInterval factors = step_interval(result.layout.hardware.confidence->spread);
  const double us = to_us(result.report->makespan);
  return {us * factors.least, us * factors.most};
}

std::string origin_text(const char* origin, const std::vector<std::string>& names) {
  return names.empty() ? "" : fmt::format("{}: {}", origin, fmt::join(names, ", "));
}

}  // namespace

bool has_uncertainty(const RunResult& result) {
  return result.report && result.layout.hardware.confidence.has_value();
}

std::string uncertainty_text(const RunResult& result) {
  if (!has_uncertainty(result)) return "";
  const Interval interval = interval_of(result);
  const TimeUnit unit = unit_for(result.report->makespan);
  const Provenance& from = result.layout.hardware.confidence->provenance;
  std::string origins;
  for (const std::string& text :
       {origin_text("measured", from.measured), origin_text("fitted", from.fitted),
        origin_text("assumed", from.assumed)}) {
    if (!text.empty()) origins += (origins.empty() ? "" : "; ") + text;
  }
  return fmt::format("{:<12} {} to {} {} ({:.0f} % of runs, by the spread of published ones)\n",
                     "interval", time_text(from_us(interval.least_us), unit),
                     time_text(from_us(interval.most_us), unit), unit.name, 100 * interval_level) +
         fmt::format("{:<12} {}\n", "constants", origins);
}

ordered_json uncertainty_json(const RunResult& result) {
  const Interval interval = interval_of(result);
  const Confidence& confidence = *result.layout.hardware.confidence;
  return {{"level", interval_level},
          {"least_us", interval.least_us},
          {"most_us", interval.most_us},
          {"spread", confidence.spread},
          {"because", confidence.because},
          {"measured", confidence.provenance.measured},
          {"fitted", confidence.provenance.fitted},
          {"assumed", confidence.provenance.assumed}};
}

}  // namespace penstock
