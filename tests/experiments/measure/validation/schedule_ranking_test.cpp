#include "experiments/measure/validation/schedule_ranking.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/base/error.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/made_up_backend.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

const char* const two_ranks = R"({
  "penstock": 1,
  "model": { "stages": [
    { "forward_us": 1, "backward_us": 2 }, { "forward_us": 1, "backward_us": 2 } ] },
  "schedule": { "name": "1f1b", "microbatches": 8 } })";

ScheduleRanking ranked(const std::string& names, const BackendEntry& backend = cpu_logical(),
                       const std::vector<std::string>& settings = {}) {
  return rank_schedules(parse_scenario(two_ranks, "two.json", settings), schedules_named(names),
                        backend, {.measuring = {.steady = 100}});
}

bool has(const std::vector<std::string>& names, const char* name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// cpu_logical, whose first backends of a process fail as a GPU does.
std::uint32_t backends_to_fail = 0;
BackendEntry failing() {
  BackendEntry entry = cpu_logical();
  entry.make = [](const Job& job) {
    if (backends_to_fail == 0) return cpu_logical().make(job);
    --backends_to_fail;
    throw std::runtime_error("out of memory");
  };
  return entry;
}

/// A backend whose runs do not count, as where a link of a GPU is too slow.
class Unjudged : public MadeUpBackend {
 public:
  explicit Unjudged(const Job& job) : MadeUpBackend(job, [](Pass, double ns) { return ns; }) {}
  std::optional<std::string> why_no_score() const override { return "a link is too slow"; }
};
/// One that measures what was predicted, whose first backends of a process are of that kind.
std::uint32_t backends_unjudged = 0;
BackendEntry partly_judged() {
  BackendEntry entry = cpu_logical();
  entry.make = [](const Job& job) -> std::unique_ptr<Backend> {
    if (backends_unjudged == 0) {
      return std::make_unique<MadeUpBackend>(job, [](Pass, double ns) { return ns; });
    }
    --backends_unjudged;
    return std::make_unique<Unjudged>(job);
  };
  return entry;
}

}  // namespace

TEST_CASE("schedule ranking: a run that does not count leaves the others their errors") {
  const BackendEntry entry = partly_judged();
  const auto rank = [&](std::uint32_t unjudged) {
    backends_unjudged = unjudged;
    return ranked("naive,gpipe,1f1b", entry);
  };
  const ScheduleRanking ranking = rank(1);
  REQUIRE(ranking.ran == 2);
  CHECK(ranking.schedules[2].name == "naive");
  CHECK(ranking.schedules[2].left_out == "a link is too slow");
  CHECK(ranking.why_no_score.empty());
  const auto document = ranking_json(ranking);
  CHECK_FALSE(document["mean_error"].is_null());
  CHECK(document["schedules"][2]["left_out"] == "a link is too slow");
  CHECK(document["schedules"][2]["scenario_measured_us"] > 0);
  CHECK(ranking.verdict == Verdict::inconclusive);
  CHECK(why_inconclusive(ranking) == "naive: a link is too slow");
  CHECK(why_inconclusive(rank(2)) == "gpipe: a link is too slow; naive: a link is too slow");
  CHECK(rank(3).why_no_score == "a link is too slow");
}

TEST_CASE("schedule ranking: every schedule communicates as the scenario does") {
  backends_unjudged = 0;
  const ScheduleRanking ranking =
      ranked("gpipe,1f1b", partly_judged(), {"/schedule/communication=written"});
  REQUIRE(ranking.schedules.size() == 2);
  for (const RankedSchedule& one : ranking.schedules) {
    CAPTURE(one.left_out);
    CHECK(one.validation.job.priced.plan.written);
  }
}

TEST_CASE("schedule ranking: an interrupt keeps what is done, and lists what cannot run") {
  std::uint32_t asked = 0;
  const ValidationOptions options{
      .measuring = {.steady = 100, .asked_to_stop = [&] { return ++asked > 30; }}};
  const ScheduleRanking ranking =
      rank_schedules(parse_scenario(two_ranks, "two.json"),
                     schedules_named("naive,gpipe,1f1b,zb-v"), cpu_logical(), options);
  CHECK(ranking.stopped == 2);
  REQUIRE(ranking.ran == 1);
  REQUIRE(ranking.schedules.size() == 2);
  CHECK(ranking.schedules[0].name == "naive");
  CHECK(ranking.schedules[1].name == "zb-v");
  CHECK(says(ranking_text(ranking), "\nleft out: zb-v: /parallel/pipeline: "));
  CHECK(ranking_json(ranking)["interrupted"] == true);
}

