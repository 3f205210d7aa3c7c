#include "sim/costs/chance.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "tests/support/refusal.hpp"
#include "tests/support/system.hpp"

namespace penstock::testing {
namespace {

/// One rank runs so many forwards of 1 ms: their drawn times are numbers of one distribution.
System forwards(std::uint32_t count) {
  Schedule schedule(1);
  for (Microbatch m : Numbers<Microbatch>(count)) {
    schedule.on(Rank{0}).push_back({Pass::forward, Stage{0}, m});
  }
  return {Placement::loop(1, 1), std::move(schedule), {stage_of(1000, 0)}};
}

/// How many times as long each task takes as its class says.
std::vector<double> factors(const System& system, const Chance& chance, std::uint32_t number = 0) {
  const Plan plan = lowered(system);
  const Costs costs = priced(system, plan);
  const Costs drawn = draw(plan, costs, chance, number);
  std::vector<double> all;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    all.push_back(to_us(drawn.duration_of(plan, task)) / to_us(costs.duration_of(plan, task)));
  }
  return all;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The mean of a power of the distances from the mean.
double moment(const std::vector<double>& values, int power) {
  const double middle = mean(values);
  double sum = 0;
  for (const double value : values) sum += std::pow(value - middle, power);
  return sum / static_cast<double>(values.size());
}

/// The drawn durations by the text of their tasks.
std::map<std::string, Time> drawn_by_text(const System& system, const Chance& chance) {
  const Plan plan = lowered(system);
  const Costs drawn = draw(plan, priced(system, plan), chance, 3);
  std::map<std::string, Time> all;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    all[task_text(plan, task)] = drawn.duration_of(plan, task);
  }
  return all;
}

/// Two ranks of 1 us forwards and backwards over a link of 1 us and a latency of 2.
System two_ranks(const char* csv) {
  System system = a_stage_each(csv, {stage_of(1, 1), stage_of(1, 1)}, link(2, 1e9));
  for (Layer& stage : system.stages) stage.activation_bytes = 1000;
  return system;
}
const char* const gpipe = "0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1";
const char* const one_f_one_b = "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1";

Outcome drawn_run(const System& system, const Chance& chance) {
  PricedPlan all = priced(system);
  all.costs = draw(all.plan, all.costs, chance, 0);
  return simulated(all);
}

}  // namespace

TEST_CASE("jitter is lognormal with mean 1 and the stated deviation of the logarithm") {
  // Of n = 100,000 numbers the mean is off by sigma / sqrt(n), the variance by a share of
  // sqrt(2 / n), skewness and excess by sqrt(6 / n) and sqrt(24 / n); four times that is allowed.
  constexpr std::uint32_t n = 100'000;
  for (const double sigma : {0.05, 0.5}) {
    CAPTURE(sigma);
    const std::vector<double> drawn = factors(forwards(n), {.seed = 7, .jitter = sigma});
    const double deviation = std::sqrt(std::exp(sigma * sigma) - 1);
    CHECK(std::abs(mean(drawn) - 1) < 4 * deviation / std::sqrt(n));
    std::vector<double> logs;
    for (const double factor : drawn) logs.push_back(std::log(factor));
    const double variance = moment(logs, 2);
    CHECK(std::abs(mean(logs) + sigma * sigma / 2) < 4 * sigma / std::sqrt(n));
    CHECK(std::abs(variance / (sigma * sigma) - 1) < 4 * std::sqrt(2.0 / n));
    CHECK(std::abs(moment(logs, 3) / std::pow(variance, 1.5)) < 4 * std::sqrt(6.0 / n));
    CHECK(std::abs(moment(logs, 4) / (variance * variance) - 3) < 4 * std::sqrt(24.0 / n));
  }
}

