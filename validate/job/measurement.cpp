#include "validate/job/measurement.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "validate/statistics/summary.hpp"

namespace penstock {
namespace {

using Profile = std::vector<Time>;

/// The total of a profile's actions, each class once.
double actions_ns(const Plan& plan, const Profile& profile) {
  Time sum;
  for (std::size_t c = 0; c < profile.size(); ++c) {
    if (!plan.is_link(plan.classes[c].resource)) sum += profile[c];
  }
  return static_cast<double>(to_ns(sum));
}

/// Medians in whole nanoseconds over the profiles that `counts` marks, or over all when it marks
/// none.
Profile medians(const std::vector<Profile>& profiles, const std::vector<bool>& counts) {
  const bool all = std::find(counts.begin(), counts.end(), true) == counts.end();
  Profile middles;
  for (std::size_t c = 0; c < profiles.front().size(); ++c) {
    std::vector<double> values;
    for (std::size_t i = 0; i < profiles.size(); ++i) {
      if (all || counts[i]) values.push_back(static_cast<double>(to_ns(profiles[i][c])));
    }
    middles.push_back(from_ns(std::llround(median(std::move(values)))));
  }
  return middles;
}

void stop_if_asked(const MeasuringPlan& measuring) {
  if (measuring.asked_to_stop && measuring.asked_to_stop()) throw MeasurementStopped();
}

/// Returns what went wrong.
std::optional<Standstill> warm_up(Backend& backend, const MeasuringPlan& measuring) {
  for (std::uint32_t run = 0; run < std::max(measuring.iterations / 3, 1U); ++run) {
    stop_if_asked(measuring);
    backend.profile();
    auto outcome = backend.run();
    if (auto* halt = std::get_if<Standstill>(&outcome)) return std::move(*halt);
  }
  return std::nullopt;
}

}  // namespace

std::variant<Measurement, Standstill> measure(Backend& backend, const Job& job,
                                              const MeasuringPlan& measuring) {
  if (auto halt = warm_up(backend, measuring)) return *std::move(halt);
  Measurement measured;
  std::vector<Profile> profiles{backend.profile()};
  std::vector<bool> beside_clean{false};
  const std::uint64_t most = std::uint64_t{measuring.iterations} * measuring.most_tries;
  while (measured.iterations.size() < measuring.iterations && measured.tried < most) {
    stop_if_asked(measuring);
    auto outcome = backend.run();
    if (auto* halt = std::get_if<Standstill>(&outcome)) return std::move(*halt);
    ++measured.tried;
    profiles.push_back(backend.profile());
    beside_clean.push_back(false);
    std::vector<std::string> disturbances = backend.disturbances();
    const double before = actions_ns(job.priced.plan, profiles.end()[-2]);
    const double after = actions_ns(job.priced.plan, profiles.back());
    if (std::abs(before - after) > measuring.steady * std::min(before, after)) {
      disturbances.emplace_back("profiles");
    }
    for (const std::string& one : disturbances) ++measured.disturbed[one];
    if (!disturbances.empty()) continue;
    beside_clean.end()[-2] = beside_clean.back() = true;
    measured.iterations.push_back(std::get<Timeline>(std::move(outcome)));
  }
  measured.profile = medians(profiles, beside_clean);
  measured.complete =
      measured.iterations.size() >=
      std::min(measuring.iterations, measuring.least.value_or(measuring.iterations));
  return measured;
}

}  // namespace penstock
