#pragma once

#include <iosfwd>

#include "tests/support/system.hpp"

namespace penstock::testing {

/// Unusual things that random systems may contain.
struct Wildness {
  bool zero_times = true;  // actions that take no time
  bool recompute = true;   // R's in the order, which PyTorch's notation does not have
  bool exchanges = true;   // within ranks
};

/// Draws a small system from RapidCheck, so that a failing one shrinks; call inside `rc::check`.
/// Stages lie on any rank, some have replicas; up to two chains; microbatch numbers may have gaps;
/// backwards are whole or split; some F and B form overlap cells. The order comes from running the
/// actions in a random sequence, so it never deadlocks.
System random_system(Wildness wildness = {});

/// Draws the bytes of a plan: by kind and stage, wherever a stage lies.
void draw_bytes(PricedPlan& priced);

/// Writes down the communication of a system without R's: RECVs stand anywhere before what reads
/// them, which may lock the order up, and weights may be sharded.
void write_communication(System& system);

}  // namespace penstock::testing

namespace penstock {
/// For RapidCheck and doctest: the order as CSV, and the unusual rest.
std::ostream& operator<<(std::ostream& out, const Schedule& schedule);
}  // namespace penstock
