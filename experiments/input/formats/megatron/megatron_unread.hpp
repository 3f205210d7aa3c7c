#pragma once

#include <string_view>

namespace penstock {

/// The simulated behaviour in place of a Megatron-LM argument that changes the cost of a step but
/// is not read; empty for all other arguments.
std::string_view simulated_instead(std::string_view argument);

}  // namespace penstock