TEST_CASE("schedule ranking: the error of one schedule does not lose the others") {
  const BackendEntry entry = failing();
  backends_to_fail = 1;
  const ScheduleRanking ranking = ranked("naive,1f1b", entry);
  REQUIRE(ranking.ran == 1);
  CHECK(ranking.schedules[0].name == "1f1b");
  CHECK(ranking.schedules[1].left_out == "out of memory");
  CHECK(ranking.verdict == Verdict::fail);
  backends_to_fail = 2;
  CHECK_THROWS_WITH_AS(ranked("naive,1f1b", entry), "out of memory", std::runtime_error);
}

TEST_CASE("schedule ranking: all are those that train, others are named") {
  const auto all = schedules_named("all");
  CHECK(has(all, "zb-v"));
  CHECK_FALSE(has(all, "forward-only"));
  CHECK(schedules_named("gpipe,1f1b") == std::vector<std::string>{"gpipe", "1f1b"});
  CHECK_THROWS_WITH(schedules_named("gpipe,1f1b,gpipe"),
                    "--schedules names gpipe twice; name it once");
  for (const char* const beside : {"all,1f1b", "1f1b,all"}) {
    CHECK_THROWS_WITH(schedules_named(beside),
                      "--schedules: all names every schedule; leave out the other names, or all");
  }
  CHECK_THROWS_AS(schedules_named(""), UsageError);
  CHECK_THROWS_AS(schedules_named("gpipe,,1f1b"), UsageError);
  CHECK_THROWS_WITH(
      schedules_named("gpip"),
      doctest::Contains(
          "--schedules: unknown schedule \"gpip\"; did you mean \"gpipe\"? known: all, "));
}

// 1F1B and GPipe take (8 + 1)(1 + 2) = 27 us, the naive order 8 * 2 * 3 = 48: far enough apart to
// be told on any machine. A V needs two chunks a rank, and the model has two stages in all.
TEST_CASE("schedule ranking: schedules come in the order of their time, and misfits are left out") {
  const ScheduleRanking ranking = ranked("naive,zb-v,1f1b");
  REQUIRE(ranking.schedules.size() == 3);
  REQUIRE(ranking.ran == 2);
  CHECK(ranking.schedules[0].name == "1f1b");
  CHECK(ranking.schedules[1].name == "naive");
  CHECK(ranking.schedules[0].measured_us < ranking.schedules[1].measured_us);
  CHECK(ranking.schedules[0].simulated_us < ranking.schedules[1].simulated_us);
  CHECK(ranking.correlation == 1);
  CHECK(ranking.regret == 0);
  CHECK(ranking.schedules[2].left_out ==
        "/parallel/pipeline: 2 stages on 2 ranks: zb-v needs 2 chunks per rank, got 1: set "
        "/parallel/pipeline=1");
  const auto document = ranking_json(ranking);
  CHECK(document["schedules"][0]["structure_error"] == 0.0);
  CHECK(document["schedules"][2]["left_out"] == ranking.schedules[2].left_out);
  CHECK(document["rank_correlation"] == 1.0);
  CHECK(ranking_json(ranking)["mean_retest_error"] == ranking.retests.mean);
  const double retests =
      ranking.schedules[0].validation.errors.retest + ranking.schedules[1].validation.errors.retest;
  CHECK(ranking.retests.mean == doctest::Approx(retests / 2));
  CHECK(says(ranking_text(ranking), "measured against itself, half against half: mean "));
  CHECK(says(ranking_text(ranking), "the quickest by simulation is the quickest: 1f1b"));
}

TEST_CASE("schedule ranking: where none fits, nothing is said of an order") {
  const ScheduleRanking ranking = ranked("zb-v");
  CHECK(ranking.ran == 0);
  CHECK_FALSE(ranking.correlation);
  CHECK(ranking.verdict == Verdict::inconclusive);
  CHECK(ranking_json(ranking)["rank_correlation"].is_null());
}

}  // namespace penstock::testing
