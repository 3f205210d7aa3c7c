#include "tests/support/nsys_writer.hpp"

#include <fmt/format.h>

#include "validate/store/database.hpp"

namespace penstock::testing {
namespace {

constexpr const char* schema = R"(
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER, name TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,
  deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
  demangledName INTEGER, shortName INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER,
  globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT,
  globalTid INTEGER, textId INTEGER);
INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'void gemm<float>(float*)'), (3, 'work');
INSERT INTO TARGET_INFO_GPU VALUES (0, 0, 'NVIDIA H100');
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000, '');
)";

std::int64_t nanoseconds(Time time) { return time.picoseconds / 1000 + 5000; }

}  // namespace

void write_nsys(const std::string& path, const Plan& plan, const Timeline& timeline,
                bool names_ops) {
  Database file(path, Database::Access::create);
  Transaction all(file);
  file.run(schema);
  Statement range(file, "INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, ?, ?)");
  Statement launch(file, "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, 0)");
  Statement kernel(file,
                   "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, 1, 7, ?, ?, 2, 1)");
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (is_transfer(work.pass)) continue;
    const std::int64_t process = (101LL + work.resource) << 24;
    const std::int64_t begin = nanoseconds(timeline.begin[task]);
    const std::int64_t end = nanoseconds(timeline.end[task]);
    const std::int64_t number = 1 + static_cast<std::int64_t>(task);
    const std::string name = "PP:" + task_text(plan, task);
    if (names_ops) {
      range.with(begin, end, name, process + 9, std::optional<std::int64_t>()).finish();
    } else {
      range.with(begin, end, std::optional<std::int64_t>(), process + 9, std::int64_t{3}).finish();
    }
    launch.with(begin, begin + 1, process + 9, number).finish();
    kernel.with(begin, end, std::int64_t{work.resource}, number, process).finish();
  }
  const std::int64_t first = 101LL << 24;
  file.run(
      fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1000, 2000, 0, 8, 0, {}, 64);"
                  "INSERT INTO NVTX_EVENTS VALUES (1500, NULL, 34, 'a moment', {}, NULL)",
                  first, first + 9));
  all.commit();
}

}  // namespace penstock::testing
