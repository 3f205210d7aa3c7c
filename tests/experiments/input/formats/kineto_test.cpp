#include <doctest/doctest.h>
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "experiments/input/files/byte_stream.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/formats/traces/kineto_trace.hpp"
#include "sim/base/error.hpp"
#include "tests/support/model_files.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

KinetoTrace read(const std::string& text) {
  const Scratch scratch;
  return read_kineto(scratch.file("t.json", text));
}

/// A trace with these events.
std::string with_events(const std::string& events) {
  return R"({"baseTimeNanoseconds": 5, "traceEvents": [)" + events + "]}";
}

/// What is said of a file, behind its name.
std::string kineto_refusal(const std::string& content, const std::string& name = "t.json") {
  const Scratch scratch;
  const std::string path = scratch.file(name, content);
  return refused_file(path, [&] { read_kineto(path); });
}

/// An event of which one value is another.
std::string kernel_with(const std::string& key, const std::string& value) {
  std::string text = R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1.5,"dur":2.25})";
  const std::size_t at = text.find("\"" + key + "\":") + key.size() + 3;
  return text.replace(at, text.find_first_of(",}", at) - at, value);
}

constexpr std::int64_t most = 4'000'000'000'000'000'000;

/// Writes a trace of this many events of each of some kinds, event by event.
void write_many_events(const std::string& path, const std::vector<const char*>& kinds, int count) {
  std::ofstream file(path);
  file << R"({"baseTimeNanoseconds": 5, "traceEvents": [{"ph": "M"})";
  for (int i = 0; i < count; ++i) {
    for (const char* kind : kinds) {
      file << fmt::format(R"(,
{{"ph": "X", "cat": "{}", "name": "aten::add_", "pid": 4711, "tid": 4711, "ts": {}.250, "dur": 1.5,)"
                          R"( "args": {{"External id": {}, "correlation": {}}}}})",
                          kind, 2 * i, i, i + 1);
    }
  }
  file << "]}";
}

/// The most bytes in use at any block while a trace is read, beyond those before.
std::size_t bytes_while_reading(const std::string& path, std::size_t& kept) {
  const auto in_use = [] {
    const struct mallinfo2 now = mallinfo2();
    return now.uordblks + now.hblkhd;
  };
  const std::size_t before = in_use();
  std::size_t largest = before;
  const KinetoTrace trace =
      read_kineto(path, [&](double /*share*/) { largest = std::max(largest, in_use()); });
  kept = trace.works.size() + trace.launches.size() + trace.operators.size();
  return largest - before;
}

}  // namespace

TEST_CASE("kineto: a decimal number of microseconds keeps its nanoseconds, however large it is") {
  CHECK(nanoseconds_of("198093488368.463", most) == 198'093'488'368'463);
  CHECK(nanoseconds_of("1666149715033200.001", most) == 1'666'149'715'033'200'001);
  CHECK(nanoseconds_of("0.001", most) == 1);
  CHECK(nanoseconds_of("-2.5", most) == -2500);
  CHECK(nanoseconds_of("7", most) == 7000);
  CHECK(nanoseconds_of("1.5e3", most) == 1'500'000);
  CHECK(nanoseconds_of("15E-1", most) == 1500);
  CHECK(nanoseconds_of("1.2345", most) == 1235);  // 1234.5 ns, half away from zero
  CHECK(nanoseconds_of("0.0004", most) == 0);
  CHECK(nanoseconds_of("1e-2000000000", most) == 0);
  CHECK(nanoseconds_of("0e2000000000", most) == 0);
}

TEST_CASE("kineto: what is no number, or too large for the clock, is no time") {
  for (const char* text : {"", "-", ".", "NaN", "1.2.3", "1e", "1e99", "1e2000000000", "4e15x",
                           "4000000000000001", "1e99999999999"}) {
    CAPTURE(text);
    CHECK_FALSE(nanoseconds_of(text, most).has_value());
  }
  CHECK(nanoseconds_of("4000000000000000", most) == most);
}

TEST_CASE(
    "kineto: numbers that JSON lacks and bytes that are not UTF-8 may stand where nothing is "
    "read") {
  std::string event =
      R"({"ph":"X","cat":"kernel","name":"k\u00e9 NaN \"N?l","pid":0,"tid":7,"ts":1.5,
    "dur":2.25,"args":{"a":[NaN,-Infinity,-1.5,Infinity],"b":"é -Infinity"}})";
  event[event.find('?')] = '\xE9';
  const KinetoTrace trace = read(with_events(event));
  REQUIRE(trace.works.size() == 1);
  CHECK(trace.work_names.front() == "k\u00e9 NaN \"N\uFFFDl");
  CHECK(trace.works[0].span == KinetoSpan{1500, 3750});
  CHECK(says(kineto_refusal(with_events("Nan")), "syntax error"));
}

