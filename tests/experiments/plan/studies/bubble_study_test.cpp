#include "experiments/plan/studies/bubble_study.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/error.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

using Points = std::vector<std::pair<double, double>>;

BubblePlot plot_of(const std::string& schedules, const std::string& microbatches,
                   std::uint32_t ranks) {
  return bubble_study(
      {BubbleKind::of_makespan, ranks, schedules_in(schedules), microbatches_in(microbatches)});
}

}  // namespace

TEST_CASE("bubble study: it has the schedules and microbatches that are asked for") {
  const BubblePlot plot = plot_of("1f1b,interleaved-1f1b:4", "8,4,8", 4);
  REQUIRE(plot.series.size() == 2);
  CHECK(plot.series[0].name == "1f1b");
  CHECK(plot.series[1].name == "interleaved-1f1b, 4 chunks");
  // (p-1) / (m+p-1), and (p-1) / (vm+p-1).
  REQUIRE(plot.series[0].simulated.size() == 2);
  CHECK(plot.series[0].simulated[0].second == doctest::Approx(3.0 / 7));
  CHECK(plot.series[0].simulated[1].second == doctest::Approx(3.0 / 11));
  CHECK(plot.series[1].simulated[1].second == doctest::Approx(3.0 / 35));
}

TEST_CASE(
    "bubble study: the zero-bubble family is among the usual schedules, and its bubble small") {
  std::vector<std::string> names;
  for (const StudiedSchedule& one : usual_schedules()) names.push_back(one.name);
  for (const char* name : {"1f1b", "zb-h1", "zb-h2", "zb-v", "interleaved-zb", "v-half", "v-min"}) {
    CAPTURE(name);
    CHECK(std::find(names.begin(), names.end(), name) != names.end());
  }
  const BubblePlot plot = plot_of("1f1b,zb-h1,zb-h2,zb-v", "16", 4);
  const auto bubble = [&](std::size_t s) { return plot.series[s].simulated.at(0).second; };
  // With f = i = w: 3(p-1) of 1f1b are p-1 of zb-h1 and nothing within a span of zb-h2.
  CHECK(bubble(1) == doctest::Approx(3.0 / 51));
  CHECK(bubble(1) < bubble(0));
  CHECK(bubble(2) <= bubble(1));
  CHECK(bubble(3) <= bubble(1));
}

TEST_CASE("bubble study: every schedule has a bubble where its rule allows the sizes") {
  for (const char* schedule :
       {"naive", "gpipe", "eager-1f1b", "looped-bfs", "dualpipe", "dualpipev", "chimera", "hanayo",
        "seq-1f1b", "bpipe", "forward-only"}) {
    CAPTURE(schedule);
    const BubblePlot plot = plot_of(schedule, "8", 4);
    REQUIRE(plot.series[0].simulated.size() == 1);
    CHECK(plot.series[0].simulated[0].second > 0);
    CHECK(plot.series[0].simulated[0].second < 1);
  }
}

TEST_CASE("bubble study: a point that the rule does not allow is missing, with the rule") {
  // 6 ranks: of 8 microbatches in groups of 6, two are left over.
  const BubblePlot plot = plot_of("interleaved-1f1b", "6,8,12", 6);
  CHECK(plot.series[0].simulated.size() == 2);
  REQUIRE(plot.series[0].missing.size() == 1);
  CHECK(plot.series[0].missing[0].first == 8);
  CHECK(plot.series[0].closed_form.size() == 2);  // none at 8 either
  const std::vector<std::string> lines = missing_points(plot);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].starts_with("interleaved-1f1b, 2 chunks: no point at 8 microbatches: "));
  CHECK(says(lines[0], plot.series[0].missing[0].second));
}

TEST_CASE("bubble study: each of the three definitions, the closed form in the same") {
  const auto study = [](BubbleKind kind) {
    return bubble_study({kind, 4, schedules_in("1f1b"), microbatches_in("8")});
  };
  // m + p - 1 = 11 slots of F and B, of which p - 1 = 3 are idle.
  const BubbleSeries makespan = study(BubbleKind::of_makespan).series.at(0);
  CHECK(makespan.simulated.at(0).second == doctest::Approx(3.0 / 11));
  CHECK(makespan.closed_form.at(0).second == doctest::Approx(3.0 / 11));
  const BubbleSeries ideal = study(BubbleKind::over_ideal).series.at(0);
  CHECK(ideal.simulated.at(0).second == doctest::Approx(3.0 / 8));
  CHECK(ideal.closed_form.at(0).second == doctest::Approx(3.0 / 8));
  // The first rank is there from begin to end.
  const BubbleSeries span = study(BubbleKind::of_longest_span).series.at(0);
  CHECK(span.simulated.at(0).second == doctest::Approx(3.0 / 11));
  CHECK(span.closed_form.empty());
  CHECK(study(BubbleKind::of_makespan).subtitle.ends_with("simulated, thin: closed form"));
  CHECK(study(BubbleKind::of_longest_span).subtitle.ends_with("simulated"));
  CHECK(bubble_kind_of("of_longest_span") == BubbleKind::of_longest_span);
  CHECK(study(BubbleKind::over_ideal).kind == "over_ideal");
}

TEST_CASE("bubble study: lists that name nothing are refused, with what is known") {
  CHECK_THROWS_WITH_AS(schedules_in("1f1b,zb-h3"), doctest::Contains("known: "), UsageError);
  CHECK_THROWS_AS(schedules_in("interleaved-1f1b:x"), UsageError);
  CHECK_THROWS_WITH_AS(bubble_kind_of("over_idea"),
                       "--bubble: unknown \"over_idea\"; did you mean \"over_ideal\"? known: "
                       "of_makespan, over_ideal, of_longest_span",
                       UsageError);
  for (const char* list : {"0", "a", "4;8", "1,,2", "-1", "99999999999"}) {
    CAPTURE(list);
    CHECK_THROWS_AS(microbatches_in(list), UsageError);
  }
  CHECK_THROWS_AS(plot_of("1f1b", "4", 1), UsageError);
  CHECK(microbatches_in("").size() == 9);
}

}  // namespace penstock::testing
