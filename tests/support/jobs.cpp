#include "tests/support/jobs.hpp"

#include <variant>

#include "sim/base/named.hpp"

namespace penstock::testing {

Job job_of(const System& system, const JobLength& length) {
  return penstock::job_of(priced(system), length);
}

const BackendEntry& cpu_logical() { return *find_named(backend_entries(), "cpu_logical"); }

Timeline logical_run(const Job& job) { return completed(cpu_logical().make(job)->run()); }

Standstill halt_of(Backend& backend) { return std::get<Standstill>(backend.run()); }

Standstill halt_of(const Job& job) { return halt_of(*cpu_logical().make(job)); }

std::uint32_t too_early(const Plan& plan, const Timeline& ran) {
  std::uint32_t count = 0;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (ran.begin[task] < Time{} || ran.end[task] < ran.begin[task]) ++count;
    plan.for_each_input(task, [&](TaskId input) {
      if (ran.begin[task] < ran.end[input]) ++count;
    });
  }
  return count;
}

Measurement measured_by(Backend& backend, const Job& job, const MeasuringPlan& measuring) {
  return completed(measure(backend, job, measuring));
}

System system_of(const ScheduleEntry& entry, std::uint32_t ranks, std::uint32_t microbatches) {
  const ScheduleOptions options{microbatches, {}};
  System system{.placement = entry.place(ranks, usual_chunks(entry, options)),
                .schedule = {},
                .stages = {},
                .hardware = link(0.3, 2e9)};
  system.schedule = make_schedule(entry, system.placement, options);
  for (std::size_t s = 0; s < system.placement.chains().front().size(); ++s) {
    Layer stage = stage_of(1 + 0.25 * static_cast<double>(s % 3), 1, 1);
    stage.activation_bytes = 4096;
    stage.stash_bytes = 4096;
    system.stages.push_back(stage);
  }
  return system;
}

System system_of(std::string_view schedule, std::uint32_t ranks, std::uint32_t microbatches) {
  return system_of(*find_named(schedule_entries(), schedule), ranks, microbatches);
}

System two_stages(std::string_view csv) {
  System system = a_stage_each(csv, {stage_of(1, 2), stage_of(1, 2)});
  for (Layer& stage : system.stages) stage.activation_bytes = 4096;
  return system;
}

}  // namespace penstock::testing
