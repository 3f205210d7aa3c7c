#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/measure/causes/causes.hpp"
#include "tests/support/program.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/traced_runs.hpp"

namespace penstock::testing {
namespace {

using nlohmann::json;

/// Three replicas of two stages, with reductions and updates.
constexpr const char* replicated_scenario = R"({
  "model": {"stages": [
    {"forward_us": 1000, "backward_us": 2000, "activation_bytes": 1e5, "parameter_bytes": 1e7},
    {"forward_us": 1000, "backward_us": 2000, "activation_bytes": 1e5, "parameter_bytes": 1e7}]},
  "hardware": {"name": "ideal", "devices": 6, "latency_us": 10, "bandwidth_bytes_per_s": 1e10},
  "parallel": {"data": 3}, "schedule": {"name": "1f1b", "microbatches": 8},
  "overheads": {"optimizer_us": 100}})";

struct CausesDesk : Desk {
  CausesDesk() { file("r.json", replicated_scenario); }

  /// What a command prints with --json, whatever its exit code.
  json answer(std::vector<std::string> arguments) const {
    arguments.emplace_back("--json");
    return json::parse(run(arguments).output);
  }
  /// The step of the scenario with some chance.
  double step(const std::string& chance) const {
    return answer({"run", "r.json", "--set", "/chance=" + chance}).at("makespan_us");
  }
};

/// Writes the trace of a rank of a job, and returns the file's name.
std::string write_rank_trace(const Desk& desk, const Plan& plan, const std::vector<Timeline>& steps,
                             std::uint32_t pipeline_rank, std::uint32_t rank, std::uint32_t ranks) {
  json trace = json::parse(kineto_text(plan, steps, pipeline_rank));
  trace["distributedInfo"]["rank"] = rank;
  trace["distributedInfo"]["world_size"] = ranks;
  const std::string name = fmt::format("rank{}.json", rank);
  desk.file(name, trace.dump());
  return name;
}

double cost_of(const json& causes, const std::vector<std::string>& kinds) {
  double cost = 0;
  for (const json& one : causes.at("costs")) {
    for (const std::string& kind : kinds)
      cost += one.at("cause") == kind ? double(one["cost_us"]) : 0;
  }
  return cost;
}

double sum_of(const json& causes, const char* key) {
  double sum = double(causes.at("ideal_us")) + double(causes.at("unexplained_us"));
  for (const json& one : causes.at("costs")) sum += double(one.at(key));
  return sum;
}

/// Whether the cost of a fault put into a run on threads is named within 5 %. Others use this
/// machine too, so one of five runs is enough.
bool named_on_threads(const CausesDesk& work, const std::string& fault, const std::string& none,
                      const std::vector<std::string>& kinds) {
  const double truth = work.step(fault) - work.step(none);
  for (int attempt = 0; attempt < 5; ++attempt) {
    const json run = work.answer({"validate", "r.json", "--set", "/chance=" + fault, "--backend",
                                  "cpu_timed", "--action-us", "1000", "--timeline", "m.timeline"});
    if (run.at("environment").is_null()) continue;
    const double scale = std::stod(std::string(run["environment"]["time_scale"]));
    const json causes = work.answer({"explain", "m.timeline", "--expected", "r.json"}).at("causes");
    CHECK(sum_of(causes, "cost_us") == doctest::Approx(double(causes["measured_us"])));
    if (std::abs(cost_of(causes, kinds) / (truth * scale) - 1) < 0.05) return true;
  }
  return false;
}

}  // namespace

TEST_SUITE("exhaustive") {  // on a machine that has nothing else to do
  TEST_CASE("causes: faults put into runs on threads are named with their cost") {
    const CausesDesk work;
    SUBCASE("a slow rank") {
      CHECK(named_on_threads(work, R"({"stragglers": [{"rank": 1, "replica": 0, "factor": 1.5}]})",
                             "{}", {"rank"}));
    }
    SUBCASE("a slow link") {
      CHECK(named_on_threads(work, R"({"slow_links": [{"from": 0, "to": 1, "factor": 100}]})", "{}",
                             {"link"}));
    }
    SUBCASE("microbatches of different lengths") {
      const char* const uneven = R"({"stragglers": [
      {"rank": 0, "factor": 2.5, "from": 1, "until": 2}, {"rank": 1, "factor": 2.5, "from": 1, "until": 2},
      {"rank": 0, "factor": 0.5, "from": 5, "until": 6}, {"rank": 1, "factor": 0.5, "from": 5, "until": 6}]})";
      const char* const even =
          R"({"stragglers": [{"rank": 0, "factor": 1.125}, {"rank": 1, "factor": 1.125}]})";
      CHECK(named_on_threads(work, uneven, even, {"microbatches", "replicas"}));
    }
  }
}

