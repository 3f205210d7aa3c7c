#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <nlohmann/json.hpp>

#include "experiments/show/explanation/explanation.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"
#include "tests/support/draws.hpp"
#include "tests/support/finished_run.hpp"

// What holds of the explanation of any run.

namespace penstock::testing {
namespace {

double tenths(std::uint32_t first, std::uint32_t last) { return from_to(first, last) * 0.1; }

nlohmann::json random_stage() {
  nlohmann::json stage{{"forward_us", tenths(1, 30)},
                       {"backward_input_us", tenths(1, 30)},
                       {"backward_weight_us", tenths(1, 30)}};
  stage["activation_bytes"] = from_to(0, 3) * 1000;
  stage["parameter_bytes"] = from_to(1, 3) * 1000;
  if (from_to(0, 1) == 0) stage["recompute_us"] = tenths(1, 30);
  return stage;
}

/// What an iteration has besides the passes: recomputation, and a tail of transfers and updates.
nlohmann::json random_training(const ScheduleEntry& entry) {
  nlohmann::json sections{{"recompute", {{"early", from_to(0, 1) == 0}}}};
  if (from_to(0, 2) == 0) sections["recompute"]["mode"] = "except_last";
  if (entry.weights != WeightUse::flushed) return sections;  // there is no end at which to sum
  const std::uint32_t data = from_to(1, 3);
  sections["parallel"] = {{"data", data}};
  sections["memory"] = {{"zero", data > 1 ? from_to(0, 3) : 0}};
  if (from_to(0, 1) == 0) sections["overheads"] = {{"optimizer_us", tenths(1, 30)}};
  if (from_to(0, 1) == 0) sections["model"] = {{"tied_embedding_bytes", 2000}};
  return sections;
}

nlohmann::json random_hardware() {
  if (from_to(0, 1) == 0) return {{"transfer_us", tenths(0, 30)}};
  return {{"latency_us", tenths(0, 20)}, {"bandwidth_bytes_per_s", 0.7e9}};
}

/// A rule on uneven stages and slow links, at sizes that the caller chose.
Scenario random_costs(const ScheduleEntry& entry, std::uint32_t ranks, std::uint32_t microbatches) {
  nlohmann::json stages = nlohmann::json::array();
  for (std::uint32_t s = 0; s < ranks * entry.default_chunks / entry.copies; ++s) {
    stages.push_back(random_stage());
  }
  nlohmann::json document{{"model", {{"stages", stages}}},
                          {"hardware", random_hardware()},
                          {"parallel", {{"pipeline", ranks}}},
                          {"schedule", {{"name", entry.name}, {"microbatches", microbatches}}}};
  if (from_to(0, 1) == 0) document["schedule"]["overlap"] = "fused";
  document["overheads"] = {{"launch_us", tenths(0, 1)}};
  if (from_to(0, 1) == 0) document["overheads"]["issue_us"] = tenths(0, 20);
  document["chance"] = {{"jitter", tenths(0, 2)}, {"transfer_jitter", tenths(0, 2)}};
  if (from_to(0, 1) == 0) document.merge_patch(random_training(entry));
  return scenario_from(document, "random.json");
}

RunResult random_run(const ScheduleEntry& entry) {
  const std::uint32_t ranks = from_to(1, 4);
  const std::uint32_t microbatches = from_to(0, 1) == 0 ? from_to(1, 9) : ranks * from_to(1, 3);
  try {
    return run(random_costs(entry, ranks, microbatches));
  } catch (const InputError&) {  // sizes that the rule does not allow; these every rule does
    return run(random_costs(entry, 2 * ranks, 4 * ranks));
  }
}

/// The path leads from 0 to the makespan without a gap, and its shares and waits add up to that;
/// the causes of gaps add up to the gaps, and to the idle time of ranks.
void check_sums(const RunResult& result, const Explanation& explanation) {
  Time on_path = explanation.waits.total(), idle{}, at{};
  for (const PathShare& share : explanation.shares) on_path += share.time;
  RC_ASSERT(on_path == result.report->makespan);
  for (const PathStretch& stretch : explanation.path) {
    RC_ASSERT(stretch.begin == at);
    at = stretch.end;
  }
  RC_ASSERT(at == result.report->makespan);
  for (const IdleGap& gap : explanation.gaps) {
    RC_ASSERT(gap.causes.total() == gap.end - gap.begin);
  }
  for (const RankReport& rank : result.report->ranks) {
    RC_ASSERT(rank.idle_by_cause.total() == rank.idle);
    idle += rank.idle;
  }
  RC_ASSERT(explanation.idle.total() == idle);
}

/// Calls `law(result, explanation)` for random runs of every rule.
template <class Law>
void for_random_runs(Law law) {
  for (const ScheduleEntry* entry : schedule_entries()) {
    const bool holds = rc::check([&] {
      const RunResult result = random_run(*entry);
      RC_LOG() << result.title << '\n';
      law(result, explain(result));
    });
    CHECK_MESSAGE(holds, entry->name);
  }
}

}  // namespace

TEST_CASE("in any run of any rule no rank is busy in a gap, and the longest gap comes first") {
  for_random_runs([](const RunResult& result, const Explanation& explanation) {
    Time longest = result.report->makespan;
    for (const IdleGap& gap : explanation.gaps) {
      RC_ASSERT(gap.end - gap.begin <= longest);
      longest = gap.end - gap.begin;
      for (TaskId task = 0; task < result.plan->tasks(); ++task) {
        if (result.plan->class_of(task).resource != index(gap.rank)) continue;
        RC_ASSERT(result.timeline.end[task] <= gap.begin || result.timeline.begin[task] >= gap.end);
      }
    }
  });
}

TEST_CASE("in any run of any rule path, shares, waits and the causes of gaps add up exactly") {
  for_random_runs([](const RunResult& result, const Explanation& explanation) {
    check_sums(result, explanation);
    for (const PathStretch& stretch : explanation.path) RC_ASSERT(stretch.end > stretch.begin);
    std::vector<IdleCauses> causes(result.plan->ranks);
    for (const IdleGap& gap : explanation.gaps) causes[index(gap.rank)] += gap.causes;
    for (std::size_t r = 0; r < causes.size(); ++r) {
      RC_ASSERT(causes[r].total() == result.report->ranks[r].idle);
    }
  });
}

TEST_CASE("under any conditions path, shares, waits and the causes of gaps add up exactly") {
  CHECK(rc::check([] {
    const auto result = random_run();
    if (result) check_sums(*result, explain(*result));
  }));
}

}  // namespace penstock::testing
