#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/plan/order_search/order_hunt.hpp"

namespace penstock {

/// A hunt as text: the order found, its memory, and the named orders it was compared with.
std::string hunt_text(const HuntResult& result);

/// The same as JSON.
nlohmann::ordered_json hunt_json(const HuntResult& result);

/// "best 51.0 ms, bound 50.0 ms, gap 2.0 %".
std::string hunt_line(const HuntState& state);

/// A scenario that runs the order found, as JSON text: that of the hunt with `order_file` as its
/// schedule. Paths that the scenario names are made relative to `folder`, where it will stand.
std::string scenario_with_order(const Scenario& scenario, const HuntResult& result,
                                const std::string& order_file, const std::string& folder);

}  // namespace penstock
