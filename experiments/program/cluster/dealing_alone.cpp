#include "experiments/program/cluster/dealing.hpp"

// Without MPI: configure with -DPENSTOCK_MPI=ON for dealing_mpi.cpp.

namespace penstock {

bool is_dealt() { return false; }
bool is_dealer() { return false; }
SweepCount deal_sweep(const SweepSpace& /*space*/, const SweepRun& /*run*/,
                      const TakeRows& /*take*/) {
  return {};
}
void run_dealt(const SweepSpace& /*space*/, const Catalogue& /*catalogue*/) {}

}  // namespace penstock
