#pragma once

#include <optional>
#include <variant>

#include "experiments/run/brief_run.hpp"

namespace penstock {

/// A run without its report of a layout that only costs set apart from another one, whose plan
/// serves again: lowering takes most of the time. Nothing if the layouts differ in more, or if one
/// has codecs or a policy. Returns why it cannot finish. Throws InputError without a file's name in
/// front.
std::optional<std::variant<BriefRun, Finding>> run_after(const Layout& layout, const Layout& before,
                                                         const Plan& plan);

}  // namespace penstock