TEST_CASE("samples are drawn equally often") {
  // Of 90,000 draws of three factors each comes 30,000 times, give or take sqrt(n 1/3 2/3) = 141.
  std::map<double, int> count;
  for (const double factor : factors(forwards(90'000), {.samples = {0.5, 1, 2}})) ++count[factor];
  REQUIRE(count.size() == 3);
  for (const auto& [factor, times] : count) {
    CAPTURE(factor);
    CHECK(std::abs(times - 30'000) < 4 * 141);
  }
}

TEST_CASE("neighbouring tasks, draws and seeds have nothing to do with each other") {
  // The correlation of n = 10,000 independent pairs is off 0 by 1 / sqrt(n) = 0.01.
  const auto correlation = [](const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    const std::size_t n = std::min(a.size(), b.size());
    for (std::size_t i = 0; i < n; ++i) sum += (a[i] - mean(a)) * (b[i] - mean(b));
    return sum / static_cast<double>(n) / std::sqrt(moment(a, 2) * moment(b, 2));
  };
  const System system = forwards(10'000);
  const std::vector<double> drawn = factors(system, {.seed = 1, .jitter = 0.2}, 0);
  CHECK(std::abs(correlation(drawn, {drawn.begin() + 1, drawn.end()})) < 0.04);
  CHECK(std::abs(correlation(drawn, factors(system, {.seed = 1, .jitter = 0.2}, 1))) < 0.04);
  CHECK(std::abs(correlation(drawn, factors(system, {.seed = 2, .jitter = 0.2}, 0))) < 0.04);
  // A seed beyond 32 bits is not cut off.
  CHECK(drawn != factors(system, {.seed = 1 + (std::uint64_t{1} << 32), .jitter = 0.2}, 0));
  CHECK(drawn == factors(system, {.seed = 1, .jitter = 0.2}, 0));
}

TEST_CASE("draws are the same on every machine, to the picosecond") {
  // A program of its own, with Python's integers and statistics.NormalDist, gives these numbers:
  // counters (stage 0, rank 0, microbatch, draw 0 and pass 0), key (1, 0), e^(0.1 z - 0.005) ms.
  const Plan plan = lowered(forwards(3));
  const Costs drawn = draw(plan, priced(forwards(3), plan), {.seed = 1, .jitter = 0.1}, 0);
  CHECK(drawn.task_duration[0].picoseconds == 1'125'008'691);
  CHECK(drawn.task_duration[1].picoseconds == 821'220'899);
  CHECK(drawn.task_duration[2].picoseconds == 1'133'107'453);
}

TEST_CASE("a task draws the same wherever it stands in the order") {
  const Chance chance{.seed = 5, .jitter = 0.3, .transfer_jitter = 0.2};
  const auto drawn = drawn_by_text(two_ranks(gpipe), chance);
  CHECK(drawn == drawn_by_text(two_ranks(one_f_one_b), chance));
  // 1B1 comes last in both, but other tasks have other numbers.
  CHECK(task_of(lowered(two_ranks(gpipe)), "1B0") !=
        task_of(lowered(two_ranks(one_f_one_b)), "1B0"));
  std::map<Time, std::string> different;
  for (const auto& [task, time] : drawn) different[time] = task;
  CHECK(different.size() == drawn.size());
}

TEST_CASE("what chance does not name stays as it was priced") {
  const System system = two_ranks(one_f_one_b);
  const Plan plan = lowered(system);
  const Costs costs = priced(system, plan);
  CHECK(draw(plan, costs, {.seed = 9}, 4).task_duration.empty());
  const Costs jittered = draw(plan, costs, {.jitter = 0.3}, 0);
  const Costs on_links = draw(plan, costs, {.transfer_jitter = 0.3}, 0);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const bool transfer = is_transfer(plan.class_of(task).pass);
    const Time stated = costs.duration_of(plan, task);
    CHECK((jittered.duration_of(plan, task) == stated) == transfer);
    CHECK((on_links.duration_of(plan, task) == stated) == !transfer);
    CHECK((on_links.latency_of(plan, task) == costs.latency_of(plan, task)) == !transfer);
  }
}

TEST_CASE("a straggler is slow for the microbatches it is said to be") {
  // Rank 1 takes 3 us instead of 1 for microbatch 1 alone.
  //   rank 0: F0 0-1, F1 1-2; rank 1: F0 4-5, B0 5-6, F1 6-9, B1 9-12; B1 of rank 0 at 15
  const Outcome outcome = drawn_run(two_ranks(one_f_one_b),
                                    {.stragglers = {{Rank{1}, 3, Microbatch{1}, Microbatch{2}}}});
  check_spans(outcome, {"0F1 1-2", "1B0 5-6", "1F1 6-9", "1B1 9-12", "0B1 15-16"});
  CHECK(to_us(outcome.report.ranks[1].busy) == 8);
}

TEST_CASE("a slow link occupies longer and arrives later, and its factors multiply") {
  // 0>1 takes 2 * 1.5 = 3 times as long: it holds 3 us and arrives 6 later. 1>0 stays 1 and 2.
  const Chance chance{.slow_links = {{Rank{0}, Rank{1}, 2}, {Rank{0}, Rank{1}, 1.5}}};
  const Outcome outcome = drawn_run(two_ranks(one_f_one_b), chance);
  check_spans(outcome, {"0SEND_F0 1-10", "0SEND_F1 4-13", "1SEND_B0 12-15"});
  CHECK(to_us(outcome.report.links[0].busy) == 6);
  CHECK(to_us(outcome.report.links[1].busy) == 2);
}

TEST_CASE("a fused overlap cell draws once") {
  const System system =
      a_stage_each("0F0,(0F1;0B0)OVERLAP_F_B,0B1", {stage_of(2, 5)}, {}, Overlap::fused);
  const Outcome outcome = drawn_run(system, {.samples = {2}});
  check_spans(outcome, {"0F1 4-14", "0B0 4-14"});
  CHECK(to_us(outcome.report.makespan) == 24);
}

TEST_CASE("times round once, half to even") {
  // 1, 3 and 5 ps at a factor of 0.5 are 0.5, 1.5 and 2.5 ps.
  const auto halved = [](double us) {
    System system = forwards(1);
    system.stages[0].forward_us = us;
    const Plan plan = lowered(system);
    return draw(plan, priced(system, plan), {.samples = {0.5}}, 0).task_duration[0].picoseconds;
  };
  CHECK(halved(1e-6) == 0);
  CHECK(halved(3e-6) == 2);
  CHECK(halved(5e-6) == 2);
}

TEST_CASE("ranks that do not exist and times beyond the clock are refused") {
  const auto refusal = [](const System& system, const Chance& chance) {
    const Plan plan = lowered(system);
    return refused_at([&] { draw(plan, priced(system, plan), chance, 0); });
  };
  const System system = two_ranks(gpipe);
  CHECK(refusal(system, {.stragglers = {{Rank{1}, 2}, {Rank{2}, 2}}}) ==
        "/chance/stragglers/1/rank: unknown rank 2; ranks are 0 to 1");
  CHECK(refusal(system, {.slow_links = {{Rank{2}, Rank{0}, 2}}}) ==
        "/chance/slow_links/0/from: unknown rank 2; ranks are 0 to 1");
  CHECK(refusal(system, {.slow_links = {{Rank{0}, Rank{9}, 2}}}) ==
        "/chance/slow_links/0/to: unknown rank 9; ranks are 0 to 1");
  // 2 * 1e12 us * 10 = 20e18 ps; two factors of 1e6 would not even fit one time.
  System slow = forwards(2);
  slow.stages[0].forward_us = 1e12;
  const std::string too_long =
      "/chance: the times of all actions add up to more than 104 days, the range of the clock";
  CHECK(refusal(slow, {.samples = {4}}) == "accepted");
  CHECK(refusal(slow, {.samples = {10}}) == too_long);
  CHECK(refusal(slow, {.stragglers = {{Rank{0}, 1e6}, {Rank{0}, 1e6}}}) == too_long);
}

}  // namespace penstock::testing
