#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <thread>

#include "schedules/registry.hpp"
#include "sim/base/named.hpp"
#include "tests/support/jobs.hpp"
#include "validate/backends/registry.hpp"
#include "validate/job/measurement.hpp"
#include "validate/machine/host.hpp"
#include "validate/ranks/rank_clocks.hpp"

namespace penstock::testing {
namespace {

const BackendEntry& backend(std::string_view name) { return *find_named(backend_entries(), name); }

/// How many actions begin before the one in front of them on their rank has ended.
std::uint32_t at_once(const Plan& plan, const Timeline& ran) {
  const ResourceOrders orders = resource_orders(plan);
  std::uint32_t count = 0;
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    for (std::uint32_t i = orders.first[rank] + 1; i < orders.first[rank + 1]; ++i) {
      if (ran.begin[orders.tasks[i]] < ran.end[orders.tasks[i - 1]]) ++count;
    }
  }
  return count;
}

void run_catalogue(const BackendEntry& entry) {
  for (const ScheduleEntry* schedule : schedule_entries()) {
    CAPTURE(schedule->name);
    const Job job = job_of(system_of(*schedule, 2, 4));
    if (const auto obstacle = entry.obstacle(job.priced)) FAIL(obstacle->text);
    const auto backend = entry.make(job);
    for (int run = 0; run < 2; ++run) {
      const Timeline ran = completed(backend->run());
      CHECK(too_early(job.priced.plan, ran) == 0);
      CHECK(at_once(job.priced.plan, ran) == 0);
    }
    CHECK(backend->profile().size() == job.priced.plan.classes.size());
  }
}

/// Those of threads on two ranks, each of which may need a core.
std::vector<const BackendEntry*> backends_of_threads() {
  std::vector<const BackendEntry*> all;
  const PricedPlan plan = priced(two_stages("0F0,0B0\n1F0,1B0\n"));
  for (const BackendEntry* entry : backend_entries()) {
    if (entry->make == nullptr || entry->one_gpu || entry->many_gpus) continue;
    const auto obstacle = entry->obstacle(plan);
    if (!obstacle) {
      all.push_back(entry);
    } else {
      MESSAGE(std::string(entry->name) << " is left out: " << obstacle->text);
    }
  }
  return all;
}

}  // namespace

// Times are not looked at, so that a loaded machine may run this: only that each task begins when
// all it needs is over, its link's time included, and that tensors are the right ones.
TEST_CASE("real time: every schedule of the catalogue runs, each task after what it needs") {
  std::uint32_t ran = 0;
  for (const BackendEntry* entry : backends_of_threads()) {
    if (!entry->wall_clock) continue;
    CAPTURE(entry->name);
    run_catalogue(*entry);
    ++ran;
  }
  CHECK(ran > 0);
}

// Rank 0 sends only behind 0B0 what 1F0 waits for, and 0B0 waits for 1B0, which stands behind 1F0.
TEST_CASE("threads: a deadlock is a finding within seconds, with all who wait") {
  Job job = job_of(two_stages("0F0,0B0\n1F0,1B0\n"));
  job.priced.plan.input[task_of(job.priced.plan, "0SEND_F0")] = task_of(job.priced.plan, "0B0");
  for (const BackendEntry* entry : backends_of_threads()) {
    CAPTURE(entry->name);
    const auto begin = std::chrono::steady_clock::now();
    const Standstill halt = halt_of(*entry->make(job));
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30));
    CHECK(halt.kind == "deadlock");
    CHECK(halt.rank == Rank{0});
    CHECK(halt.text ==
          "deadlock: 0B0 of rank 0 waits for 1SEND_B0; 1F0 of rank 1 waits for 0SEND_F0");
  }
}

// Both transfers exist, but each brings the other's tensor.
TEST_CASE("threads: a plan that ties an action to the wrong tensor is found out") {
  Job job = job_of(two_stages("0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n"));
  std::swap(job.priced.plan.input[task_of(job.priced.plan, "1F0")],
            job.priced.plan.input[task_of(job.priced.plan, "1F1")]);
  for (const BackendEntry* entry : backends_of_threads()) {
    CAPTURE(entry->name);
    const Standstill halt = halt_of(*entry->make(job));
    CHECK(halt.kind == "wrong_tensor");
    CHECK(halt.rank == Rank{1});
    CHECK(halt.text ==
          "before 1F0 on rank 1: the activation of model stage 0 for microbatch 1, iteration 0 "
          "came where the activation of model stage 0 for microbatch 0, iteration 0 was expected");
  }
}