TEST_CASE("causes: as text and JSON, of a run, without a cause, with settings, of two runs") {
  const CausesDesk work;
  const json validated =
      work.answer({"validate", "r.json", "--backend", "cpu_logical", "--causes"});
  CHECK(validated["causes"]["iterations"] == validated["iterations"]);
  const auto measured = [&](const char* file, const std::string& chance) {
    REQUIRE(work.run({"validate", "r.json", "--set", "/chance=" + chance, "--backend",
                      "cpu_logical", "--timeline", file})
                .code <= 1);
  };
  measured("a.timeline", "{}");
  ProgramRun text;
  for (int attempt = 0; attempt < 3; ++attempt) {  // others use this machine too
    measured("b.timeline", R"({"stragglers": [{"rank": 0, "replica": 2, "factor": 2}]})");
    text = work.run({"explain", "b.timeline", "--heat-map", "ranks.svg"});
    if (says(text.output, "\nfirst late: rank 4")) break;
  }
  CHECK(text.code == 0);
  CHECK(says(text.output, "\nslow rank 4 "));
  CHECK(says(text.output, "\nslowdown of ranks"));
  CHECK(says(text.output, "\nfirst late: rank 4"));
  CHECK(work.has("ranks.svg"));
  const json causes = work.answer({"explain", "b.timeline", "a.timeline"}).at("causes");
  CHECK(causes["ranks"].size() == 6);
  CHECK(causes["ranks"][4]["replica"] == 2);
  CHECK(double(causes["ranks"][4]["over_peers"]) == doctest::Approx(2).epsilon(0.2));
  CHECK(causes["iterations"] == 2);
  CHECK(causes["costs"][0]["interval_us"].size() == 2);
  CHECK(sum_of(causes, "shapley_us") == doctest::Approx(double(causes["measured_us"])));
  const json without = work.answer({"explain", "b.timeline", "--without", "rank=4"});
  CHECK(double(without["counterfactual"]["makespan_us"]) <
        0.8 * double(without["counterfactual"]["measured_us"]));
  const json set = work.answer({"explain", "a.timeline", "--set", "/overheads/launch_us=1000"});
  CHECK(double(set["counterfactual"]["change_us"]) == doctest::Approx(1000).epsilon(0.1));
  double change = 0;
  const json compared = work.answer({"compare", "a.timeline", "b.timeline"});
  for (const json& one : compared["by_cause"]) change += double(one["change_us"]);
  CHECK(change == doctest::Approx(double(compared["makespan_difference_us"])));
}

TEST_CASE("causes: those of a scenario stand beside its gains, its changes and its advice") {
  const CausesDesk work;
  const json plain = work.answer({"explain", "r.json"});
  CHECK(!plain.at("sensitivity").empty());
  for (const std::vector<std::string>& asked :
       {std::vector<std::string>{"--causes"}, std::vector<std::string>{"--heat-map", "r.svg"}}) {
    json all = work.answer(with_words({"explain", "r.json"}, asked));
    CHECK(all.at("causes").at("measured_us") == plain.at("makespan_us"));
    all.erase("causes");
    CHECK(all == plain);
  }
  CHECK(work.has("r.svg"));
  const std::string text = work.run({"explain", "r.json", "--causes"}).output;
  CHECK(!says(text, "need the scenario"));
  CHECK(!says(text, "\nmeasured "));
}

TEST_CASE("causes: several timelines are iterations, asked for causes or not") {
  const CausesDesk work;
  REQUIRE(work.run({"run", "r.json", "--timeline", "s.timeline"}).code == 0);
  const json all = work.answer({"explain", "s.timeline", "s.timeline"});
  REQUIRE(all.contains("causes"));
  CHECK(all["causes"]["iterations"] == 2);
}

