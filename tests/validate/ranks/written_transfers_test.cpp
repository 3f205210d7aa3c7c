#include "validate/ranks/written_transfers.hpp"

#include <doctest/doctest.h>

#include <thread>

#include "experiments/input/formats/torch_csv.hpp"
#include "sim/base/named.hpp"
#include "tests/support/jobs.hpp"
#include "validate/backends/registry.hpp"

namespace penstock::testing {
namespace {

/// Two microbatches there and back, each RECV right before what reads it. A tensor takes 4 us.
System late_receives() {
  constexpr auto csv =
      "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
      "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n";
  System system = two_stages(csv);
  for (Layer& stage : system.stages) stage.activation_bytes = 4;
  system.hardware = link(0, 1e6);
  system.extras.communication = {.streams = CommStreams::direction,
                                 .rows = read_torch_csv(csv).comms};
  return system;
}

/// Those with threads of which each rank has one, as far as this machine has cores.
std::vector<const BackendEntry*> backends_for(const PricedPlan& plan) {
  std::vector<const BackendEntry*> all;
  for (const char* name : {"cpu_logical", "cpu_timed", "cpu_realtime"}) {
    const BackendEntry* entry = find_named(backend_entries(), name);
    const auto obstacle = entry->obstacle(plan);
    if (!obstacle) all.push_back(entry);
    if (obstacle) CHECK(obstacle->of_machine);
  }
  return all;
}

}  // namespace

// Rank 0 has made the second tensor long before rank 1 comes to its RECV, behind 1B0.
TEST_CASE("written communication on threads: a tensor moves once its RECV was issued") {
  const Job job = job_of(late_receives());
  const Plan& plan = job.priced.plan;
  const auto all = backends_for(job.priced);
  CHECK(all.size() >= 2);
  for (const BackendEntry* entry : all) {
    CAPTURE(entry->name);
    const auto backend = entry->make(job);
    for (int run = 0; run < 2; ++run) {
      const Timeline ran = timeline_of(backend->run());
      const TaskId sent = task_of(plan, "0SEND_F1");
      CHECK(ran.begin[sent] >= ran.end[task_of(plan, "1B0")]);
      CHECK(ran.end[sent] == ran.begin[sent] + job.priced.costs.duration_of(plan, sent) +
                                 job.priced.costs.latency_of(plan, sent));
      CHECK(ran.begin[task_of(plan, "1F1")] >= ran.end[sent]);
    }
  }
}

TEST_CASE("written communication on threads: who waits for ever is a deadlock with all who wait") {
  Job job = job_of(late_receives());
  Plan& plan = job.priced.plan;
  plan.input[task_of(plan, "0SEND_F1")] = task_of(plan, "1F1");
  const Standstill halt = halt_of(job);
  CHECK(halt.kind == "deadlock");
  CHECK(halt.text ==
        "deadlock: 0B1 of rank 0 waits for 1SEND_B1; 1F1 of rank 1 waits for 0SEND_F1");
}

TEST_CASE("written communication on threads: an action must wait for the tensor that it reads") {
  Job job = job_of(late_receives());
  Plan& plan = job.priced.plan;
  plan.input[task_of(plan, "1F1")] = task_of(plan, "0SEND_F0");
  const auto obstacle = cpu_logical().obstacle(job.priced);
  REQUIRE(obstacle);
  CHECK(obstacle->text == "no action that waits for 0SEND_F1 reads it");
}

TEST_CASE("written communication on threads: an end of all waiting reaches a rank that waits") {
  const PricedPlan plan = priced(late_receives());
  for (const auto waits : {WrittenTransfers::Waits::asleep, WrittenTransfers::Waits::spinning}) {
    WrittenTransfers transfers(plan, waits);
    transfers.begin();
    const std::vector<TaskId> awaited{task_of(plan.plan, "0SEND_F0")};
    std::optional<Time> there = from_us(1);
    std::jthread rank([&] { there = transfers.await(1, awaited, {}); });
    transfers.halt();
    rank.join();
    CHECK_FALSE(there);
  }
}

}  // namespace penstock::testing
