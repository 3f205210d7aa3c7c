#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/measure/causes/op_model.hpp"
#include "sim/timeline/timeline_file.hpp"

namespace penstock {

/// How a measured run is changed.
struct MeasuredChanges {
  std::vector<std::string> without;   // as --without takes them: "rank=7", "gaps"
  std::vector<std::string> settings;  // as --set: /chance, and overheads of the host

  bool empty() const { return without.empty() && settings.empty(); }
};

/// A measured run as it would have been.
struct Counterfactual {
  Recording run;
  MeasuredChanges changes;
  Time measured{};
  Time changed{};
};

/// Takes causes out of a run, then applies settings to what is left; everything else stays as
/// measured, and so does what no cause explains. Throws UsageError for what cannot be taken out or
/// set, and InputError for values that do not fit.
Counterfactual counterfactual(const Recording& run, const std::string& source,
                              const MeasuredChanges& changes,
                              const ExpectedOps* expected = nullptr);

/// The line above the explanation of a changed run.
std::string changed_text(const Counterfactual& changed);
nlohmann::ordered_json changed_json(const Counterfactual& changed);

}  // namespace penstock
