#include <memory>

#include "validate/machine/busy_kernel.hpp"
#include "validate/probes/registry.hpp"
#include "validate/probes/timing/probe_timing.hpp"

namespace penstock::canary_file {
namespace {

/// A fixed number of steps: takes longer when the machine is slowed.
Sampler make(const NamedNumbers&) {
  constexpr std::uint64_t steps = 100'000;
  const auto seed = std::make_shared<std::uint64_t>(1);
  return repeated([seed] { *seed = spin(steps, *seed); }, thread_cpu_ns);
}

}  // namespace

constinit extern const ProbeEntry canary_entry{
    "canary", "a fixed piece of work, to check whether the machine has changed", {}, make};

}  // namespace penstock::canary_file