TEST_CASE("threads: a run after a fault starts afresh") {
  Job job = job_of(two_stages("0F0,0B0\n1F0,1B0\n"));
  job.priced.plan.input[task_of(job.priced.plan, "0SEND_F0")] = task_of(job.priced.plan, "0B0");
  for (const BackendEntry* entry : backends_of_threads()) {
    CAPTURE(entry->name);
    const auto backend = entry->make(job);
    for (int run = 0; run < 3; ++run) {
      CHECK(halt_of(*backend).kind == "deadlock");
      CHECK(backend->profile().size() == job.priced.plan.classes.size());
    }
  }
}

TEST_CASE("cpu_realtime: more ranks than cores are in the way of this machine, not of the plan") {
  const PricedPlan plan = priced(system_of("gpipe", 256, 1));
  const std::size_t usable = whole_cores(usable_cores());
  if (usable >= 256) return;
  const auto obstacle = backend("cpu_realtime").obstacle(plan);
  REQUIRE(obstacle);
  CHECK(obstacle->of_machine);
  CHECK(obstacle->text ==
        "256 ranks that compute need 256 cores; usable: " + std::to_string(usable));
  CHECK_FALSE(backend("cpu_timed").obstacle(plan));
}

// F is asked for 20 us and B for 40 us: no sleep is shorter, and none of these rules has a rank
// wait.
TEST_CASE("cpu_timed: an action sleeps for at least its time, and says how late it was woken") {
  const System system = a_stage_each("0F0,0B0\n", {stage_of(1, 2)});
  const Job job = penstock::job_of(priced(system), {.mean_action_ns = 30'000, .least_work_ns = 0});
  const auto timed = backend("cpu_timed").make(job);
  const auto profile = timed->profile();
  for (std::size_t c = 0; c < profile.size(); ++c) {
    CHECK(profile[c] >= job.priced.costs.duration[c]);
  }
  const auto outcome = timed->run();
  const auto& ran = std::get<Timeline>(outcome);
  CHECK(ran.begin[0] == Time{});
  CHECK(ran.end[0] >= from_us(20));
  CHECK(ran.begin[1] == ran.end[0]);
  CHECK(ran.end[1] >= ran.begin[1] + from_us(40));
  const auto environment = timed->environment();
  REQUIRE(environment.count("t_wake_us") == 1);
  CHECK(std::stod(environment.at("t_wake_us")) >= 0);
}

// An action is over at 30 us. The next has a tensor that is there at 100 us, or at 5 us.
TEST_CASE("clocks: a sleeping one begins an action when all is there by what is written on it") {
  StartLine line(1, 0);
  SleepingClock clock(line);
  clock.start();
  const Span first = clock.time(30'000, [] { FAIL("it sleeps instead"); });
  CHECK(first.begin == Time{});
  CHECK(first.end >= from_us(30));
  clock.await(from_us(5));
  CHECK(clock.now() == first.end);
  clock.await(first.end + from_us(70));
  const Span second = clock.time(10'000, [] {});
  CHECK(second.begin == first.end + from_us(70));
  CHECK(second.end >= second.begin + from_us(10));
}

TEST_CASE("clocks: a spinning one waits until a tensor is due, and times what is really done") {
  StartLine line(1, 0);
  SpinningClock clock(line, usable_cores().numbers.front());
  std::jthread([&] {
    clock.start();
    clock.await(from_us(200));
    const Span span =
        clock.time(1, [] { std::this_thread::sleep_for(std::chrono::microseconds(50)); });
    CHECK(span.begin >= from_us(200));
    CHECK(span.end >= span.begin + from_us(50));
    CHECK(clock.now() == span.end);
    clock.finish();
  }).join();
  CHECK(clock.readings().canary_before_ns > 0);
  CHECK(clock.readings().canary_after_ns > 0);
}

// Three threads meet four times; nobody may leave before the last has come.
TEST_CASE("start line: all ranks start at one time, each time anew") {
  constexpr std::size_t meetings = 4;
  StartLine line(3, 1'000);
  std::array<std::array<std::int64_t, meetings>, 3> came{};
  std::array<std::array<std::int64_t, meetings>, 3> begins{};
  {
    std::vector<std::jthread> ranks;
    for (std::size_t rank = 0; rank < 3; ++rank) {
      ranks.emplace_back([&, rank] {
        for (std::size_t i = 0; i < meetings; ++i) {
          came[rank][i] = monotonic_ns();
          begins[rank][i] = line.cross();
        }
      });
    }
  }
  for (std::size_t i = 0; i < meetings; ++i) {
    for (std::size_t rank = 0; rank < 3; ++rank) {
      CHECK(begins[rank][i] == begins[0][i]);
      CHECK(begins[0][i] >= came[rank][i] + 1'000);
    }
  }
}

}  // namespace penstock::testing
