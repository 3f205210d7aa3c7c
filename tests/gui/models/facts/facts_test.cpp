#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>

#include "gui/models/facts/area_facts.hpp"
#include "gui/models/run/slack.hpp"
#include "gui/models/view/time_axis.hpp"
#include "tests/support/scratch.hpp"

namespace penstock {
namespace {

PaintedRunPtr painted_with(const std::vector<std::string>& settings = {}) {
  const std::string path = std::string(PENSTOCK_ROOT) + "/experiments/scenarios/first_run.json";
  return painted(viewed(read_scenario(path, settings)), ColourBy::pass);
}

TaskId op_of(const PaintedRun& run, const char* name) {
  return find_ops(read_query(name), *run.run).front();
}

std::string fact(const Facts& facts, std::string_view name) {
  for (const Fact& each : facts.all) {
    if (each.name == name) return each.text;
  }
  return "none";
}

TEST_CASE("times in full have every digit, or those of a step") {
  CHECK(exact_time(1'099'123'456'789'012) == "1099.123456789012 s");
  CHECK(exact_time(1'250'000'000) == "1.25 ms");
  CHECK(exact_time(-1'000'001) == "-1.000001 µs");
  CHECK(exact_time(0) == "0");
  CHECK(exact_time(1'250'499'999, 1'000'000) == "1.25 ms");
  CHECK(exact_time(1'250'500'000, 1'500'000) == "1.251 ms");
  CHECK(signed_time(1'250'000'000) == "+1.25 ms");
  CHECK(signed_time(-2'000) == "-2 ns");
  CHECK(signed_time(0) == "±0");
}

TEST_CASE("facts of an op: exact times, slack, why it began then, and where that leads") {
  const PaintedRunPtr run = painted_with();
  const auto slack = std::make_shared<const std::vector<float>>(slack_of(*run->run));
  const SeenRuns seen{.runs = {run.get()}, .slack = {slack}};
  const TaskId op = op_of(*run, "0B0");
  const Facts facts = facts_of_op(seen, op);
  CHECK(facts.title == "0B0: backward of stage 0, microbatch 0");
  const Timeline& timeline = run->run->timeline;
  CHECK(fact(facts, "begin") == exact_time(timeline.begin[op].picoseconds));
  CHECK(fact(facts, "length") == "2 ms");
  CHECK(fact(facts, "slack").starts_with("none"));
  CHECK(fact(facts, "why then")
            .starts_with("waited 8.025 ms for 1SEND_B0, which was sent when 1B0 "
                         "on rank 1 ended; 1B0 waited "));
  CHECK(fact(facts, "waited for") == "1SEND_B0, link 1>0");
  CHECK(fact(facts, "input") == "1SEND_B0, link 1>0");
  CHECK(fact(facts, "next on the critical path") != "none");
  const auto way = std::find_if(facts.all.begin(), facts.all.end(),
                                [](const Fact& each) { return each.name == "waited for"; });
  CHECK(way->op == ShownOp(op_of(*run, "1B0") == no_task ? no_task : timeline.last_input[op]));
  CHECK(!way->brief);
  CHECK(fact(facts_of_op(seen, op_of(*run, "2F1")), "slack").find(" until the run") !=
        std::string::npos);
}

TEST_CASE("facts: with a view that begins later, how far into it that is") {
  const PaintedRunPtr run = painted_with();
  const TaskId op = op_of(*run, "0B0");
  const std::int64_t begin = run->run->timeline.begin[op].picoseconds;
  const SeenRuns seen{.runs = {run.get()}, .origin = begin - 1'234'567};
  const std::string told = exact_time(begin) + " (view + 1.235 µs)";
  CHECK(fact(facts_of_op(seen, op), "begin") == told);
  CHECK(fact(facts_of_idle(seen, *idle_at(*run->lanes, 0, begin - 1), 0), "end") == told);
}

TEST_CASE("facts of a pixel with many ops: how many, which is the longest, and why it is idle") {
  const PaintedRunPtr run = painted_with();
  const std::int64_t span = run->lanes->span;
  const SeenRuns seen{.runs = {run.get()}, .pixel = static_cast<double>(span)};
  const Facts facts = facts_at(seen, {.kind = LaneKind::compute, .rank = 3}, {}, 0);
  CHECK(facts.title == "rank 3 at 0: 16 ops in this pixel, 62 % busy");
  CHECK(fact(facts, "longest") == "3B0, 2 ms");
  CHECK(fact(facts, "idle: warm-up") == "10.4 %");
}

TEST_CASE("facts of a transfer: its bytes, at the speed of the link") {
  const PaintedRunPtr run = painted_with({"/hardware/latency_us=0"});
  const TaskId sent = run->run->timeline.last_input[op_of(*run, "0B0")];
  const std::string bytes = fact(facts_of_op({.runs = {run.get()}}, sent), "bytes");
  CHECK_MESSAGE(bytes.ends_with(" at 25 GB/s"), bytes);
}

TEST_CASE("facts of an op of a batch: the tokens and documents of its microbatch") {
  const PaintedRunPtr run = painted_with(
      {R"(/batch={"lengths":{"distribution":"fixed","mean":250},"pack":"first-fit","tokens":900})"});
  const SeenRuns seen{.runs = {run.get()}};
  CHECK(fact(facts_of_op(seen, op_of(*run, "0F1")), "tokens") ==
        "750 in 3 documents, the longest 250");
  CHECK(fact(facts_of_op({.runs = {painted_with().get()}}, op_of(*run, "0F1")), "tokens") ==
        "none");
}

// The second tensor is there long before its RECV, right before 1F1.
TEST_CASE("facts of a transfer as written: which end was there first") {
  const std::string path =
      std::string(PENSTOCK_ROOT) + "/tests/scenarios/a_late_receive_holds_up_its_tensor.json";
  const PaintedRunPtr run = painted(viewed(read_scenario(path)), ColourBy::pass);
  const Facts facts = facts_of_op({.runs = {run.get()}}, op_of(*run, "0SEND_F1"));
  CHECK(fact(facts, "SEND") == "ready for 6 µs before it began");
  CHECK(fact(facts, "RECV") == "none");
}

TEST_CASE("facts of a gap: all its causes, the op behind it, and the same gap in another run") {
  const PaintedRunPtr run = painted_with();
  const PaintedRunPtr slow = painted_with({"/model/stages/2/forward_us=3000"});
  const RunsOnAxis both = on_one_axis(run, {.others = {slow->run}});
  const SeenRuns seen{.runs = {both.first.get(), both.others.front().get()}};
  const TaskId next = op_of(*run, "0B0");
  const std::int64_t end = run->run->timeline.begin[next].picoseconds;
  const auto piece = idle_at(*run->lanes, 0, end - 1);
  REQUIRE(piece);
  CHECK(piece->cause == IdleCause::transfer);
  const Facts facts = facts_of_idle(seen, *piece, 0);
  CHECK(facts.title == "rank 0 of A idle for 337.5 µs: transfer");
  CHECK(fact(facts, "whole gap") == "dependency 7.688 ms, transfer 337.5 µs");
  CHECK(fact(facts, "op behind it") == "0B0, rank 0");
  CHECK(fact(facts, "B − A").starts_with("+"));
  CHECK(fact(facts, "B − A").find(" before 0B0: 8.025 ms in A, ") != std::string::npos);
}

TEST_CASE("facts of an op in two runs: B minus A, whichever of them it is of") {
  const PaintedRunPtr run = painted_with();
  const PaintedRunPtr slow = painted_with({"/model/stages/2/forward_us=3000"});
  for (const bool frozen : {false, true}) {
    CAPTURE(frozen);
    const RunsOnAxis both = frozen ? on_one_axis(slow, {.others = {run->run}, .frozen = true})
                                   : on_one_axis(run, {.others = {slow->run}});
    const SeenRuns seen{.runs = {both.first.get(), both.others.front().get()}, .frozen = frozen};
    const TaskId op = op_of(*run, "2F0");
    for (const std::uint8_t number : {0, 1}) {
      const std::string told = fact(facts_of_op(seen, {op, number}), "B − A");
      CHECK(told == "begin ±0, length +2 ms (+200 %): 1 ms in A, 3 ms in B");
    }
    CHECK(seen.same_op({op, 0}, 1) == ShownOp(op, 1));
  }
}

TEST_CASE("facts: an op that the other run lacks is said to be missing there") {
  const PaintedRunPtr run = painted_with();
  const PaintedRunPtr fewer = painted_with({"/schedule/microbatches=4"});
  const RunsOnAxis both = on_one_axis(run, {.others = {fewer->run}});
  const SeenRuns seen{.runs = {both.first.get(), both.others.front().get()}};
  CHECK(fact(facts_of_op(seen, op_of(*run, "1F7")), "B − A") == "B has no such op");
  const ShownOp there = seen.same_op(op_of(*run, "1F3"), 1);
  CHECK(there == ShownOp(op_of(*fewer, "1F3"), 1));
  CHECK(seen.same_op(there, 0) == ShownOp(op_of(*run, "1F3"), 0));
}

TEST_CASE("area: ops of hours are counted by their lengths too") {
  const PaintedRunPtr run = painted_with({"/model/stages/2/forward_us=50000000000"});
  const Area all{0, run->lanes->span, 0, 4};
  for (const AreaRow& row : rows_of(all, *run->lanes, run->run->plan)) {
    std::uint64_t sum = 0;
    for (const std::uint32_t count : row.lengths) sum += count;
    CHECK(row.lengths.size() == length_steps);
    CHECK(sum == row.count);
  }
}

TEST_CASE("area: rows add up to the use of the area, and lengths to their counts") {
  const PaintedRunPtr run = painted_with({"/chance/jitter=0.2"});
  const std::int64_t span = run->lanes->span;
  CHECK(rc::check([&] {
    Area area;
    area.begin = *rc::gen::inRange<std::int64_t>(0, span);
    area.end = area.begin + *rc::gen::inRange<std::int64_t>(1, span - area.begin + 1);
    area.first_rank = *rc::gen::inRange(0, 4);
    area.end_rank = area.first_rank + *rc::gen::inRange(1, 5 - static_cast<int>(area.first_rank));
    const AreaUse use = use_of(area, *run->lanes, run->run->plan);
    std::uint64_t by_stage = 0;
    std::int64_t busy = 0;
    for (const AreaRow& row : rows_of(area, *run->lanes, run->run->plan)) {
      if (row.group == AreaGroup::stage) by_stage += row.count;
      if (row.group == AreaGroup::stage) busy += row.sum;
      if (row.group == AreaGroup::cause) RC_ASSERT(row.sum == use.by_cause[row.key]);
      if (row.group == AreaGroup::kind && !is_transfer(static_cast<Pass>(row.key))) {
        RC_ASSERT(row.sum == use.by_pass[row.key]);
      }
      RC_ASSERT(std::accumulate(row.lengths.begin(), row.lengths.end(), 0U) == row.count);
      RC_ASSERT(row.shortest <= row.mean());
      RC_ASSERT(row.mean() <= row.longest);
    }
    RC_ASSERT(by_stage == use.ops);
    RC_ASSERT(busy == use.busy);
  }));
}

TEST_CASE("area of two runs: changes are of the other run minus A, also of rows that one lacks") {
  const PaintedRunPtr a = painted_with();
  const PaintedRunPtr now =
      painted_with({"/model/stages/2/forward_us=3000", "/schedule/name=zb-h1"});
  const auto rows = [](const PaintedRun& run) {
    return rows_of({0, run.lanes->span, 0, 4}, *run.lanes, run.run->plan);
  };
  const auto change = [](const std::vector<AreaRow>& all, const char* title) {
    const auto row = std::find_if(all.begin(), all.end(),
                                  [&](const AreaRow& each) { return each.name == title; });
    REQUIRE(row != all.end());
    return row->change;
  };
  std::vector<AreaRow> of_a = rows(*a);
  std::vector<AreaRow> of_now = rows(*now);
  compare_rows(of_a, rows(*now), false);
  compare_rows(of_now, rows(*a), true);
  for (const std::vector<AreaRow>& each : {of_a, of_now}) {
    CHECK(change(each, "forward") == 16'000'000'000);
    CHECK(change(each, "stage 2") == 16'000'000'000);
  }
  for (const AreaRow& row : of_now) CHECK(change(of_a, row.name.c_str()) == row.change);
}

TEST_CASE("facts of a measured run: no slack on the critical path, and none is said to be known") {
  const std::string folder = std::string(PENSTOCK_ROOT) + "/tests/torch/traces/2.15.0-zb-h1/";
  const PaintedRunPtr run = painted(
      open_files({folder + "rank0.json.gz", folder + "rank1.json.gz"}).front(), ColourBy::pass);
  const auto slack = std::make_shared<const std::vector<float>>(slack_of(*run->run));
  const SeenRuns seen{.runs = {run.get()}, .slack = {slack}};
  std::vector<bool> on_path(run->run->plan.tasks());
  for (const PathStep& step : run->run->report.critical_path) {
    CHECK(fact(facts_of_op(seen, step.task), "slack").starts_with("none: "));
    on_path[step.task] = true;
  }
  std::size_t known = 0;
  for (TaskId task = 0; task < run->run->plan.tasks(); ++task) {
    const std::string told = fact(facts_of_op(seen, task), "slack");
    if (!on_path[task]) CHECK(!told.starts_with("none: "));
    known += told.ends_with(" until the run gets longer") ? 1 : 0;
  }
  CHECK(known > 0);
}

TEST_CASE("facts of an op of a trace without a pipeline: its name alone, for no more is known") {
  const testing::Scratch folder;
  const std::string file = folder.file(
      "rank0.json",
      R"({"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat": "kernel", "name": "gemm, wide",
          "ts": 10, "dur": 5, "pid": 0, "tid": 7, "args": {"device": 0, "stream": 7}}]})");
  const PaintedRunPtr run = painted(open_files({file}).front(), ColourBy::pass);
  const Facts facts = facts_of_op({.runs = {run.get()}}, 0);
  CHECK(facts.title == "gemm, wide");
  CHECK(facts.line.find("microbatch") == std::string::npos);
  CHECK(!has_slack(*run->run));
}

TEST_CASE("facts of an op of a cut microbatch name the microbatch and the slice") {
  const PaintedRunPtr run = painted_with({"/schedule/name=seq-1f1b", "/schedule/slices=2"});
  const Facts facts = facts_of_op({.runs = {run.get()}}, op_of(*run, "0F15"));
  CHECK(facts.title == "0F15: forward of stage 0, microbatch 7, slice 1");
  CHECK(facts.line.ends_with("microbatch 7, slice 1"));
}

}  // namespace
}  // namespace penstock
