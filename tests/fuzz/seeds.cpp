#include <filesystem>
#include <fstream>

#include "experiments/input/files/byte_stream.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/run.hpp"
#include "sim/report/memory.hpp"
#include "sim/timeline/timeline_file.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "validate/store/database.hpp"
#include "validate/store/profile_store.hpp"

namespace penstock::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr const char* small_scenario = R"({"penstock": 1,
  "model": {"stages": [{"forward_us": 1, "backward_us": 2, "stash_bytes": 4},
                       {"forward_us": 1, "backward_us": 2, "stash_bytes": 4}]},
  "hardware": {"name": "ideal", "latency_us": 1},
  "schedule": {"name": "1f1b", "microbatches": 2}})";

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string small_timeline() {
  RunResult result = run(parse_scenario(small_scenario, "-"));
  memory_peaks(*result.plan, result.costs, result.timeline, &result.timeline.memory);
  return write_timeline(*result.plan, result.timeline, result.title);
}

/// A store with a row and its repetition.
void write_small_store(const std::string& path) {
  ProfileStore store(path, ProfileStore::Access::create);
  const ProfileRow row{.point = {"gemm", "forward", "k=4 m=4 n=4", "solo"},
                       .build = "0123",
                       .environment = {{"cpu", "one"}, {"cores", "2"}},
                       .canary_ns = 100,
                       .samples_ns = {10, 11, 12},
                       .measured_at = "2026-11-21T18:40:00Z"};
  const std::vector<RowId> ids = store.add(std::span(&row, 1));
  const StateChange change{.id = ids.front(), .state = RowState::retired, .why = "old"};
  store.change(std::span(&change, 1), "2026-11-22T18:40:00Z");
}

/// What Nsight Systems exports of one kernel, its launch and a range around it.
void write_small_export(const std::string& path) {
  Database file(path, Database::Access::create);
  file.run(
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, correlationId, deviceId, streamId, "
      "globalPid, shortName);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, correlationId, globalTid);"
      "CREATE TABLE NVTX_EVENTS (start, end, globalTid, text, textId, eventType);"
      "CREATE TABLE TARGET_INFO_GPU (name); INSERT INTO TARGET_INFO_GPU VALUES ('a device');"
      "INSERT INTO StringIds VALUES (1, 'gemm');"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 3, 0, 7, 16777216, 1);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (5, 3, 16777217);"
      "INSERT INTO NVTX_EVENTS VALUES (1, 30, 16777217, '0F0', NULL, 59);");
}

}  // namespace

void write_seeds(const std::string& folder) {
  const fs::path place(folder);
  const std::string name(chosen_target().name);
  if (name == "timeline") write(place / "small.timeline", small_timeline());
  if (name == "run" || name == "scenario") write(place / "small.json", small_scenario);
  if (name == "store") write_small_store((place / "small.store").string());
  if (name == "nsys") write_small_export((place / "small.sqlite").string());
  if (name != "kineto_gz") return;
  write(place / "empty.gz", gzip(R"({"traceEvents": []})"));
  write(place / "one.gz", gzip(R"({"traceEvents": [{"ph":"X","cat":"kernel","name":"k","pid":0,)"
                               R"("tid":7,"ts":1.5,"dur":2.25}]})"));
}

}  // namespace penstock::fuzz
