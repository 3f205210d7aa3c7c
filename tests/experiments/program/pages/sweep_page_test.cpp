#include "experiments/program/pages/sweep_page.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/plan/sweeps/space/read_sweep.hpp"
#include "experiments/program/pages/live_timeline.hpp"
#include "experiments/program/pages/result_page.hpp"
#include "experiments/program/pages/run_page.hpp"
#include "experiments/run/run.hpp"
#include "sim/base/error.hpp"
#include "sim/base/time.hpp"
#include "sim/plan/plan.hpp"
#include "sim/report/report.hpp"
#include "sim/timeline/timeline.hpp"
#include "tests/support/pictures.hpp"
#include "tests/support/program.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/small_scenarios.hpp"

namespace penstock::testing {
namespace {

/// The page of a report as text.
std::string text_of(const ResultPage& page) {
  std::string text;
  write_page(page, [&](std::string_view piece) { text += piece; });
  return text;
}

std::size_t count_in(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

/// The first tag that does not close the one that is open; empty for a well-formed page. Style and
/// script are left out.
std::string tag_fault(std::string_view page) {
  std::vector<std::string> open;
  for (std::size_t at = page.find('<'); at != std::string_view::npos; at = page.find('<', at + 1)) {
    const std::size_t end = page.find('>', at);
    if (end == std::string_view::npos) return "torn tag";
    const std::string tag(page.substr(at + 1, end - at - 1));
    if (tag.starts_with('!') || tag.ends_with('/')) continue;
    const bool closes = tag.starts_with('/');
    const std::string name = tag.substr(closes ? 1 : 0, tag.find(' '));
    if (closes) {
      if (open.empty() || open.back() != name) return tag;
      open.pop_back();
    } else {
      open.push_back(name);
      if (name == "style" || name == "script") at = page.find("</" + name, end) - 1;
    }
  }
  return open.empty() ? "" : open.back();
}

/// A file of six rows: three schedules, one of them unknown, with 4 and 8 microbatches.
std::string swept(const Scratch& scratch) {
  const std::string scenario = scratch.file("base.json", scenario_plain);
  const std::string sweep = scratch.file("sweep.json", R"({
    "scenario": "base.json",
    "vary": [ { "/schedule/name": ["1f1b", "gpipe", "<b>x\"&y"] },
              { "/schedule/microbatches": [4, 8] } ] })");
  const ProgramRun run =
      run_penstock({"sweep", sweep, "-o", scratch.path("rows.jsonl")}, scratch.path(""));
  REQUIRE(run.code == 0);
  return scenario;
}

}  // namespace

TEST_CASE("pages: the page of a sweep has each row once, with its text escaped") {
  const Scratch scratch;
  const std::string scenario = swept(scratch);
  SweepReport report{.name = "a <title> & more", .details = 3};
  report.rows = read_reported_rows(scratch.path("rows.jsonl"), 100);
  report.sweep = read_sweep_base({.file = scenario});
  const std::string page = text_of(sweep_page(report));
  CHECK(tag_fault(page) == "");
  for (int row = 0; row < 6; ++row) {
    CHECK(count_in(page, fmt::format("aria-expanded=\"false\">{}</button>", row)) == 1);
  }
  CHECK(count_in(page, "<tbody>") == 6);
  CHECK(count_in(page, "Where the time goes") == 3);
  CHECK(count_in(page, "<tr class=\"more\"") == 6);
  CHECK(says(page, "<title>a &lt;title&gt; &amp; more</title>"));
  CHECK(says(page, "&lt;b&gt;x&quot;&amp;y"));
  CHECK_FALSE(says(page, "<b>"));
  CHECK_FALSE(says(page, "http:"));
  CHECK_FALSE(says(page, "https:"));
  CHECK(says(page, "The 3 rows with the most samples per second"));
}

TEST_CASE("pages: of a large file the rows with the most samples per second are kept") {
  const Scratch scratch;
  swept(scratch);
  const ReportedRows rows = read_reported_rows(scratch.path("rows.jsonl"), 2);
  CHECK(rows.rows == 6);
  CHECK(rows.with_result == 4);
  REQUIRE(rows.lines.size() == 2);
  // 8 microbatches amortize the bubble better, with either schedule.
  CHECK(rows.table.rows[0].front().text == "1");
  CHECK(rows.table.rows[1].front().text == "3");
  const SweepReport report{.name = "rows", .rows = rows};
  const std::string page = text_of(sweep_page(report));
  CHECK(says(page, "left out: 4"));
  CHECK(says(page, "made without the scenario"));
  CHECK_THROWS_AS(read_reported_rows(scratch.file("empty.jsonl", ""), 2), InputError);
  CHECK_THROWS_AS(read_reported_rows(scratch.file("no.jsonl", "{}\n"), 2), InputError);
}

TEST_CASE("pages: the summary is of all rows, also of those that the table leaves out") {
  const Scratch scratch;
  // Samples per second are alike but for the first row, which has the least step time and is left
  // out. The rows that are kept have one value of /n, and a constant is no axis.
  const auto row = [](int item, int n, int us, double rate) {
    return fmt::format(
        R"({{"item":{},"of":3,"sweep":"a","hash":"b","version":"1","configuration":{{"/m":{},"/n":{},"/k":1}},"result":{{"makespan_us":{},"throughput":{{"samples_per_s":{}}},"peak_memory_bytes":1}}}})"
        "\n",
        item, item, n, us, rate);
  };
  const std::string path =
      scratch.file("rows.jsonl", row(0, 3, 100, 10) + row(1, 4, 200, 20) + row(2, 4, 300, 30));
  const SweepReport report{.name = "rows", .rows = read_reported_rows(path, 2)};
  CHECK(report.rows.table.rows.size() == 2);
  const ResultPage page = sweep_page(report);
  CHECK(says(page.summary, "least           step time, ms: 0.1, configuration 0, m 0, n 3\n"));
  std::vector<std::string> heads;
  for (const PageColumn& column : page.columns) heads.push_back(column.label);
  CHECK(heads.front() == "configuration");
  CHECK(std::ranges::count(heads, "n") == 1);
  CHECK(std::ranges::count(heads, "k") == 0);
}

TEST_CASE("pages: what runs out of memory is not the best configuration") {
  const Scratch scratch;
  const auto row = [](int item, int us, const char* finding) {
    return fmt::format(
        R"({{"item":{},"of":2,"sweep":"a","hash":"b","version":"1","configuration":{{"/m":{}}},"result":{{"makespan_us":{},"throughput":{{"samples_per_s":{}}},"peak_memory_bytes":1}}{}}})"
        "\n",
        item, item, us, 1e6 / us, finding);
  };
  const std::string path = scratch.file(
      "rows.jsonl", row(0, 100, R"(,"findings":[{"kind":"out_of_memory","text":"80 of 40 GiB"}])") +
                        row(1, 200, ""));
  const SweepReport report{.name = "rows", .rows = read_reported_rows(path, 10)};
  CHECK(report.rows.quickest == std::vector<std::size_t>{1});
  const std::string page = text_of(sweep_page(report));
  CHECK(says(page, "2 of 2 configurations: 2 with a result (1 does not fit), 0 without\n"));
  CHECK(says(page, "step time, ms: 0.2, configuration 1"));
  CHECK_FALSE(says(page, "configuration 0, m"));
}

TEST_CASE("pages: rows of another scenario are refused") {
  const Scratch scratch;
  const std::string scenario = swept(scratch);
  SweepReport report{.name = "rows", .details = 3};
  report.rows = read_reported_rows(scratch.path("rows.jsonl"), 100);
  report.sweep =
      read_sweep_base({.file = scenario, .settings = {"/model/stages/0/forward_us=101"}});
  CHECK_THROWS_AS(sweep_page(report), InputError);
}

TEST_CASE("pages: the page of a run has its ranks and is well-formed") {
  const Scenario scenario = parse_scenario(scenario_plain, "small.json");
  const std::string page = text_of(run_page(scenario, run(scenario)));
  CHECK(tag_fault(page) == "");
  CHECK(count_in(page, "<tbody>") == 2);
  CHECK(count_in(page, "<canvas id=\"timeline\"") == 1);
  CHECK_FALSE(says(page, "http:"));
  CHECK(says(page, "critical path"));
}

TEST_CASE("pages: a picture of many tasks has no critical path, and does not say so") {
  const DrawnRun many = one_f_one_b(1, most_live_tasks / 2 + 1);
  REQUIRE(many.plan.tasks() > most_live_tasks);
  Report report{.makespan = makespan(many.plan, many.timeline)};
  const ResultPage page = timeline_page({"many", "", many.plan, many.timeline, report, {}});
  REQUIRE(page.figures.size() == 1);
  CHECK(page.figures.front().label == "timeline; idle time by cause");
}

TEST_CASE("pages: the memory of ranks is empty where none is known") {
  Report report{.makespan = from_us(2)};
  report.ranks.resize(2);
  const Plan plan;
  const Timeline timeline;
  const auto cells = [&] {
    std::vector<std::string> texts;
    for (const auto& row : timeline_page({"run", "", plan, timeline, report, {}}).rows) {
      texts.push_back(row[4].text);
    }
    return texts;
  };
  CHECK(cells() == std::vector<std::string>{"", ""});
  report.ranks[1].memory.bytes = 1ULL << 30;
  CHECK(cells() == std::vector<std::string>{"0", "1"});
}

TEST_CASE("pages: pictures of one page have names of their own") {
  const std::string svg =
      "<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"><pattern "
      "id=\"hatch-1\"/><path fill=\"url(#hatch-1)\"/></svg>\n";
  const std::string element = inline_svg(svg, 7, "a \"b\"");
  CHECK(element ==
        "<svg role=\"img\" aria-label=\"a &quot;b&quot;\"><pattern id=\"p7-hatch-1\"/><path "
        "fill=\"url(#p7-hatch-1)\"/></svg>\n");
  CHECK(html_text("a<b>'\x01\xff") == "a&lt;b&gt;&#39;\xef\xbf\xbd\xef\xbf\xbd");
}

TEST_CASE("pages: a name turns no text around") {
  CHECK(html_text("a\u202Eb\u202A\u2066c\u2069\u2026") == "a\uFFFDb\uFFFD\uFFFDc\uFFFD\u2026");
  CHECK(html_text("\u2029\u202F\u2065\u206A") == "\u2029\u202F\u2065\u206A");
}

}  // namespace penstock::testing
