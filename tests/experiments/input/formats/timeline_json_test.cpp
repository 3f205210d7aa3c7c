#include "experiments/input/formats/timeline_json.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "experiments/input/formats/chrome_trace.hpp"
#include "experiments/run/recordings.hpp"
#include "experiments/run/run.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

using nlohmann::json;

const std::string llama = PENSTOCK_ROOT "/experiments/scenarios/llama_8b_on_a_dgx_h100.json";

/// A schedule with fused cells where it has any, and two chunks.
std::vector<std::string> two_chunks_of(const char* schedule) {
  return {"/schedule/name=" + std::string(schedule), "/schedule/overlap=fused",
          "/parallel/chunks=2"};
}

json document_of(const Recording& run) {
  std::string text;
  write_timeline_json(run.plan, run.timeline, run.title,
                      [&](std::string_view piece) { text += piece; });
  return json::parse(text);
}

void check_span(const Recording& run, const json& spans, TaskId task) {
  const WorkClass& work = run.plan.class_of(task);
  const bool transfer = run.plan.is_link(work.resource);
  CHECK(spans["pass"][task] == letters(work.pass));
  CHECK(spans["stage"][task] == index(work.stage));
  CHECK(spans["microbatch"][task] == index(run.plan.microbatch[task]));
  CHECK(spans["rank"][task] == (transfer ? json() : json(work.resource)));
  CHECK(spans["link"][task] == (transfer ? json(work.resource - run.plan.ranks) : json()));
  CHECK(spans["begin_ps"][task] == run.timeline.begin[task].picoseconds);
  CHECK(spans["end_ps"][task] == run.timeline.end[task].picoseconds);
  const TaskId last = run.timeline.last_input[task];
  CHECK(spans["last_input"][task] == (last == no_task ? json() : json(last)));
}

}  // namespace

TEST_CASE("a timeline as JSON has every span, link and memory sample") {
  for (const char* schedule : {"interleaved-1f1b", "zb-v", "dualpipev"}) {
    CAPTURE(schedule);
    const Recording run = recording_of(llama, two_chunks_of(schedule));
    const json document = document_of(run);
    CHECK(document["makespan_ps"] == makespan(run.plan, run.timeline).picoseconds);
    const json& spans = document["spans"];
    for (const json& column : spans) CHECK(column.size() == run.plan.tasks());
    for (TaskId task = 0; task < run.plan.tasks(); ++task) check_span(run, spans, task);
    REQUIRE(document["links"].size() == run.plan.links.size());
    const json& memory = document["memory"];
    REQUIRE(memory["bytes"].size() == run.timeline.memory.size());
    REQUIRE(!run.timeline.memory.empty());
    for (std::size_t i = 0; i < run.timeline.memory.size(); ++i) {
      const MemorySample& sample = run.timeline.memory[i];
      CHECK(memory["rank"][i] == index(sample.rank));
      CHECK(memory["time_ps"][i] == sample.time.picoseconds);
      CHECK(memory["bytes"][i] == sample.bytes);
    }
  }
}

TEST_CASE("a timeline as JSON names ends of links that are no ranks") {
  const json document = document_of(recording_of(llama, {R"(/offload={"keep":2})"}));
  const json& links = document["links"];
  CHECK(std::count(links.begin(), links.end(), json{{"from", 0}, {"to", "host"}}) == 1);
  CHECK(std::count(links.begin(), links.end(), json{{"from", "host"}, {"to", 0}}) == 1);
  CHECK(std::count(links.begin(), links.end(), json{{"from", 0}, {"to", 1}}) == 1);
}

TEST_CASE("the order of a plan is the order that was lowered") {
  for (const char* schedule : {"interleaved-1f1b", "zb-v", "dualpipev"}) {
    CAPTURE(schedule);
    const RunResult result = run(read_scenario(llama, two_chunks_of(schedule)));
    REQUIRE(result.plan);
    const Schedule order = order_of(*result.plan);
    REQUIRE(order.ranks() == result.layout.schedule.ranks());
    for (const Rank rank : Numbers<Rank>(order.ranks())) {
      CHECK(order.on(rank) == result.layout.schedule.on(rank));
    }
  }
}

TEST_CASE("a trace without costs leaves out the bytes of transfers and keeps the run") {
  const Recording run = recording_of(llama);
  std::string text;
  write_chrome_trace(run.plan, {}, run.timeline, run.title,
                     [&](std::string_view piece) { text += piece; });
  CHECK(!says(text, ",\"bytes\":"));
  CHECK(recording_in_trace(text).timeline == run.timeline);
}

}  // namespace penstock::testing