TEST_CASE("causes: what cannot be is refused with its remedy") {
  const CausesDesk work;
  REQUIRE(work.run({"run", "r.json", "--timeline", "s.timeline"}).code == 0);
  const auto refused = [&](int code, std::vector<std::string> arguments, const char* why) {
    const ProgramRun run = work.run(std::move(arguments));
    CAPTURE(run.errors);
    CHECK(run.code == code);
    CHECK(says(run.errors, why));
  };
  CHECK(!says(work.run({"explain", "s.timeline"}).output, "what it cost"));
  refused(2, {"explain", "r.json", "--memory", "--causes"}, "--memory explains no causes");
  refused(2, {"explain", "s.timeline", "s.timeline", "--memory"}, "s.timeline is a timeline");
  refused(2, {"explain", "r.json", "s.timeline"}, "only .timeline files are iterations");
  refused(2, {"explain", "s.timeline", "--set", "/model/file=x"}, "trace --scenario");
  refused(2, {"explain", "s.timeline", "--without", "rank=0"}, "--expected RUN");
  refused(2, {"explain", "s.timeline", "--heat-map", "x.gif"}, ".svg");
  refused(3, {"explain", "s.timeline", "--expected", "nothing.json"}, "nothing.json");
}

TEST_CASE("causes: of traces, with intervals over their steps") {
  std::vector<RunResult> runs;
  for (int i = 0; i < 4; ++i) {
    runs.push_back(run_of(three_stages(steady_order),
                          {fmt::format("/chance={{\"seed\": {}, \"jitter\": 0.1}}", i)}));
  }
  Traces traces(runs, {});
  const MeasuredRun run = traces.read();
  const StepCauses causes =
      causes_of(run.job.priced.plan, run.timeline, nullptr, run.measured.iterations);
  CHECK(causes.iterations == 4);
  CHECK(causes.unexplained == Time{});
  const auto stages = std::ranges::find(causes.causes, CauseKind::stages, &Cause::kind);
  REQUIRE(stages != causes.causes.end());
  REQUIRE(stages->interval);
  CHECK(stages->interval->low <= to_us(stages->cost));
  CHECK(to_us(stages->cost) <= stages->interval->high);
}

TEST_CASE("causes: traces of replicas tell a slow rank by its peers") {
  const Desk desk;
  std::vector<std::string> arguments{"trace"};
  for (std::uint32_t replica = 0; replica < 3; ++replica) {
    const std::string chance =
        replica == 1 ? R"({"stragglers": [{"rank": 2, "factor": 2}]})" : "{}";
    const RunResult run = run_of(three_stages(steady_order), {"/chance=" + chance});
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      arguments.push_back(write_rank_trace(desk, *run.plan, {run.timeline, run.timeline}, rank,
                                           rank * 3 + replica, 9));
    }
  }
  for (const char* more :
       {"--pipeline-ranks", "0,3,6;1,4,7;2,5,8", "--causes", "--timeline", "all.timeline"}) {
    arguments.emplace_back(more);
  }
  const json answer = desk.json_of(arguments);
  const json& causes = answer.at("causes");
  CHECK(answer.at("job_ranks") == json{0, 3, 6, 1, 4, 7, 2, 5, 8});
  CHECK(causes["ranks"].size() == 9);
  CHECK(causes["costs"][0]["ranks"] == json{5});
  CHECK(causes["iterations"] == 2);
  CHECK(says(desk.run({"explain", "all.timeline"}).output, "slow rank 5"));
  arguments.emplace_back("--force");
  CHECK(says(desk.run(arguments).output,
             "\nranks 0 to 8 of the step are ranks 0, 3, 6, 1, 4, 7, 2, 5, 8 of the job\n"));
  arguments[11] = "0,3,6;1,4;7,2,5,8";
  CHECK(desk.run(arguments).code == 2);
}

// In the second step, the clock of rank 1 of the second replica is 4 us ahead.
TEST_CASE("causes: traces of replicas note clocks that do not fit in any of them") {
  const Desk desk;
  const RunResult run = run_of(three_stages(steady_order));
  Timeline ahead = run.timeline;
  for (Time& time : ahead.begin) time += from_us(4);
  for (Time& time : ahead.end) time += from_us(4);
  std::vector<std::string> arguments{"trace"};
  for (std::uint32_t rank = 0; rank < 6; ++rank) {
    const Timeline& second = rank == 3 ? ahead : run.timeline;
    arguments.push_back(
        write_rank_trace(desk, *run.plan, {run.timeline, second}, rank / 2, rank, 6));
  }
  for (const char* more : {"--pipeline-ranks", "0,2,4;1,3,5", "--timeline", "all.timeline"}) {
    arguments.emplace_back(more);
  }
  const ProgramRun read = desk.run(arguments);
  CAPTURE(read.errors);
  REQUIRE(read.code == 0);
  const std::string note = "replica 1: clocks are not aligned between ranks 0 and 1";
  CHECK(says(read.output, "note: " + note));
  const Recording all = read_timeline(content_of(desk.path("all.timeline")));
  CHECK(all.timeline.environment.at(unaligned_key).starts_with(note));
}

}  // namespace penstock::testing
