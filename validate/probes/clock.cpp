#include "validate/machine/busy_kernel.hpp"
#include "validate/probes/registry.hpp"
#include "validate/probes/timing/probe_timing.hpp"

namespace penstock {
namespace {

/// Keeps the compiler from doing without it.
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
      steady_ns);
}

}  // namespace

constinit extern const ProbeEntry clock_entry{
    "clock", "the two readings of a thread's clock around each action", {}, make};

}  // namespace penstock
