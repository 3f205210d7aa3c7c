#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "experiments/input/formats/traces/nsys_trace.hpp"
#include "experiments/measure/measured_runs/rank_traces.hpp"
#include "tests/support/nsys_writer.hpp"
#include "tests/support/program.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"
#include "tests/support/traced_runs.hpp"
#include "validate/store/database.hpp"

namespace penstock::testing {
namespace {

std::string written(const Scratch& scratch, bool names_ops = true) {
  const RunResult run = run_of(three_stages(steady_order));
  std::string path = scratch.path("report.sqlite");
  write_nsys(path, *run.plan, run.timeline, names_ops);
  return path;
}

}  // namespace

TEST_CASE("nsys: an export is a trace for each process that ran kernels") {
  const Scratch scratch;
  const std::string path = written(scratch);
  REQUIRE(traces_in(path) == std::vector<std::string>{path + "#101", path + "#102", path + "#103"});
  const KinetoTrace trace = read_trace(path + "#101");
  CHECK(trace.device == "NVIDIA H100");
  CHECK(trace.base_ns == 1'700'000'000'000'000'000);
  REQUIRE(trace.works.size() == 13);  // six forwards, six backwards, and a copy
  CHECK(trace.launches.size() == 12);
  REQUIRE(trace.annotations.size() == 12);  // a moment is none
  CHECK(trace.names[trace.annotations[0].name] == "PP:0F0");
  CHECK(trace.annotations[0].span == KinetoSpan{5000, 8000});
  CHECK(trace.work_names[trace.works[0].name] == "gemm");
  CHECK(trace.lanes[trace.works[0].lane] == "stream 7");
  CHECK(trace.works[12].kind == KinetoWorkKind::copy);
  CHECK(trace.works[12].span == KinetoSpan{1000, 2000});
}

TEST_CASE("nsys: penstock trace reads an export as it reads traces of PyTorch's profiler") {
  const Desk desk;
  const std::string path = written(desk);
  const ProgramRun read = desk.run({"trace", path, "--timeline", "run.timeline", "--profile",
                                    "run.profile", "--scenario", "run.json"});
  CAPTURE(read.output);
  CAPTURE(read.errors);
  REQUIRE(read.code == 0);
  CHECK(says(read.output, "1f1b, 3 ranks, 6 microbatches"));
  const RunResult run = run_of(three_stages(steady_order));
  const Recording recording = read_timeline(content_of(desk.path("run.timeline")));
  CHECK(makespan(recording.plan, recording.timeline) == makespan(*run.plan, run.timeline));
  const ProgramRun one = desk.run({"trace", path + "#102", "--preview"});
  CHECK(says(one.output, "PP:1F0"));
}

// By default Nsight Systems traces a graph as one launch, without its kernels.
TEST_CASE("nsys: graphs that were traced as a whole are work as kernels are") {
  const RunResult run = run_of(three_stages(steady_order));
  for (const char* of : {"WHERE globalPid < 102 << 24", ""}) {
    const Desk desk;
    const std::string path = written(desk);
    Database file(path, Database::Access::write);
    const std::string kernels = "FROM CUPTI_ACTIVITY_KIND_KERNEL " + std::string(of);
    file.run(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE AS SELECT start, end, deviceId, 1 AS "
        "graphId, streamId, correlationId, globalPid " +
        kernels);
    file.run("DELETE " + kernels);
    const ProgramRun read = desk.run({"trace", path, "--timeline", "run.timeline"});
    CAPTURE(read.errors);
    REQUIRE(read.code == 0);
    const Recording recording = read_timeline(content_of(desk.path("run.timeline")));
    CHECK(makespan(recording.plan, recording.timeline) == makespan(*run.plan, run.timeline));
  }
}

TEST_CASE("nsys: files without kernels and other databases are refused") {
  const Scratch scratch;
  const auto refused = [&](const std::string& content) {
    const std::string path = scratch.file("bad.sqlite", content);
    return refused_with<InputError>([&] {
      for (const std::string& trace : traces_in(path)) read_trace(trace);
    });
  };
  CHECK(says(refused("SQLite format 3\0 and more"), "bad.sqlite: "));
  const std::string good = written(scratch);
  const std::string whole = content_of(good);
  CHECK(says(refused(whole.substr(0, whole.size() / 2)), "bad.sqlite: "));
  CHECK(refused(whole) == "accepted");
  CHECK_THROWS_WITH_AS(read_trace(good + "#999"), doctest::Contains("no process of this number"),
                       InputError);
}

TEST_CASE("nsys: names of devices and the start of the session may be missing, names may not") {
  const auto without = [](const std::string& sql) {
    const Scratch scratch;
    const std::string path = written(scratch);
    Database(path, Database::Access::write).run(sql);
    return read_trace(path + "#101");
  };
  const KinetoTrace bare =
      without("DROP TABLE TARGET_INFO_GPU; DROP TABLE TARGET_INFO_SESSION_START_TIME");
  CHECK(bare.device.empty());
  CHECK(bare.base_ns == 0);
  CHECK(bare.annotations.size() == 12);
  CHECK(without("ALTER TABLE TARGET_INFO_GPU RENAME TO TARGET_INFO_CUDA_GPU").device ==
        "NVIDIA H100");
  CHECK_THROWS_WITH_AS(without("DROP TABLE StringIds"),
                       doctest::Contains("StringIds: the export lacks this table or its column "
                                         "\"value\"; `nsys export --type sqlite`"),
                       InputError);
}

TEST_CASE("nsys: a table without a column that is read is refused with both") {
  struct Table {
    std::string name;
    std::vector<std::string> columns;
  };
  const std::vector<std::string> of_works{"start",    "end",      "correlationId",
                                          "deviceId", "streamId", "globalPid"};
  const std::vector<Table> tables{
      {"StringIds", {"id", "value"}},
      {"CUPTI_ACTIVITY_KIND_KERNEL", of_works},
      {"CUPTI_ACTIVITY_KIND_KERNEL", {"shortName"}},
      {"CUPTI_ACTIVITY_KIND_MEMCPY", of_works},
      {"CUPTI_ACTIVITY_KIND_RUNTIME", {"start", "correlationId", "globalTid"}},
      {"NVTX_EVENTS", {"start", "end", "text", "textId", "eventType", "globalTid"}}};
  for (const Table& table : tables) {
    for (const std::string& column : table.columns) {
      const Scratch scratch;
      const std::string path = written(scratch);
      Database(path, Database::Access::write)
          .run(fmt::format("ALTER TABLE {} RENAME COLUMN \"{}\" TO other", table.name, column));
      CHECK(says(refused_with<InputError>([&] { traces_in(path); }),
                 fmt::format("report.sqlite: {}: the export lacks this table or its column "
                             "\"{}\"; `nsys export --type sqlite`",
                             table.name, column)));
    }
  }
}

// The session starts at 1.7e18 ns: with it, 2.3e18 ns end at the last time of all.
TEST_CASE("nsys: an event whose times cannot be is refused with its table and row") {
  const auto refused = [](const std::string& time) {
    const Scratch scratch;
    const std::string path = written(scratch);
    Database file(path, Database::Access::write);
    const std::int64_t row = file.whole("SELECT rowid FROM NVTX_EVENTS WHERE text = 'PP:0F0'");
    file.run(fmt::format("UPDATE NVTX_EVENTS SET {} WHERE rowid = {}", time, row));
    return replaced(refused_with<InputError>([&] { read_trace(path + "#101"); }),
                    fmt::format("row {} ", row), "its row ");
  };
  CHECK(says(refused("end = 4999"),
             "report.sqlite: NVTX_EVENTS: its row lasts from 5000 to 4999 ns; an "
             "event ends after it begins"));
  CHECK(says(refused("start = -5"),
             "its row lasts from -5 to 8000 ns; an event ends after it begins, "
             "begins at 0 or later"));
  CHECK(says(refused("end = 2300000000000000001"), "NVTX_EVENTS: its row lasts from "));
}

TEST_CASE("nsys: an event may end at the last time of all") {
  const Scratch scratch;
  const std::string path = written(scratch);
  Database(path, Database::Access::write)
      .run("UPDATE NVTX_EVENTS SET end = 2300000000000000000 WHERE text = 'PP:0F0'");
  CHECK_NOTHROW(read_trace(path + "#101"));
}

TEST_CASE("nsys: where a process is no rank, the error says how others are named") {
  const Desk desk;
  const std::string path = desk.path("report.db");
  std::filesystem::rename(written(desk), path);
  Database file(path, Database::Access::write);
  file.run(
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT start, end, deviceId, contextId, "
      "streamId, 0, 90 << 24, demangledName, shortName FROM CUPTI_ACTIVITY_KIND_KERNEL "
      "LIMIT 1");
  const ProgramRun read = desk.run({"trace", path});
  CHECK(read.code == 3);
  CHECK(says(read.errors, "report.db#90: no annotation of it matches"));
  CHECK(says(read.errors, "naming the others: FILE#PROCESS ..."));
  const ProgramRun named = desk.run({"trace", path + "#101", path + "#102", path + "#103"});
  CHECK(named.code == 0);
  file.run("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE globalPid <> 90 << 24");
  const ProgramRun alone = desk.run({"trace", path});
  CHECK(says(alone.errors, "report.db#90: no annotation of it matches"));
  CHECK(!says(alone.errors, "FILE#PROCESS"));
}

TEST_CASE("lanes: of traces without a pipeline, ranges stand above the kernels of each rank") {
  const Scratch scratch;
  const std::string path = written(scratch, false);
  const Recording lanes = lanes_of_traces(traces_in(path));
  const Plan& plan = lanes.plan;
  CHECK(plan.rank_names == std::vector<std::string>{"0 · thread 9", "0 · stream 7", "0 · stream 8",
                                                    "1 · thread 9", "1 · stream 7", "2 · thread 9",
                                                    "2 · stream 7"});
  CHECK(plan.tasks() == 3 * 24 + 1);
  CHECK(task_text(plan, 0) == "memcpy");
  CHECK(lanes.timeline.begin[0] == Time{});
  CHECK(lanes.timeline.end[0] == Time{1'000'000});
  CHECK(task_text(plan, 1) == "work");
  CHECK(lanes.timeline.begin[1] == Time{4'000'000});
}

TEST_CASE(
    "lanes: ranges within others have lanes of their own, and all lanes are one after another") {
  const Scratch scratch;
  const std::string path = scratch.file("t.json", R"({"traceEvents": [
    {"ph":"X","cat":"user_annotation","name":"outer","pid":1,"tid":2,"ts":1,"dur":9},
    {"ph":"X","cat":"user_annotation","name":"inner","pid":1,"tid":2,"ts":2,"dur":3},
    {"ph":"X","cat":"user_annotation","name":"inner","pid":1,"tid":2,"ts":6,"dur":3},
    {"ph":"X","cat":"user_annotation","name":"outer","pid":1,"tid":2,"ts":10,"dur":5}]})");
  const Recording lanes = lanes_of_traces({path});
  CHECK(lanes.plan.rank_names == std::vector<std::string>{"0 · thread 2", "0 · thread 2"});
  std::vector<std::string> order;
  for (TaskId task = 0; task < lanes.plan.tasks(); ++task) {
    order.push_back(
        fmt::format("{} {}", task_text(lanes.plan, task), lanes.plan.class_of(task).resource));
  }
  CHECK(order == std::vector<std::string>{"outer 0", "inner 1", "inner 1", "outer 0"});
  CHECK_THROWS_WITH_AS(lanes_of_traces({scratch.file("e.json", R"({"traceEvents": []})")}),
                       doctest::Contains("no kernels, annotations or operators"), InputError);
  CHECK(short_kernel_name("void gemm_kernel<float, 128>(float*)") == "gemm_kernel");
  CHECK(short_kernel_name("(anonymous)") == "(anonymous)");
}

TEST_CASE("lanes: an event a hundred days behind the first is named with its file") {
  const Scratch scratch;
  const std::string path = scratch.file("far.json", R"({"traceEvents": [
    {"ph":"X","cat":"user_annotation","name":"F0","pid":1,"tid":2,"ts":0,"dur":5},
    {"ph":"X","cat":"user_annotation","name":"F1","pid":1,"tid":2,"ts":1000000000000000,"dur":5}]})");
  CHECK(refused_file(path, [&] { lanes_of_traces({path}); }) ==
        "\"F1\" at ts 1000000000000000 ends more than a hundred days after \"F0\" at ts 0 of " +
            path + "; leave one of the two out");
}

}  // namespace penstock::testing
