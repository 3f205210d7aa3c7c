#include <doctest/doctest.h>
#include <fmt/format.h>

#include "experiments/measure/measured_runs/measured_run.hpp"
#include "sim/base/error.hpp"

namespace penstock::testing {
namespace {

/// A run whose passes take `ns`, by stage.
struct PassNs {
  Pass pass;
  std::vector<double> ns;
};

MeasuredRun run_with(const char* title, const std::vector<PassNs>& passes) {
  MeasuredRun run{.title = title};
  for (std::uint32_t stage = 0; stage < passes.front().ns.size(); ++stage) {
    for (const PassNs& pass : passes) {
      run.times.push_back({stage, pass.pass, 1, pass.ns[stage], pass.ns[stage], pass.ns[stage]});
    }
  }
  return run;
}

/// "0F 1 0B 2 …" in ns.
std::string times_text(const MergedTimes& merged) {
  std::string text;
  for (const OpTimes& op : merged.times) {
    text += fmt::format("{}{} {:.4g} ", op.model_stage, letters(op.pass), op.median_ns);
  }
  return text;
}

}  // namespace

TEST_CASE("merged times: a pass that the finest run lacks comes from another, split as backwards") {
  const MergedTimes merged = merged_times(
      {run_with("two stages", {{Pass::forward, {5, 5}},
                               {Pass::backward_input, {30, 40}},
                               {Pass::backward_weight, {10, 20}}}),
       run_with("four", {{Pass::forward, {1, 2, 3, 4}}, {Pass::backward, {10, 20, 30, 10}}})});
  CHECK(times_text(merged) ==
        "0F 1 0B 10 0I 10 0W 3.333 1F 2 1B 20 1I 20 1W 6.667 "
        "2F 3 2B 30 2I 30 2W 15 3F 4 3B 10 3I 10 3W 5 ");
  REQUIRE(merged.notes.size() == 2);
  CHECK(merged.notes[0] ==
        "I comes from two stages, split over the 2 layers of a stage as their backwards");
}

TEST_CASE("merged times: of runs that have a pass, the finest gives it") {
  const MergedTimes merged =
      merged_times({run_with("first", {{Pass::forward, {1, 1}}, {Pass::backward, {2, 2}}}),
                    run_with("one stage", {{Pass::forward, {9}}, {Pass::backward_input, {9}}}),
                    run_with("split", {{Pass::forward, {8, 8}}, {Pass::backward_input, {3, 4}}})});
  CHECK(times_text(merged) == "0F 1 0B 2 0I 3 1F 1 1B 2 1I 4 ");
  CHECK(merged.notes == std::vector<std::string>{"I comes from split"});
}

TEST_CASE("merged times: without a whole backward it is said that B is taken as I and W") {
  const MergedTimes merged = merged_times({run_with(
      "zb", {{Pass::forward, {1}}, {Pass::backward_input, {2}}, {Pass::backward_weight, {3}}})});
  CHECK(merged.notes ==
        std::vector<std::string>{"no run has a whole backward: B is taken as I + W"});
}

TEST_CASE("merged times: links that are slow in half of the runs keep their own time") {
  const Link always{Rank{2}, Rank{1}}, once{Rank{0}, Rank{1}};
  std::vector<MeasuredRun> runs;
  for (const double us : {50.0, 70.0, 60.0}) {
    runs.push_back(run_with("one of three", {{Pass::forward, {1}}}));
    runs.back().transfer_us = 10;
    runs.back().slow_links = {{always, us}};
  }
  runs.back().slow_links.push_back({once, 40});
  const MergedTimes merged = merged_times(runs);
  REQUIRE(merged.slow_links.size() == 1);
  CHECK(merged.slow_links.front().link == always);
  CHECK(merged.slow_links.front().us == 60);
  CHECK(merged.transfer_us == 10);
  for (MeasuredRun& run : runs) run.transfer_us = 0;
  CHECK(merged_times(runs).transfer_us == 1);
}

TEST_CASE("merged times: the host and the transfers are those of all runs, not of the first") {
  std::vector<MeasuredRun> runs;
  for (const double us : {9.0, 2.0, 3.0}) {
    runs.push_back(run_with("one of three", {{Pass::forward, {1}}}));
    runs.back().host_us = us;
    runs.back().transfer_us = 10 * us;
  }
  runs.push_back(run_with("on a device", {{Pass::forward, {1}}}));
  const MergedTimes merged = merged_times(runs);
  CHECK(merged.host_us == 3);
  CHECK(merged.transfer_us == 30);
  CHECK(merged.op_us == 0);
  CHECK_FALSE(merged_times({runs.back()}).transfer_us);
}

// A layer takes 10 us and an op 2 us beyond its layers: a stage of two layers takes 22 us, two of
// one 24 us. I of the first stage does nothing, and its W is the whole backward.
TEST_CASE("merged times: stages run apart and together tell what an op takes beyond its layers") {
  MeasuredRun fine = run_with("four", {{Pass::forward, {12e3, 12e3, 12e3, 12e3}},
                                       {Pass::backward_input, {0, 12e3, 12e3, 12e3}},
                                       {Pass::backward_weight, {22e3, 12e3, 12e3, 12e3}}});
  MeasuredRun coarse = run_with("two", {{Pass::forward, {22e3, 22e3}},
                                        {Pass::backward_input, {0, 22e3}},
                                        {Pass::backward_weight, {42e3, 22e3}},
                                        {Pass::backward, {42e3, 42e3}}});
  fine.host_us = coarse.host_us = 1;
  const MergedTimes merged = merged_times({coarse, fine});
  CHECK(merged.op_us == 2);
  CHECK(merged.host_us == 1);
  CHECK(times_text(merged) ==
        "0F 1e+04 0B 1.913e+04 0I 0 0W 2e+04 1F 1e+04 1B 2.087e+04 1I 1e+04 1W 1e+04 "
        "2F 1e+04 2B 2e+04 2I 1e+04 2W 1e+04 3F 1e+04 3B 2e+04 3I 1e+04 3W 1e+04 ");
  fine.host_us = coarse.host_us = 0;  // a device runs them
  CHECK(merged_times({coarse, fine}).op_us == 0);
}

// An op takes 10 us of the host, and a tensor 30 us.
TEST_CASE("merged times: ranks that move more tensors an op tell what a tensor takes of the host") {
  MeasuredRun few = run_with("few", {{Pass::forward, {1}}});
  MeasuredRun many = few;
  few.host_shares = {{.us = 16 * 10 + 16 * 30, .ops = 16, .messages = 16}};
  many.host_shares = {{.us = 32 * 10 + 48 * 30, .ops = 32, .messages = 48}};
  CHECK(host_costs({few, many}).op_us == doctest::Approx(10));
  CHECK(host_costs({few, many}).message_us == doctest::Approx(30));
  CHECK(host_costs({few, few}).op_us == doctest::Approx(40));
  CHECK(host_costs({few, few}).message_us == 0);
  many.host_shares.front().us = 32 * 10;  // more tensors, less time
  CHECK(host_costs({few, many}).op_us == doctest::Approx(25));
  CHECK(host_costs({few, many}).message_us == 0);
  many.host_shares.front().us = 32 * 100;  // all of it, and more
  CHECK(host_costs({few, many}).op_us == 0);
  CHECK(host_costs({}).op_us == 0);
}

TEST_CASE("merged times: runs of which one takes much longer for the same layers are told apart") {
  const MeasuredRun fine =
      run_with("fine", {{Pass::forward, {2e6, 2.16e6}}, {Pass::backward_input, {0, 1e6}}});
  const MeasuredRun coarse =
      run_with("coarse", {{Pass::forward, {2e6}}, {Pass::backward_input, {3e6}}});
  CHECK(merged_times({coarse, fine}).disagreements ==
        std::vector<std::string>{"runs disagree: F of stage 0 takes 2 ms in coarse, and 4.16 ms in "
                                 "fine; are they of one model, microbatch and machine?"});
  CHECK(merged_times({fine, run_with("near", {{Pass::forward, {5e6}}})}).disagreements.empty());
}

TEST_CASE("merged times: runs of one title that disagree are named by their first traces") {
  MeasuredRun slow = run_with("1f1b", {{Pass::forward, {3e6}}});
  MeasuredRun fast = run_with("1f1b", {{Pass::forward, {2e6}}});
  slow.ranks.emplace_back().source = "a/rank0.json";
  fast.ranks.emplace_back().source = "b/rank0.json";
  CHECK(merged_times({slow, fast}).disagreements ==
        std::vector<std::string>{
            "runs disagree: F of stage 0 takes 2 ms in the run of b/rank0.json, and 3 ms in the "
            "run of a/rank0.json; are they of one model, microbatch and machine?"});
}

TEST_CASE("merged times: stages that are no multiple of each other make no profile") {
  CHECK_THROWS_AS(
      merged_times({run_with("three", {{Pass::forward, {1, 1, 1}}}),
                    run_with("two", {{Pass::forward, {1, 1}}, {Pass::backward, {2, 2}}})}),
      InputError);
}

}  // namespace penstock::testing