// As Kineto writes it: words as processes, keys twice, lists in arguments, events of no interest.
TEST_CASE("kineto: kernels, launches and annotations are kept, everything else is passed over") {
  const KinetoTrace trace = read(R"({
  "schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU A"}, {"name": "GPU B"}],
  "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, "pg_config": [{"ranks": [0]}]},
  "displayTimeUnit": "ms", "baseTimeNanoseconds": 1743521598000000000,
  "traceEvents": [
  {"ph": "X", "cat": "Trace", "ts": 1.0, "dur": 2.0, "pid": "Spans", "tid": "PyTorch", "name": "x"},
  {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "python"}},
  {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": "broken", "dur": -1},
  {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 198093488368.463,
   "dur": 425.453, "args": {"External id": 3, "External id": 3, "correlation": 12, "grid": [1, 2]}},
  {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy", "pid": 0, "tid": 8, "ts": 2, "dur": 1, "args": {}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 10, "ts": 1.5,
   "dur": 0.5, "args": {"correlation": 12}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 9, "tid": 10, "ts": 3,
   "dur": 1, "args": {}},
  {"ph": "X", "cat": "user_annotation", "name": "PP:0F0", "pid": 9, "tid": 10, "ts": 1, "dur": 2},
  {"ph": "X", "cat": "gpu_user_annotation", "name": "PP:0F0", "pid": 0, "tid": 7, "ts": 4.999,
   "dur": 2.002},
  {"ph": "s", "id": 12, "pid": 9, "tid": 10, "ts": 1.5, "cat": "ac2g", "name": "ac2g"},
  7, "words", null, [1, [2]],
  {"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 8.0}
  ], "traceName": "x" })");
  CHECK(trace.rank == 3);
  CHECK(trace.world_size == 8);
  CHECK(trace.backend == "nccl");
  CHECK(trace.device == "GPU A");
  CHECK(trace.base_ns == 1'743'521'598'000'000'000);
  CHECK(trace.events == 15);
  REQUIRE(trace.works.size() == 2);
  CHECK(trace.works[0].span == KinetoSpan{198'093'488'368'463, 198'093'488'793'916});
  CHECK(trace.works[0].correlation == 12);
  CHECK(trace.works[0].kind == KinetoWorkKind::compute);
  CHECK(trace.works[1].kind == KinetoWorkKind::copy);
  CHECK(trace.works[0].lane != trace.works[1].lane);
  REQUIRE(trace.launches.size() == 1);
  CHECK(trace.launches[0].at_ns == 1500);
  REQUIRE(trace.annotations.size() == 2);
  CHECK(trace.annotations[0].span == KinetoSpan{1000, 3000});
  CHECK(trace.annotations[1].span == KinetoSpan{5000, 7000});  // without Kineto's two nanoseconds
  CHECK(trace.annotations[1].on_device);
  CHECK(trace.names == std::vector<std::string>{"PP:0F0"});
}

