#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "validate/backends/nccl/comm_plan.hpp"

namespace penstock {

/// What a call that lacks a partner holds up.
enum class Blocking : std::uint8_t {
  streams,  // its own stream, as on a GPU with room for all streams
  ranks,    // all that its rank issues later: also safe where streams share a hardware queue
};

/// Runs the calls of all ranks with NCCL's rules: a group starts when its stream and all that it
/// waits for has ended, and ends when all its partners have started; sends and receives match by
/// peer and order, collectives by order. Nothing when everything ends; else who waits for what, or
/// the first two calls that match and do not fit.
std::optional<std::string> why_it_hangs(const CommPlan& comms, const Plan& plan, Blocking blocking);

}  // namespace penstock
