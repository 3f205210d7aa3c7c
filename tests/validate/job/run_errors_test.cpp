#include "validate/job/run_errors.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "sim/base/error.hpp"
#include "tests/support/jobs.hpp"

namespace penstock::testing {
namespace {

/// One rank that runs F and B of one microbatch. F is asked to take 1 us, B 2 us.
Job one_rank() {
  const System system = a_stage_each("0F0,0B0\n", {stage_of(1, 2)});
  return job_of(priced(system), {.mean_action_ns = 1'500, .least_work_ns = 0});
}

/// F and B one after the other, with so much between them.
Timeline ran(std::int64_t forward_ns, std::int64_t backward_ns, std::int64_t gap_ns = 0) {
  const Time begin = from_ns(forward_ns + gap_ns);
  return {.begin = {Time{}, begin}, .end = {from_ns(forward_ns), begin + from_ns(backward_ns)}};
}

Measurement measured(std::vector<Timeline> iterations) {
  return {.profile = {from_ns(1000), from_ns(2000)},
          .iterations = std::move(iterations),
          .complete = true};
}

/// A backend whose profiles follow a list, and which counts its runs.
class Listed : public Backend {
 public:
  explicit Listed(std::vector<std::int64_t> forwards_ns) : forwards_ns_(std::move(forwards_ns)) {}

  std::vector<Time> profile() override {
    const std::int64_t forward_ns = forwards_ns_[std::min(profiles_++, forwards_ns_.size() - 1)];
    return {from_ns(forward_ns), Time{}};
  }
  RunOutcome run() override { return ran(++runs_, 1); }
  std::vector<std::string> disturbances() const override {
    const auto found = disturbed_.find(runs_);
    return found == disturbed_.end() ? std::vector<std::string>{} : found->second;
  }
  std::map<std::string, std::string> environment() const override { return {}; }
  /// Says of a run, counted from 1, what disturbed it.
  void disturb(std::int64_t run, std::vector<std::string> reasons) {
    disturbed_[run] = std::move(reasons);
  }

 private:
  std::vector<std::int64_t> forwards_ns_;
  std::map<std::int64_t, std::vector<std::string>> disturbed_;
  std::size_t profiles_ = 0;
  std::int64_t runs_ = 0;
};

}  // namespace

// Profile and run 1 warm up. Run 2 stands between profiles of 1000 and 1100: 10 % apart, clean. Run
// 3 between 1100 and 900 is not; run 4 between 900 and 900 is the second clean one.
TEST_CASE("measurement: an iteration counts where the profiles around it agree") {
  Listed backend({5000, 1000, 1100, 900, 900});
  const Measurement all = measured_by(backend, one_rank(), {.iterations = 2, .steady = 0.1});
  CHECK(all.complete);
  CHECK(all.tried == 3);
  CHECK(all.iterations == std::vector<Timeline>{ran(2, 1), ran(4, 1)});
  CHECK(all.profile == std::vector<Time>{from_ns(950), Time{}});
}

// Run 1 warms up, 2 and 4 are disturbed, before 4 the profile changed too: 3, 5 and 6 are clean.
TEST_CASE("measurement: what a backend says was disturbed does not count, and why is counted") {
  Listed backend({1000, 1000, 1000, 1000, 2000});
  backend.disturb(2, {"preempted"});
  backend.disturb(4, {"canary", "preempted"});
  const Measurement all = measured_by(backend, one_rank(), {.iterations = 3});
  CHECK(all.complete);
  CHECK(all.tried == 5);
  CHECK(all.iterations == std::vector<Timeline>{ran(3, 1), ran(5, 1), ran(6, 1)});
  CHECK(all.disturbed ==
        std::map<std::string, std::uint32_t>{{"canary", 1}, {"preempted", 2}, {"profiles", 1}});
}

// Of ten wanted, with twenty tries, every run but two is disturbed.
TEST_CASE("measurement: fewer clean ones than wanted are enough where that is said") {
  const auto complete = [](std::optional<std::uint32_t> least) {
    Listed backend({1000});
    for (std::int64_t run = 1; run <= 30; ++run) {
      if (run != 10 && run != 20) backend.disturb(run, {"preempted"});
    }
    const Measurement all =
        measured_by(backend, one_rank(), {.iterations = 10, .most_tries = 2, .least = least});
    CHECK(all.tried == 20);
    CHECK(all.iterations.size() == 2);
    return all.complete;
  };
  CHECK(complete(2));
  CHECK_FALSE(complete(3));
  CHECK_FALSE(complete({}));
}

// Nine clean ones are wanted, so that three runs warm up.
TEST_CASE("measurement: the first quarter of what runs does not count") {
  Listed backend({1000});
  const Measurement all = measured_by(backend, one_rank(), {.iterations = 9});
  CHECK(all.tried == 9);
  CHECK(all.iterations.front() == ran(4, 1));
}

// Each profile is twice the one before: no iteration is ever clean.
TEST_CASE("measurement: a machine that never settles ends after so many tries") {
  std::vector<std::int64_t> doubling;
  for (std::int64_t ns = 1; doubling.size() < 20; ns *= 2) doubling.push_back(ns);
  Listed backend(doubling);
  const Measurement all = measured_by(backend, one_rank(), {.iterations = 3, .most_tries = 4});
  CHECK_FALSE(all.complete);
  CHECK(all.tried == 12);
  CHECK(all.iterations.empty());
}

TEST_CASE("job: all times are scaled alike, to a mean action and within bounds for all work") {
  // F takes 1 us, B 2 us: 1.5 us on average.
  CHECK(one_rank().scale == doctest::Approx(1));
  CHECK(one_rank().priced.costs.duration == std::vector<Time>{from_ns(1000), from_ns(2000)});
  const System system = a_stage_each("0F0,0B0\n", {stage_of(1, 2)});
  const auto scale = [&](const JobLength& length) { return job_of(priced(system), length).scale; };
  CHECK(scale({.mean_action_ns = 150'000, .least_work_ns = 0}) == doctest::Approx(100));
  CHECK(scale({.mean_action_ns = 1'500, .least_work_ns = 30'000}) == doctest::Approx(10));
  CHECK(scale({.mean_action_ns = 1'500'000, .most_work_ns = 1'500'000}) == doctest::Approx(500));
}

TEST_CASE("job: what leaves nothing to measure is refused with the reason") {
  System system = a_stage_each("0F0,0B0\n1F0,1B0\n", {stage_of(0, 0), stage_of(0, 0)});
  CHECK_THROWS_WITH_AS(job_of(priced(system)), "no action takes any time: nothing to measure",
                       UsageError);
  system.stages = {stage_of(1, 1), stage_of(1, 1)};
  CHECK_THROWS_WITH_AS(job_of(priced(system), {.most_work_ns = 3'999}),
                       "4 actions are too many to measure; at most 3", UsageError);
  system.hardware = delay(1e11);
  CHECK_THROWS_WITH_AS(job_of(priced(system)),
                       "transfers take too much longer than actions to measure both", UsageError);
}

// The rank is never idle, so that a run takes what its actions took.
TEST_CASE("run errors: the structure is right where actions follow each other as simulated") {
  const RunErrors errors = run_errors(one_rank(), measured({ran(900, 2100), ran(1500, 2500)}));
  CHECK(errors.structure == 0);
}

// 300 ns between F and B that no rule explains: simulated with its own lengths, 3000 of 3300.
TEST_CASE("run errors: a gap that no rule explains is an error of the structure") {
  const Job job = one_rank();
  const Measurement all = measured({ran(1000, 2000), ran(1000, 2000, 300), ran(1000, 2000)});
  const RunErrors errors = run_errors(job, all);
  CHECK(errors.structure == doctest::Approx(300.0 / 3300));
  CHECK(judge(errors, all) == Verdict::fail);
}

// Makespans 3200, 3000, 3200, 3000: the median is 3100, those of the first and of the second half
// are 200 apart. Simulated with the profile: 3000.
TEST_CASE("run errors: profile and retest are shares of the median makespan") {
  const RunErrors errors = run_errors(
      one_rank(), measured({ran(1200, 2000), ran(1000, 2000), ran(1200, 2000), ran(1000, 2000)}));
  CHECK(errors.simulated == from_us(3));
  CHECK(errors.measured == from_us(3.1));
  CHECK(errors.profile == doctest::Approx(100.0 / 3100));
  CHECK(errors.retest == doctest::Approx(200.0 / 3100));
}

// Measured, B starts 1000 later than simulated, of 4000; F starts on time. Of the two starts the
// median is half of that. The rank idles for 1000 of 4000 which it does not when simulated.
TEST_CASE("run errors: starts and idle shares are compared op by op and rank by rank") {
  const RunErrors errors = run_errors(one_rank(), measured({ran(1000, 2000, 1000)}));
  CHECK(errors.start == doctest::Approx(0.125));
  REQUIRE(errors.bubble.size() == 1);
  CHECK(errors.bubble[0] == doctest::Approx(0.25));
}

TEST_CASE("verdict: the profile may be off by the target, or by twice the retest") {
  const Measurement complete = measured({ran(1000, 2000)});
  const auto verdict = [&](double structure, double profile, double retest) {
    const RunErrors errors{.structure = structure, .profile = profile, .retest = retest};
    return judge(errors, complete, {.structure = 0.005, .profile = 0.05});
  };
  CHECK(verdict(0, 0.05, 0) == Verdict::pass);
  CHECK(verdict(0, 0.06, 0.02) == Verdict::fail);
  CHECK(verdict(0, 0.06, 0.03) == Verdict::pass);
  CHECK(verdict(0, 0.11, 0.05) == Verdict::fail);
  CHECK(verdict(0, 0, 0.051) == Verdict::inconclusive);
  CHECK(verdict(0, 0.10, 0.051) == Verdict::inconclusive);
  CHECK(verdict(0, 0.11, 0.051) == Verdict::fail);
  CHECK(verdict(0.006, 0, 0.051) == Verdict::fail);

  Measurement torn = complete;
  torn.complete = false;
  CHECK(judge({}, torn) == Verdict::inconclusive);
}

// Of structure errors 0, 1 % and 0 the most is above the target, the median is not.
TEST_CASE("verdict: in real time the usual structure is judged, of enough that agree") {
  const Targets real_time{.structure = 0.005, .profile = 0.05, .wall_clock = true};
  RunErrors errors{.structure = 0.01, .usual_structure = 0};
  Measurement all = measured({ran(1000, 2000)});
  CHECK(judged_structure(errors, {}) == 0.01);
  CHECK(judged_structure(errors, real_time) == 0);
  CHECK(judge(errors, all) == Verdict::fail);
  CHECK(judge(errors, all, real_time) == Verdict::pass);
  errors.usual_structure = 0.006;
  CHECK(judge(errors, all, real_time) == Verdict::fail);
  errors.retest = 0.051;
  CHECK(judge(errors, all, real_time) == Verdict::inconclusive);
  errors.retest = 0;
  all.complete = false;
  CHECK(judge(errors, all, real_time) == Verdict::inconclusive);
}

// Gaps of 0, 0 and 300 of 3300 ns that no rule explains. The makespans are 3000, 3000 and 3300.
TEST_CASE("run errors: the usual structure error is the median, and so is the spread") {
  const RunErrors errors =
      run_errors(one_rank(), measured({ran(1000, 2000), ran(1000, 2000, 300), ran(1000, 2000)}));
  CHECK(errors.structure == doctest::Approx(300.0 / 3300));
  CHECK(errors.usual_structure == 0);
  CHECK(errors.spread == 0);
  const RunErrors apart =
      run_errors(one_rank(), measured({ran(1000, 1900), ran(1000, 2000), ran(1000, 2300)}));
  CHECK(apart.spread == doctest::Approx(100.0 / 3000));
}

}  // namespace penstock::testing
