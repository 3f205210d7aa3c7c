#pragma once

#include "sim/topology.hpp"
#include "sim/work.hpp"

namespace penstock {

/// How long `devices` devices take for a collective once, in microseconds, each with one link of
/// some speed to the next: a ring in n - 1 steps, of which an all-reduce goes round two.
double collective_us(CollectiveKind kind, double bytes, double devices, const Speed& link);

}  // namespace penstock
