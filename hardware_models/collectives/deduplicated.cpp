#include <algorithm>
#include <array>

#include "hardware_models/collectives/registry.hpp"
#include "sim/base/random.hpp"

namespace penstock::deduplicated_file {
namespace {

constexpr std::array<ServedKind, 1> kinds{
    {{CollectiveKind::all_to_all,
      "max(B/k n (l - 1)/l d(n)/bw_in + lat_in, B/k (n/l - 1) d(n/l)/bw_out + lat_out), d(x) = "
      "1 - (1 - 1/x)^k, for k copies of a value"}}};

/// Values that have copies for several members.
bool applies_to(const CollectiveCall& call) { return call.copies > 1; }

/// The chance that one of several places gets a copy, when each copy falls on any of them alike.
double reached(double places, double copies) {
  return 1 - portable_exp(copies * portable_log(1 - 1 / places));
}

/// A value crosses to each machine once, and is spread there while others cross.
double us(const CollectiveCall& call) {
  const auto machines = static_cast<double>(call.members.machines());
  const auto together = static_cast<double>(call.members.per_machine);
  const double value = call.bytes / call.copies;
  const double crossed = (machines - 1) * reached(machines, call.copies);
  const double spread = machines * (together - 1) * reached(machines * together, call.copies);
  const double inside_us = together > 1 ? rounds_us(1, value * spread, call.reach.inside) : 0;
  const double outside_us = machines > 1 ? rounds_us(1, value * crossed, call.reach.outside) : 0;
  return std::max(inside_us, outside_us);
}

}  // namespace

constinit extern const CollectiveEntry deduplicated_entry{
    "deduplicated", "a value crosses to each machine and goes to each member once, as DeepEP sends",
    kinds,          us,
    nullptr,        applies_to};

}  // namespace penstock::deduplicated_file
