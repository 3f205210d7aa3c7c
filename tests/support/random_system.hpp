#pragma once

#include <iosfwd>

#include "tests/support/system.hpp"

namespace penstock::testing {

/// What random systems may hold besides the usual.
struct Wildness {
  bool zero_times = true;  // actions that take no time
  bool recompute = true;   // R's in the order, which PyTorch's notation does not know
};

/// Draws a small system from RapidCheck, so that a failing one shrinks; to be called inside
/// `rc::check`. Stages lie anywhere, some have replicas; up to two chains; microbatch numbers may
/// have gaps; backwards are whole or split; some F and B are joined to overlap cells. The order is
/// drawn by doing the work in a random sequence, so it never deadlocks.
System random_system(Wildness wildness = {});

}  // namespace penstock::testing

namespace penstock {
/// For RapidCheck and doctest: the order as CSV, and what is not plain about the rest.
std::ostream& operator<<(std::ostream& out, const Schedule& schedule);
}  // namespace penstock
