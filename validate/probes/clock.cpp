#include "validate/machine/clock.hpp"

#include "validate/machine/busy_kernel.hpp"
#include "validate/probes/registry.hpp"
#include "validate/probes/timing/probe_timing.hpp"

namespace penstock::clock_file {
namespace {

/// Prevents the compiler from removing the reading.
void read_clock() {
  const std::int64_t now = thread_cpu_ns();
  asm volatile("" : : "r"(now));
}

Sampler make(const NamedNumbers&) {
  return repeated(
      [] {
        read_clock();
        read_clock();
      },
      monotonic_ns);
}

}  // namespace

constinit extern const ProbeEntry clock_entry{
    "clock", "two readings of a thread's clock, as around each action", {}, make};

}  // namespace penstock::clock_file
