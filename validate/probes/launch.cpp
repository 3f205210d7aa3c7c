#include <array>

#include "validate/busy_kernel.hpp"
#include "validate/probe_timing.hpp"
#include "validate/probes/registry.hpp"
#include "validate/rank_threads.hpp"

namespace penstock {
namespace {

constexpr std::array sizes{
    Parameter{"threads",
              "that are started and waited for; 0: the clock is read twice, as around "
              "each action",
              std::nullopt, 0, 256}};

/// Keeps the compiler from doing without it.
void read_clock() {
  const std::int64_t now = thread_cpu_ns();
  asm volatile("" : : "r"(now));
}

Sampler make(const NamedNumbers& of) {
  const auto threads = static_cast<std::uint32_t>(of.at("threads"));
  if (threads > 0) {
    return repeated(
        [threads] {
          on_all_ranks(
              threads, [](std::uint32_t) {}, [] {});
        },
        steady_ns);
  }
  return repeated(
      [] {
        read_clock();
        read_clock();
      },
      steady_ns);
}

}  // namespace

constinit extern const ProbeEntry launch_entry{
    "launch", "what an action costs beside its work, and a run beside its actions", sizes, make};

}  // namespace penstock
