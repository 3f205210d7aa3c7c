#include <array>

#include "validate/machine/clock.hpp"
#include "validate/machine/host.hpp"
#include "validate/probes/registry.hpp"
#include "validate/probes/timing/probe_timing.hpp"

namespace penstock::launch_file {
namespace {

constexpr std::array sizes{
    Parameter{"threads", "threads started and joined", std::nullopt, 1, 256}};

Sampler make(const NamedNumbers& of) {
  const auto threads = static_cast<std::uint32_t>(of.at("threads"));
  return repeated(
      [threads] {
        on_all_ranks(
            threads, [](std::uint32_t) {}, [] {});
      },
      monotonic_ns);
}

}  // namespace

constinit extern const ProbeEntry launch_entry{
    "launch", "start and end of a run: one thread per rank", sizes, make};

}  // namespace penstock::launch_file
