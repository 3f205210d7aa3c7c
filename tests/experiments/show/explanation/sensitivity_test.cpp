#include "experiments/show/explanation/sensitivity.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/engines/events.hpp"
#include "tests/support/finished_run.hpp"

namespace penstock::testing {
namespace {

constexpr std::size_t all = 10000;

std::vector<Sensitivity> sensitivities_of(const char* scenario) {
  return sensitivities(run(parse_scenario(scenario, "s.json")), all);
}

/// "path 8, predicted 0.08, gain 0.08": what is said of a change; "" when nothing is.
std::string said_of(const std::vector<Sensitivity>& sensitivities, std::string_view what) {
  for (const Sensitivity& one : sensitivities) {
    if (one.what != what) continue;
    return fmt::format("path {}, predicted {}, gain {}", text_us(one.on_path),
                       text_us(one.predicted), one.gain ? text_us(*one.gain) : "none");
  }
  return "";
}

/// Two stages of which the second is the longer one, on two ranks and a link of 1e9 bytes/s.
constexpr const char* one_microbatch = R"({
  "model":    { "stages": [ {"forward_us": 1, "backward_us": 2, "activation_bytes": 4000},
                            {"forward_us": 3, "backward_us": 5} ] },
  "hardware": { "latency_us": 1, "bandwidth_bytes_per_s": 1e9 },
  "schedule": { "name": "1f1b", "microbatches": 1 } })";

/// Ranks 0 and 2 send 4,000 bytes to 1 and 3 over one link at once: 1 us, 8 us, 1 us.
constexpr const char* shared_link = R"({
  "model":     { "stages": [ {"forward_us": 1, "activation_bytes": 4000}, {"forward_us": 1} ] },
  "hardware":  { "name": "custom", "devices": 4,
                 "links":  [ {"name": "spine", "bandwidth_bytes_per_s": 1e9} ],
                 "routes": { "0>1": ["spine"], "2>3": ["spine"] } },
  "partition": { "stages": [[0], [1]], "ranks": [[0, 2], [1, 3]] },
  "parallel":  { "pipeline": 4 },
  "schedule":  { "name": "forward-only", "microbatches": 2 } })";

/// How much rounding to picoseconds can make of 1 % of the tasks of a path.
Time rounding(const RunResult& result) {
  return Time{static_cast<std::int64_t>(result.report->critical_path.size()) + 1};
}

/// The makespan of a run of its own in which a change is made; nothing when it comes to a halt.
std::optional<Time> makespan_of_own_run(const RunResult& result, const Changes& changes,
                                        const Change& change) {
  const Plan& plan = *result.plan;
  Costs costs = result.costs;
  Conditions conditions = result.conditions;
  const auto shorten = [](Time& time, double factor) {
    if (factor == 1) return;
    time = Time{std::llrint(static_cast<double>(time.picoseconds) * factor)};
  };
  const auto latency_factor = [&](std::uint32_t work) {
    return change.kind == Change::Kind::link ? changes.factor(change, work) : 1;
  };
  for (std::uint32_t work = 0; work < plan.classes.size(); ++work) {
    shorten(costs.duration[work], changes.factor(change, work));
    shorten(costs.latency[work], latency_factor(work));
  }
  for (TaskId task = 0; task < costs.task_duration.size(); ++task) {
    shorten(costs.task_duration[task], changes.factor(change, plan.work[task]));
    shorten(costs.task_latency[task], latency_factor(plan.work[task]));
  }
  if (change.kind == Change::Kind::network_link) {
    conditions.network.links[change.number].bandwidth_bytes_per_s /= 0.99;
  }
  const RunOutcome outcome = simulate({plan, std::move(costs), std::move(conditions)});
  if (std::holds_alternative<Standstill>(outcome)) return std::nullopt;
  return makespan(plan, std::get<Timeline>(outcome));
}

