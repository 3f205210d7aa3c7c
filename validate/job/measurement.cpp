#include "validate/job/measurement.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace penstock {
namespace {

using Profile = std::vector<std::int64_t>;

/// What all actions of a profile took, a class once each.
double actions_ns(const Plan& plan, const Profile& profile) {
  std::int64_t sum = 0;
  for (std::size_t c = 0; c < profile.size(); ++c) {
    if (!plan.is_link(plan.classes[c].resource)) sum += profile[c];
  }
  return static_cast<double>(sum);
}

bool are_close(double a, double b, double steady) {
  return std::abs(a - b) <= steady * std::min(a, b);
}

/// Of profile i when `counts[i]` says so, or of all of them when it says so of none.
std::vector<std::int64_t> medians(const std::vector<Profile>& profiles,
                                  const std::vector<bool>& counts) {
  const bool all = std::find(counts.begin(), counts.end(), true) == counts.end();
  std::vector<std::int64_t> middles;
  for (std::size_t c = 0; c < profiles.front().size(); ++c) {
    std::vector<double> values;
    for (std::size_t i = 0; i < profiles.size(); ++i) {
      if (all || counts[i]) values.push_back(static_cast<double>(profiles[i][c]));
    }
    middles.push_back(std::llround(median(std::move(values))));
  }
  return middles;
}

/// Returns what went wrong.
std::optional<RunFault> warm_up(Backend& backend, const MeasuringPlan& measuring) {
  for (std::uint32_t run = 0; run < std::max(measuring.iterations / 3, 1U); ++run) {
    backend.profile();
    auto outcome = backend.run();
    if (auto* fault = std::get_if<RunFault>(&outcome)) return std::move(*fault);
  }
  return std::nullopt;
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 != 0) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

double median_deviation(const std::vector<double>& values) {
  const double middle = median(values);
  std::vector<double> deviations;
  for (const double value : values) deviations.push_back(std::abs(value - middle));
  return median(std::move(deviations));
}

std::variant<Measurement, RunFault> measure(Backend& backend, const Job& job,
                                            const MeasuringPlan& measuring) {
  if (auto fault = warm_up(backend, measuring)) return *std::move(fault);
  Measurement measured;
  std::vector<Profile> profiles{backend.profile()};
  std::vector<bool> beside_clean{false};
  const std::uint64_t most = std::uint64_t{measuring.iterations} * measuring.most_tries;
  while (measured.iterations.size() < measuring.iterations && measured.tried < most) {
    auto outcome = backend.run();
    if (auto* fault = std::get_if<RunFault>(&outcome)) return std::move(*fault);
    ++measured.tried;
    profiles.push_back(backend.profile());
    beside_clean.push_back(false);
    std::vector<std::string> disturbances = backend.disturbances();
    const double before = actions_ns(job.plan, profiles.end()[-2]);
    if (!are_close(before, actions_ns(job.plan, profiles.back()), measuring.steady)) {
      disturbances.emplace_back("profiles");
    }
    for (const std::string& one : disturbances) ++measured.disturbed[one];
    if (!disturbances.empty()) continue;
    beside_clean.end()[-2] = beside_clean.back() = true;
    measured.iterations.push_back(std::get<Iteration>(std::move(outcome)));
  }
  measured.profile_ns = medians(profiles, beside_clean);
  measured.complete =
      measured.iterations.size() >=
      std::min(measuring.iterations, measuring.least.value_or(measuring.iterations));
  return measured;
}

}  // namespace penstock
