#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "experiments/measure/causes/causes.hpp"
#include "experiments/measure/measured_runs/measured_run.hpp"
#include "experiments/run/run.hpp"
#include "tests/support/traced_runs.hpp"

// Traces whose hosts marked what they sent and received, made of a simulated run as in
// measured_run_test.cpp.

namespace penstock::testing {
namespace {

// Four ranks; each RECV where PyTorch's runtime has it. The link from 1 to 2 is slow.
std::string four_stages(const std::string& chance) {
  return R"({"penstock": 1, "model": {"stages": [
    {"forward_us": 3, "backward_us": 6}, {"forward_us": 3, "backward_us": 6},
    {"forward_us": 3, "backward_us": 6}, {"forward_us": 3, "backward_us": 6}]},
    "hardware": {"name": "ideal", "devices": 4, "transfer_us": 2}, "schedule": {"name": "1f1b",
    "microbatches": 6, "communication": "written", "streams": "message"})" +
         chance + "}";
}
const std::string slow_link_setting =
    R"(, "chance": {"slow_links": [{"from": 1, "to": 2, "factor": 4}]})";

KinetoStyle on_the_host(const RunResult& made, const std::string& backend) {
  return {.launches = false,
          .kernels = false,
          .backend = backend,
          .comms = made.layout.communication.rows};
}

}  // namespace

TEST_CASE("traces: where hosts marked SENDs and RECVs, tensors move once both are there") {
  const RunResult made = run_of(four_stages(slow_link_setting));
  Traces traces({made, made}, on_the_host(made, "gloo"));
  const MeasuredRun run = traces.read();
  const Plan& plan = run.job.priced.plan;
  REQUIRE(plan.written);
  std::size_t transfers = 0;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    CAPTURE(task_text(plan, task));
    REQUIRE(task_text(plan, task) == task_text(*made.plan, task));
    CHECK(run.timeline.begin[task] == made.timeline.begin[task]);
    CHECK(run.timeline.end[task] == made.timeline.end[task]);
    transfers += plan.is_link(plan.class_of(task).resource) ? 1 : 0;
  }
  CHECK(transfers == 6 * 6);
  CHECK(run.measured.iterations.size() == 2);
  REQUIRE(run.errors);
  CHECK(run.errors->structure == 0);
  CHECK(run.errors->profile == 0);
}

TEST_CASE("traces: a slow link costs what it does where RECVs stand late") {
  const RunResult made = run_of(four_stages(slow_link_setting));
  Traces traces({made}, on_the_host(made, "gloo"));
  const MeasuredRun run = traces.read();
  const StepCauses causes = causes_of(run.job.priced.plan, run.timeline, nullptr, {});
  const Time without = run_of(four_stages("")).timeline.end.back();
  REQUIRE(causes.causes.size() == 1);
  CHECK(causes.causes.front().name == "slow link 1>2");
  CHECK(causes.causes.front().cost == makespan(*made.plan, made.timeline) - without);
  CHECK(causes.unexplained == Time{});
}

TEST_CASE("traces: without gloo, tensors move once they are there") {
  const RunResult made = run_of(four_stages(slow_link_setting));
  const MeasuredRun run = Traces({made}, on_the_host(made, "nccl")).read();
  CHECK_FALSE(run.job.priced.plan.written);
  CHECK(run.notes.empty());
}

TEST_CASE(
    "traces: SENDs and RECVs that cannot have run as marked count for nothing, and a note says "
    "which") {
  const RunResult made = run_of(four_stages(slow_link_setting));
  const CommCell first = made.layout.communication.rows[2].front();
  REQUIRE(text(first) == "2RECV_F0");
  using Row = std::vector<CommCell>;
  const auto with = [&](const std::function<void(Row&)>& change) {
    KinetoStyle style = on_the_host(made, "gloo");
    change(style.comms[2]);
    const MeasuredRun run = Traces({made}, style).read();
    CHECK_FALSE(run.job.priced.plan.written);
    return run.notes.empty() ? "" : run.notes.front();
  };
  const auto cell = [&](Comm comm, std::uint32_t stage, std::uint32_t microbatch) {
    return [=, &first](Row& row) {
      CommCell other = first;
      other.comm = comm, other.stage = Stage{stage}, other.microbatch = Microbatch{microbatch};
      row.insert(row.begin(), other);
    };
  };
  const std::string head =
      "tensors count as under way once they are made, since the SENDs and RECVs of step 3 cannot "
      "have run as marked: rank ";
  CHECK(with([](Row& row) { row.erase(row.begin()); }) ==
        head + "1: 1SEND_F0 has no 2RECV_F0 on rank 2");
  for (const auto& change : {cell(Comm::receive_forward, 2, 0), cell(Comm::receive_forward, 1, 0),
                             cell(Comm::receive_forward, 2, 99), cell(Comm::send_forward, 2, 0),
                             cell(Comm::receive_forward, 77, 0)}) {
    const std::string note = with(change);
    CAPTURE(note);
    CHECK(note.starts_with(head));
    CHECK(note.size() > head.size());
  }
}

TEST_CASE("traces: a step that communicated in another order is left out") {
  const RunResult made = run_of(four_stages(slow_link_setting));
  KinetoStyle style = on_the_host(made, "gloo");
  style.comms_of_step[4] = style.comms;
  std::vector<CommCell>& row = style.comms_of_step[4][1];
  const auto together = [](const CommCell& a, const CommCell& b) {
    return is_receive(a.comm) && is_receive(b.comm) && a.before == b.before;
  };
  const auto first = std::adjacent_find(row.begin(), row.end(), together);
  REQUIRE(first != row.end());
  std::iter_swap(first, first + 1);
  const MeasuredRun run = Traces({made, made, made}, style).read();
  CHECK(run.numbers == std::vector<std::uint32_t>{3, 5});
  REQUIRE(run.left_out.size() == 1);
  CHECK(run.left_out.front() == "step 4: its SENDs and RECVs were issued in another order");
}

}  // namespace penstock::testing