/// Whether each change, one after the other, gives the makespan of a run of its own.
bool all_as_in_own_runs(const RunResult& result) {
  Changes changes(result);
  std::set<Change> known;
  for (std::uint32_t work = 0; work < result.plan->classes.size(); ++work) {
    for (const Change& change : changes.of_class(work)) known.insert(change);
  }
  return std::all_of(known.begin(), known.end(), [&](const Change& change) {
    RC_LOG() << changes.name(change) << '\n';
    return changes.makespan_with(change) == makespan_of_own_run(result, changes, change);
  });
}

}  // namespace

TEST_CASE("of a single microbatch everything is on the path, and gains what was predicted") {
  // 1 + (4 + 1) + 3 + 5 + (4 + 1) + 2 = 21 us.
  const auto said = sensitivities_of(one_microbatch);
  CHECK(said_of(said, "stage 0") == "path 3, predicted 0.03, gain 0.03");
  CHECK(said_of(said, "0F") == "path 1, predicted 0.01, gain 0.01");
  CHECK(said_of(said, "0B") == "path 2, predicted 0.02, gain 0.02");
  CHECK(said_of(said, "stage 1") == "path 8, predicted 0.08, gain 0.08");
  CHECK(said_of(said, "link 0>1") == "path 5, predicted 0.05, gain 0.05");
  CHECK(said_of(said, "link 1>0") == "path 5, predicted 0.05, gain 0.05");
  CHECK(said.size() == 8);
}

TEST_CASE("the largest predictions come first, and the best link whatever it promises") {
  const RunResult result = run(parse_scenario(one_microbatch, "s.json"));
  std::string names;
  for (const Sensitivity& one : sensitivities(result, 2)) names += one.what + ", ";
  CHECK(names == "stage 1, 1B, link 0>1, ");
}

TEST_CASE("a stage that is not on the critical path gives nothing") {
  // Two chains side by side, f = 1: one runs two microbatches in 3 us, the other one in 2.
  const RunResult result =
      finished({Placement::given(4, {{Rank{0}}, {Rank{1}}, {Rank{2}}, {Rank{3}}},
                                 {{Stage{0}, Stage{1}}, {Stage{2}, Stage{3}}}),
                order_of("0F0,0F1\n1F0,1F1\n2F2\n3F2"),
                {stage_of(1, 0), stage_of(1, 0)}});
  const auto said = sensitivities(result, all);
  CHECK(said_of(said, "stage 1") == "path 2, predicted 0.02, gain 0.01");
  CHECK(said_of(said, "stage 2") == "path 0, predicted 0, gain 0");
  CHECK(said_of(said, "stage 3") == "path 0, predicted 0, gain 0");
}

TEST_CASE("a physical link that two pairs share gains what both lose to each other") {
  const auto said = sensitivities_of(shared_link);
  CHECK(said_of(said, "network link spine") == "path 8, predicted 0.08, gain 0.08");
  // 1 % fewer bytes between one pair leave the link to the other earlier, by half as much.
  CHECK(said_of(said, "link 0>1") == "path 8, predicted 0.08, gain 0.04");
}

TEST_CASE("when another path is as long, less is gained than was predicted") {
  // 0F0 0-4, then rank 1 runs for 12 us while rank 0 runs the other two. Were 1F shorter by 0.04,
  // it would wait for 0F1 and 0F2: 0F2 ends at 12, and 1F2 runs until 15.96.
  const auto said = sensitivities_of(R"({
    "model":    { "stages": [ {"forward_us": 4}, {"forward_us": 4} ] },
    "schedule": { "name": "forward-only", "microbatches": 3 } })");
  CHECK(said_of(said, "stage 1") == "path 12, predicted 0.12, gain 0.04");
  CHECK(said_of(said, "stage 0") == "path 4, predicted 0.04, gain 0.04");
}