TEST_CASE("kineto: sends, receives and collectives are told apart by name and collective") {
  const auto kind = [](const std::string& name, const std::string& collective) {
    const KinetoTrace trace =
        read(with_events(fmt::format(R"({{"ph":"X","cat":"kernel","name":"{}","ts":1,"dur":1,)"
                                     R"("args":{{"Collective name":"{}"}}}})",
                                     name, collective)));
    REQUIRE(trace.works.size() == 1);
    return trace.works[0].kind;
  };
  const std::string message = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";
  CHECK(kind(message, "send") == KinetoWorkKind::send);
  CHECK(kind(message, "recv") == KinetoWorkKind::receive);
  CHECK(kind(message, "coalesced") == KinetoWorkKind::exchange);
  CHECK(kind(message, "") == KinetoWorkKind::exchange);
  CHECK(kind(message, "all_to_allv") == KinetoWorkKind::collective);
  CHECK(kind("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "") == KinetoWorkKind::collective);
  CHECK(kind("gemm", "") == KinetoWorkKind::compute);
}

TEST_CASE("kineto: a packed trace is read as a plain one, whatever its name") {
  const std::string text = with_events(kernel_with("ts", "3"));
  const Scratch scratch;
  CHECK(read_kineto(scratch.file("a.json.gz", gzip(text))).works.size() == 1);
  CHECK(read_kineto(scratch.file("b.json", gzip(text))).works.size() == 1);
}

TEST_CASE("kineto: a long trace is read in memory that does not grow with it") {
  struct Case {
    std::vector<const char*> kinds;
    int count;
    std::size_t most_bytes;
  };
  // The blocks that each kind keeps in memory, and as much again for the rest.
  const Case of_host{{"cpu_op"}, 240'000, 3'000'000};
  const Case of_device{{"cuda_runtime", "kernel"}, 120'000, 6'000'000};
  for (const Case& each : {of_host, of_device}) {
    CAPTURE(each.kinds.front());
    const Scratch scratch;
    const std::string path = scratch.path("long.json");
    write_many_events(path, each.kinds, each.count);
    REQUIRE(std::filesystem::file_size(path) > 25'000'000);
    std::size_t kept = 0;
    CHECK(bytes_while_reading(path, kept) < each.most_bytes);
    CHECK(kept == each.kinds.size() * static_cast<std::size_t>(each.count));
  }
}

TEST_CASE("kineto: a broken event is refused by its number") {
  CHECK(kineto_refusal(with_events("{}, " + kernel_with("ts", "\"1.5\""))) ==
        "/traceEvents/1/ts: not a number of microseconds below 4e15");
  CHECK(kineto_refusal(with_events(kernel_with("dur", "-0.001"))) ==
        "/traceEvents/0/dur: it is negative; an event ends after it begins");
  CHECK(kineto_refusal(with_events(kernel_with("dur", "1e300"))) ==
        "/traceEvents/0/dur: not a number of microseconds below 4e15");
  CHECK(kineto_refusal(with_events(R"({"ph":"X","cat":"kernel","name":"k","dur":1})")) ==
        "/traceEvents/0: it has no \"ts\"; microseconds are needed");
  CHECK(kineto_refusal(with_events(kernel_with("ts", "[1]"))) ==
        "/traceEvents/0: it has no \"ts\"; microseconds are needed");
  CHECK(kineto_refusal(with_events("{}, " + kernel_with("ts", "NaN"))) ==
        "/traceEvents/1/ts: not a number of microseconds below 4e15");
  CHECK(kineto_refusal(with_events(kernel_with("dur", "1e999"))).starts_with("/traceEvents/0: "));
}

// A base of 5 ns leaves 5 ns less than 4e15 us to an event.
TEST_CASE("kineto: an event that ends behind the clock is refused, wherever the base stands") {
  const std::string first = kernel_with("ts", "1") + ", ";
  const auto ending = [&](const std::string& us) {
    return first + replaced(kernel_with("ts", "3999999999999999"), "2.25", us);
  };
  CHECK(kineto_refusal(with_events(ending("0.995"))) == "accepted");
  const std::string refusal =
      "/traceEvents/1: it ends later than 4000000000000000000 ns after 1970; \"ts\" and \"dur\" "
      "are microseconds from /baseTimeNanoseconds (5) on";
  CHECK(kineto_refusal(with_events(ending("0.996"))) == refusal);
  CHECK(kineto_refusal(R"({"traceEvents": [)" + ending("0.996") +
                       R"(], "baseTimeNanoseconds": 5})") == refusal);
}

TEST_CASE("kineto: of a launch, only the begin is needed") {
  const std::string launch = R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,)"
                             R"("tid":1,"ts":1.5,"dur":-1,"args":{"correlation":12}})";
  const KinetoTrace trace = read(with_events(launch));
  REQUIRE(trace.launches.size() == 1);
  CHECK(trace.launches[0].at_ns == 1500);
  CHECK(kineto_refusal(with_events(replaced(launch, "1.5", "null"))) ==
        "/traceEvents/0/ts: not a number of microseconds below 4e15");
}

TEST_CASE("kineto: a header that cannot be is refused by its place") {
  CHECK(kineto_refusal(R"({"baseTimeNanoseconds": 1e9, "traceEvents": []})")
            .starts_with("/baseTimeNanoseconds: a whole number from 0 to "));
  CHECK(kineto_refusal(R"({"baseTimeNanoseconds": -1, "traceEvents": []})")
            .starts_with("/baseTimeNanoseconds: "));
  CHECK(kineto_refusal(R"({"distributedInfo": {"rank": -1}, "traceEvents": []})") ==
        "/distributedInfo/rank: a whole number from 0 is needed");
  CHECK(kineto_refusal(R"({"distributedInfo": {"world_size": 99999999999}, "traceEvents": []})") ==
        "/distributedInfo/world_size: a whole number from 0 is needed");
  CHECK(kineto_refusal(R"({"traceEvents": {}})") ==
        "/traceEvents: it is an object; a list of events is needed");
  CHECK(kineto_refusal(R"({"traceEvents": 1000000000})") ==
        "/traceEvents: a list of events is needed");
}

TEST_CASE("kineto: what is no trace is refused, and nothing crashes, hangs or grows") {
  CHECK(kineto_refusal("") == "the file is empty; a JSON document is needed");
  CHECK(kineto_refusal("{}").starts_with("it has no \"traceEvents\""));
  CHECK(kineto_refusal("[]").starts_with("it is a list; "));
  CHECK(kineto_refusal("17").starts_with("it is no trace; "));
  CHECK(kineto_refusal(std::string(100'000, '[')).starts_with("it is a list"));
  CHECK(kineto_refusal(with_events(std::string(100'000, '[')))
            .starts_with("it is nested more than 64"));
  std::string deep = R"({"traceEvents": [)";
  for (int i = 0; i < 100'000; ++i) deep += R"({"args":)";
  CHECK(kineto_refusal(deep).starts_with("it is nested more than 64"));
  CHECK(kineto_refusal(R"({"traceEvents": [)").starts_with("line 1, column "));
  CHECK(kineto_refusal(std::string("\x1f\x8b\x08garbage\0\xff", 12)).starts_with("corrupt gzip"));
  CHECK(kineto_refusal(std::string("\0\xff\xfe{}", 5)).starts_with("line 1, column "));
  CHECK(kineto_refusal("PENSTOCK\1\2\3").starts_with("line 1, column "));
}

TEST_CASE("kineto: a packed trace that was cut off or damaged is refused as such") {
  std::string events;
  for (int i = 0; i < 2000; ++i) {
    events +=
        (i == 0 ? "" : ",") + kernel_with("ts", fmt::format("{}.{:03}", i * 37 % 1000, i % 999));
  }
  const std::string packed = gzip(with_events(events));
  CHECK(kineto_refusal(packed.substr(0, packed.size() / 2), "t.json.gz") == "truncated gzip file");
  CHECK(kineto_refusal(packed.substr(0, packed.size() - 4), "t.json.gz") == "truncated gzip file");
  std::string damaged = packed;
  damaged[packed.size() / 2] = static_cast<char>(damaged[packed.size() / 2] ^ 0x55);
  CHECK(kineto_refusal(damaged, "t.json.gz") != "accepted");
  // Behind a whole member a damaged one, which zlib's own reader would leave out unsaid.
  std::string member = gzip(" ");
  member[0] = 'x';
  CHECK(kineto_refusal(packed + member, "t.json.gz").ends_with(": incorrect header check"));
  CHECK(kineto_refusal(packed + gzip(" "), "t.json.gz") == "accepted");
}

TEST_CASE("kineto: files that cannot be read are refused") {
  const Scratch scratch;
  CHECK_THROWS_WITH_AS(
      read_kineto(scratch.path("none.json")),
      (scratch.path("none.json") + ": cannot open: No such file or directory").c_str(), InputError);
  CHECK_THROWS_WITH_AS(read_kineto(scratch.path("")),
                       (scratch.path("") + ": is a folder, not a file").c_str(), InputError);
}

// Blocks of the stream are 256 KiB: a value that is larger than all that may come between marks.
TEST_CASE("kineto: a stream refuses more than it was told, in all or without a mark") {
  const Scratch scratch;
  const std::string path = scratch.file("bytes", std::string(3'000'000, 'x'));
  const auto run_through = [&](std::uint64_t most_bytes, std::uint64_t unmarked, bool marks) {
    ByteStream stream(path, most_bytes, unmarked);
    std::size_t count = 0;
    for (; !stream.ended(); stream.advance()) {
      ++count;
      if (marks) stream.mark();
    }
    return count;
  };
  CHECK(run_through(3'000'000, 4'000'000, false) == 3'000'000);
  CHECK(run_through(3'000'000, 1000, true) == 3'000'000);
  CHECK_THROWS_WITH_AS(run_through(2'999'999, 4'000'000, false),
                       "it is larger than 2999999 bytes when unpacked", InputError);
  CHECK_THROWS_WITH_AS(run_through(3'000'000, 1'000'000, false),
                       "a single value is larger than 1000000 bytes", InputError);
}

}  // namespace penstock::testing
