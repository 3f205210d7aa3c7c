#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// Runs with more tasks have a still picture in their page.
constexpr std::uint32_t most_live_tasks = 1'000'000;

/// A timeline to pan, zoom and point at, as a piece of HTML that needs nothing else: controls, a
/// canvas, the run in a compact form, and the script. A page has room for one. `path` are the tasks
/// of the critical path, in order. Actions and transfers without length are left out.
std::string live_timeline(const Plan& plan, const Timeline& timeline,
                          const std::vector<TaskId>& path);

/// Its script: the files live_*.js of this folder.
std::string_view live_timeline_script();

}  // namespace penstock
