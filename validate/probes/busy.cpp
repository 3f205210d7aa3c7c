#include <array>
#include <cmath>
#include <memory>

#include "validate/machine/busy_kernel.hpp"
#include "validate/probes/registry.hpp"
#include "validate/probes/timing/probe_timing.hpp"

namespace penstock::busy_file {
namespace {

constexpr std::array sizes{Parameter{"ns", "requested duration in ns", std::nullopt, 1, 1e9}};

Sampler make(const NamedNumbers& of) {
  const auto steps = static_cast<std::uint64_t>(std::llround(of.at("ns") * spin_steps_per_ns()));
  const auto seed = std::make_shared<std::uint64_t>(1);
  return repeated([steps, seed] { *seed = spin(steps, *seed); }, thread_cpu_ns);
}

}  // namespace

constinit extern const ProbeEntry busy_entry{
    "busy", "the busy kernel of actions with a known time only", sizes, make};

}  // namespace penstock::busy_file