TEST_CASE("where data replicas differ, a change shortens the slower one too, and the wait for it") {
  // Replica 1 takes 40, then 4 * (120 + 240) on its slow rank, then 80 until the reduction. In
  // replica 0, which is shown, that rank has 4 * (40 + 80) on the path, and waits for the rest.
  const auto said = sensitivities_of(R"({
    "model":    { "stages": [ {"forward_us": 40, "backward_us": 80, "parameter_bytes": 1},
                              {"forward_us": 40, "backward_us": 80, "parameter_bytes": 1} ] },
    "hardware": { "name": "ideal", "devices": 4 },
    "parallel": { "pipeline": 2, "data": 2 },
    "schedule": { "name": "1f1b", "microbatches": 4 },
    "chance":   { "stragglers": [ {"rank": 1, "factor": 3, "replica": 1} ] } })");
  CHECK(said_of(said, "stage 1") == "path 480, predicted 4.8, gain 14.4");
  CHECK(said_of(said, "stage 0") == "path 120, predicted 1.2, gain 1.2");
}

TEST_CASE("a fused cell gets shorter with its longer part, until that is the other one") {
  // F0, then the cell of F1 and B0, then B1, on one rank; B takes 5 us and so does the cell.
  const auto said = [](double forward_us) {
    return sensitivities(finished({Placement::loop(1, 1),
                                   order_of("0F0,(0F1;0B0)OVERLAP_F_B,0B1"),
                                   {stage_of(forward_us, 5)},
                                   {},
                                   Overlap::fused}),
                         all);
  };
  CHECK(said_of(said(2), "0F") == "path 7, predicted 0.02, gain 0.02");
  CHECK(said_of(said(2), "0B") == "path 10, predicted 0.1, gain 0.1");
  CHECK(said_of(said(2), "stage 0") == "path 12, predicted 0.12, gain 0.12");
  // With F of 4.98 us the cell loses 0.02 of the 0.05 that B does.
  CHECK(said_of(said(4.98), "0B") == "path 10, predicted 0.07, gain 0.07");
}

TEST_CASE("what is behind the last wait to be launched can gain, what is in front of it not") {
  // One rank, F of 1 us and B of 2, issued every 4 us: F 4-5, B 8-10.
  const auto said = sensitivities_of(R"({
    "model":     { "stages": [ {"forward_us": 1, "backward_us": 2} ] },
    "schedule":  { "name": "1f1b", "microbatches": 1 },
    "overheads": { "issue_us": 4 } })");
  CHECK(said_of(said, "0F") == "path 1, predicted 0, gain 0");
  CHECK(said_of(said, "0B") == "path 2, predicted 0.02, gain 0.02");
}

TEST_CASE("where only inputs and resources hold tasks back, a prediction is never too small") {
  CHECK(rc::check([] {
    const RunResult result = random_relaxed_run();
    for (const Sensitivity& one : sensitivities(result, all)) {
      RC_LOG() << one.what << '\n';
      RC_ASSERT(one.gain.has_value());
      RC_ASSERT(*one.gain >= Time{});
      RC_ASSERT(*one.gain <= one.predicted + rounding(result));
      RC_ASSERT(one.predicted <= one.on_path);
    }
  }));
}

TEST_CASE("a change made in the finished run gives the makespan of a run of its own") {
  CHECK(rc::check([] { RC_ASSERT(all_as_in_own_runs(random_relaxed_run())); }));
  CHECK(rc::check([] {
    const auto result = random_run();
    if (result) RC_ASSERT(all_as_in_own_runs(*result));
  }));
}

TEST_CASE("in any run a change is predicted to gain 1 % of its time on the path at most") {
  CHECK(rc::check([] {
    const auto result = random_run();
    if (!result) return;
    for (const Sensitivity& one : sensitivities(*result, all)) {
      RC_LOG() << one.what << '\n';
      RC_ASSERT(one.on_path <= result->report->makespan);
      RC_ASSERT(to_us(one.predicted) <= 0.01 * to_us(one.on_path) + 1e-6);
    }
  }));
}

}  // namespace penstock::testing
