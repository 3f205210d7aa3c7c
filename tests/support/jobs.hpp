#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>

#include "schedules/registry.hpp"
#include "sim/engines/standstill.hpp"
#include "tests/support/system.hpp"
#include "validate/backends/registry.hpp"
#include "validate/job/job.hpp"
#include "validate/job/measurement.hpp"

namespace penstock::testing {

/// Actions of a few microseconds, so that many plans can run.
constexpr JobLength quick{.mean_action_ns = 4'000, .least_work_ns = 100'000};

/// A job of a system.
Job job_of(const System& system, const JobLength& length = quick);

/// The backend of ranks on threads in logical time.
const BackendEntry& cpu_logical();
/// A run of a job there; fails the test if it stands still.
Timeline logical_run(const Job& job);
/// The standstill of a run; fails the test if it ends.
Standstill halt_of(Backend& backend);
/// The same of a run there.
Standstill halt_of(const Job& job);
/// How many tasks of a run begin before something that they need has ended, or end before they
/// begin.
std::uint32_t too_early(const Plan& plan, const Timeline& ran);
/// What a backend measured; fails the test at a standstill.
Measurement measured_by(Backend& backend, const Job& job, const MeasuringPlan& measuring);

/// A catalogue order over unequal stages, with tensors of 4 kB that queue on slow links.
System system_of(const ScheduleEntry& entry, std::uint32_t ranks, std::uint32_t microbatches);
System system_of(std::string_view schedule, std::uint32_t ranks, std::uint32_t microbatches);

/// An order of two ranks in which F takes 1 us and B 2 us.
System two_stages(std::string_view csv);

/// What a run or a measurement came to; a standstill ends the test, with its reason.
template <class Result>
Result completed(std::variant<Result, Standstill> outcome) {
  if (const auto* halt = std::get_if<Standstill>(&outcome)) FAIL(halt->text);
  return std::get<Result>(std::move(outcome));
}

}  // namespace penstock::testing
