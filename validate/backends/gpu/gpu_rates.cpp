#include "validate/backends/gpu/gpu_rates.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace penstock {
namespace {

constexpr double least_share = 0.97;
// Of a copy: until all its threads have started and one has seen that its time is over.
constexpr double grace_ns = 2000;

double share(double asked_ns, double took_ns) {
  return took_ns > asked_ns ? asked_ns / took_ns : 1;
}

}  // namespace

void GpuRates::add(const GpuProgram& program, const GpuRun& run) {
  for (std::size_t task = 0; task < program.tasks.size(); ++task) {
    const GpuTask& what = program.tasks[task];
    if (!program.is_transfer(what) || what.bytes == 0 || what.duration_ns == 0) continue;
    const std::uint64_t held = run.end_ns[task] - what.latency_ns - run.begin_ns[task];
    const auto asked = static_cast<double>(what.duration_ns);
    asked_ns_[what.lane - program.ranks] += asked;
    took_ns_[what.lane - program.ranks] += std::max(asked, static_cast<double>(held) - grace_ns);
  }
}

double GpuRates::least() const {
  double least = 1;
  for (std::size_t link = 0; link < asked_ns_.size(); ++link) {
    least = std::min(least, share(asked_ns_[link], took_ns_[link]));
  }
  return least;
}

std::optional<std::string> GpuRates::fault(const Plan& plan) const {
  for (std::size_t link = 0; link < asked_ns_.size(); ++link) {
    const double reached = share(asked_ns_[link], took_ns_[link]);
    if (reached >= least_share) continue;
    return fmt::format(
        "link {} reached {:.1f} % of its rate; below {:.0f} % the run does not count",
        text(plan.links[link]), 100 * reached, 100 * least_share);
  }
  return std::nullopt;
}

}  // namespace penstock
