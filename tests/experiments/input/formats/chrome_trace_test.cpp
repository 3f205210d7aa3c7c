#include "experiments/input/formats/chrome_trace.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "experiments/input/files/byte_stream.hpp"
#include "experiments/input/formats/traces/trace_events.hpp"
#include "sim/base/error.hpp"
#include "sim/engines/events.hpp"
#include "sim/plan/lower.hpp"
#include "sim/report/memory.hpp"
#include "tests/support/ruled_system.hpp"
#include "tests/support/says.hpp"

namespace penstock {
namespace {

using nlohmann::json;

struct Run {
  Plan plan;
  Costs costs;
  Timeline timeline;
};

struct Picoseconds {
  std::int64_t forward = 4'000'000;
  std::int64_t backward = 10'000'000;
  std::int64_t occupies = 500'000;
  std::int64_t latency = 1'250'000;
};

Run run_order(const Schedule& schedule, const Placement& placement, const Picoseconds& cost,
              Overlap overlap = Overlap::serial, const Extras& extras = {}) {
  Run run{.plan = std::get<Plan>(lower(schedule, placement, overlap, extras))};
  run.plan.schedule = "1f1b";
  for (const WorkClass& work : run.plan.classes) {
    const bool moves = is_transfer(work.pass);
    const std::int64_t computes = work.pass == Pass::forward ? cost.forward : cost.backward;
    run.costs.duration.push_back({moves ? cost.occupies : work.follows_partner ? 0 : computes});
    run.costs.latency.push_back({moves ? cost.latency : 0});
  }
  run.costs.bytes.assign(run.plan.buffers.size(), 100);
  run.timeline = relax({run.plan, run.costs});
  memory_peaks(run.plan, run.costs, run.timeline, &run.timeline.memory);
  return run;
}

Schedule one_f_one_b(std::uint32_t ranks, std::uint32_t microbatches) {
  return make_schedule(testing::rule("1f1b"), Placement::loop(ranks, 1), {microbatches, {}});
}

Run four_ranks(const Picoseconds& cost = {}) {
  return run_order(one_f_one_b(4, 8), Placement::loop(4, 1), cost);
}

/// Three ranks; the fused cell of rank 1 reads an activation and a gradient.
Run fused_cell() {
  Schedule schedule(3);
  for (std::uint32_t rank : {0u, 1u, 2u}) {
    auto& order = schedule.on(Rank{rank});
    const auto add = [&](Pass pass, std::uint32_t microbatch, bool joined = false) {
      order.emplace_back(pass, Stage{rank}, Microbatch{microbatch}, joined);
    };
    add(Pass::forward, 0);
    if (rank == 2) add(Pass::backward, 0);
    add(Pass::forward, 1, /*joined=*/rank == 1);
    if (rank != 2) add(Pass::backward, 0);
    add(Pass::backward, 1);
  }
  return run_order(schedule, Placement::loop(3, 1), {}, Overlap::fused);
}

std::string text_of(const Run& run, std::string_view title = "a title") {
  std::string text;
  write_chrome_trace(run.plan, run.costs, run.timeline, title,
                     [&](std::string_view piece) { text += piece; });
  return text;
}

/// As viewers do it: each number is rounded on its own.
std::int64_t nanoseconds(const json& microseconds) {
  return std::llround(microseconds.get<double>() * 1000);
}

using Thread = std::pair<std::uint32_t, std::uint32_t>;
Thread thread_of(const json& event) { return {event["pid"], event["tid"]}; }

std::vector<json> of_phase(const json& trace, std::string_view phase) {
  std::vector<json> found;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == phase) found.push_back(event);
  }
  return found;
}

/// "rank 02/send" for each thread.
std::map<Thread, std::string> thread_names(const json& trace) {
  std::map<std::uint32_t, std::string> process;
  std::map<Thread, std::string> names;
  for (const json& event : of_phase(trace, "M")) {
    const std::uint32_t pid = event["pid"];
    if (event["name"] == "process_name") process[pid] = event["args"]["name"];
    if (event["name"] == "thread_name") {
      names[thread_of(event)] = process[pid] + "/" + event["args"]["name"].get<std::string>();
    }
  }
  return names;
}

/// The name of the slice that an arrow's end is bound to; empty without exactly one.
std::string slice_around(const json& trace, const json& arrow) {
  std::string found;
  for (const json& slice : of_phase(trace, "X")) {
    if (thread_of(slice) != thread_of(arrow)) continue;
    const std::int64_t at = nanoseconds(arrow["ts"]);
    const std::int64_t begin = nanoseconds(slice["ts"]);
    if (at < begin || at >= std::max(begin + nanoseconds(slice["dur"]), begin + 1)) continue;
    if (!found.empty()) return "";
    found = slice["name"];
  }
  return found;
}

/// Slices of a thread neither overlap nor start together, as viewers count them.
void check_slices_are_apart(const json& trace) {
  std::map<Thread, std::int64_t> free_from;
  for (const json& slice : of_phase(trace, "X")) {
    CAPTURE(slice.dump());
    const std::int64_t begin = nanoseconds(slice["ts"]);
    const auto [last, is_first] = free_from.try_emplace(thread_of(slice), begin);
    CHECK(begin >= last->second);
    last->second = std::max(begin + nanoseconds(slice["dur"]), begin + 1);
  }
}

/// Every arrow has two ends with the same name, each inside of a slice, the first not after the
/// other.
void check_arrows_are_bound(const json& trace, std::size_t count) {
  const std::vector<json> starts = of_phase(trace, "s");
  const std::vector<json> ends = of_phase(trace, "f");
  REQUIRE(starts.size() == count);
  REQUIRE(ends.size() == count);
  std::map<std::uint64_t, json> start_of;
  for (const json& start : starts) start_of[start["id"]] = start;
  CHECK(start_of.size() == count);
  for (const json& end : ends) {
    const json& start = start_of.at(end["id"]);
    CHECK(end["bp"] == "e");
    CHECK(end["name"] == start["name"]);
    CHECK(end["cat"] == start["cat"]);
    CHECK(nanoseconds(start["ts"]) <= nanoseconds(end["ts"]));
    CHECK(slice_around(trace, start) == slice_around(trace, end));
    CHECK(slice_around(trace, end).front() == (end["name"] == "gradient" ? 'B' : 'F'));
  }
}

}  // namespace

TEST_CASE("trace: however short the stretches that are made at once, the events are the same") {
  for (const Run& run : {four_ranks(), fused_cell()}) {
    const TraceEvents trace(run.plan, run.timeline);
    const auto texts = [&](std::size_t stretch_events) {
      std::vector<std::string> all;
      trace.for_each(
          [&](const TraceEvent& event) {
            all.push_back(fmt::format("{} {} {} {} {} {} {}", event.at.picoseconds,
                                      event.length.picoseconds, static_cast<int>(event.kind),
                                      event.rank, event.lane, event.task, event.value));
          },
          stretch_events);
      return all;
    };
    const std::vector<std::string> whole = texts(1'000'000);
    CHECK(whole.size() <= trace.about_events());
    for (const std::size_t stretch : {1, 3, 20}) CHECK(texts(stretch) == whole);
  }
}

TEST_CASE("a trace has a process a rank, with threads for computing, sending and receiving") {
  const json trace = json::parse(text_of(four_ranks()));
  std::set<std::string> names;
  for (const auto& [thread, name] : thread_names(trace)) names.insert(name);
  for (const char* rank : {"rank 00", "rank 01", "rank 02", "rank 03"}) {
    for (const char* thread : {"/compute", "/send", "/recv"}) {
      CHECK(names.count(std::string(rank) + thread) == 1);
    }
  }
  for (const json& event : of_phase(trace, "M")) CHECK_FALSE(event.contains("ts"));
  for (const json& event : trace["traceEvents"]) {
    CHECK(event["pid"].is_number_unsigned());
    CHECK(event["tid"].is_number_unsigned());
    CHECK(event["cat"].is_string());
    // A viewer would take any other thread with its process' number for the main one.
    if (event["tid"] == event["pid"]) CHECK(event["tid"] == 0);
  }
}

TEST_CASE("each action is one slice, and each transfer one on either side") {
  const json trace = json::parse(text_of(four_ranks()));
  const std::map<Thread, std::string> names = thread_names(trace);
  std::map<std::string, std::size_t> slices;
  for (const json& slice : of_phase(trace, "X")) {
    const std::string thread = names.at(thread_of(slice));
    ++slices[thread.substr(thread.find('/') + 1, 4)];
  }
  CHECK(slices["comp"] == 4 * 8 * 2);
  CHECK(slices["send"] == 3 * 8 * 2);
  CHECK(slices["recv"] == 3 * 8 * 2);

  const std::vector<json> all = of_phase(trace, "X");
  CHECK(all.front() == json::parse(R"({"ph": "X", "pid": 0, "tid": 0, "ts": 0, "dur": 4,
      "cat": "compute", "name": "F 0", "args": {"stage": 0, "microbatch": 0}})"));
  CHECK(std::count_if(all.begin(), all.end(), [](const json& slice) {
          return slice["name"] == "RECV_F 3" && slice["args"]["from"] == 0 && slice["pid"] == 1 &&
                 slice["args"]["bytes"] == 100 && slice["dur"] == 1.75;
        }) == 1);
}

TEST_CASE("a transfer to the data replicas is one slice, of the rank that sends") {
  const Extras extras{.tail = {.reduces = {true, true}, .updates = true, .ties = true}};
  const json trace = json::parse(
      text_of(run_order(one_f_one_b(2, 1), Placement::loop(2, 1), {}, Overlap::serial, extras)));
  std::vector<std::string> found;
  for (const json& slice : of_phase(trace, "X")) {
    const std::string name = slice["name"];
    if (!name.starts_with("REDUCE") && !name.starts_with("TIE")) continue;
    found.push_back(
        fmt::format("{} on {} to {}", name, slice["pid"].dump(), slice["args"]["to"].dump()));
  }
  std::sort(found.begin(), found.end());
  CHECK(found == std::vector<std::string>{"REDUCE 0 on 0 to \"data\"", "REDUCE 0 on 1 to \"data\"",
                                          "TIE 0 on 0 to 0", "TIE 0 on 0 to 1", "TIE 0 on 1 to 0",
                                          "TIE 0 on 1 to 1"});
  // An update of no length has no slice, so no arrow leads there.
  check_arrows_are_bound(json::parse(text_of(run_order(one_f_one_b(2, 1), Placement::loop(2, 1),
                                                       {.backward = 0}, Overlap::serial, extras))),
                         2);
}

TEST_CASE("slices of one thread never overlap and arrows are bound at both ends") {
  json trace;
  const auto trace_with = [&](const Picoseconds& cost) {
    trace = json::parse(text_of(four_ranks(cost)));
  };
  SUBCASE("with transfers") { trace_with({}); }
  SUBCASE("with transfers that overlap on their link by its latency") {
    trace_with({.forward = 300'000, .latency = 2'000'000});
    std::set<std::string> names;
    for (const auto& [thread, name] : thread_names(trace)) names.insert(name);
    CHECK(names.count("rank 00/send 2") == 1);
  }
  SUBCASE("with transfers that take no time, which are arrows only") {
    trace_with({.occupies = 0, .latency = 0});
    CHECK(of_phase(trace, "X").size() == 64);
  }
  SUBCASE("with actions that take no time") { trace_with({.forward = 0}); }
  SUBCASE("with fractions of a nanosecond, which viewers round") {
    trace_with({.forward = 1'600, .backward = 2'601, .occupies = 1'500, .latency = 1});
  }
  SUBCASE("with several stages a rank") {
    Schedule order(2);
    for (std::uint32_t stage : {0u, 1u, 2u, 3u}) {
      order.on(Rank{stage % 2}).emplace_back(Pass::forward, Stage{stage}, Microbatch{0});
    }
    trace = json::parse(text_of(run_order(order, Placement::loop(2, 2), {})));
    check_slices_are_apart(trace);
    CHECK(of_phase(trace, "s").size() == 3);
    CHECK(of_phase(trace, "X").front()["name"] == "F 0 s0");
    return;
  }
  check_slices_are_apart(trace);
  check_arrows_are_bound(trace, 48);
}

TEST_CASE("the second part of a fused cell has a thread of its own, and arrows find their part") {
  const json trace = json::parse(text_of(fused_cell()));
  check_slices_are_apart(trace);
  check_arrows_are_bound(trace, 8);
  const std::map<Thread, std::string> names = thread_names(trace);
  std::vector<std::string> second;
  for (const json& slice : of_phase(trace, "X")) {
    if (names.at(thread_of(slice)) == "rank 01/compute 2") second.push_back(slice["name"]);
  }
  CHECK(second == std::vector<std::string>{"B 0"});
}

TEST_CASE("events are in the order of their time, longer ones first") {
  const json trace = json::parse(text_of(four_ranks()));
  std::pair<std::int64_t, std::int64_t> last{-1, 0};
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "M") {
      CHECK(last.first == -1);
      continue;
    }
    const std::pair now{nanoseconds(event["ts"]),
                        event.contains("dur") ? -nanoseconds(event["dur"]) : 0};
    CHECK(now >= last);
    last = now;
  }
}

TEST_CASE("counters change with every event and end at what is left") {
  const Run run = four_ranks();
  const json trace = json::parse(text_of(run));
  std::map<std::pair<std::uint32_t, std::string>, std::uint64_t> value, peak;
  for (const json& event : of_phase(trace, "C")) {
    const std::string name = event["name"];
    const std::uint64_t now = event["args"][name == "memory" ? "bytes" : "held"];
    const std::pair<std::uint32_t, std::string> counter{event["pid"], name};
    const auto [last, is_first] = value.try_emplace(counter, now);
    if (!is_first) CHECK(last->second != now);
    last->second = now;
    peak[counter] = std::max(peak[counter], now);
  }
  const auto memory = memory_peaks(run.plan, run.costs, run.timeline);
  for (std::uint32_t rank : {0u, 1u, 2u, 3u}) {
    CHECK(peak.at({rank, "activations"}) == peak_activations(run.plan, run.timeline)[rank]);
    CHECK(value.at({rank, "activations"}) == 0);
    CHECK(peak.at({rank, "memory"}) == memory[rank].bytes);
    CHECK(value.at({rank, "memory"}) == 100);
  }
}

TEST_CASE("times are exact decimals and the head says what was run") {
  Run run = four_ranks({.forward = 4'000'001'000, .backward = 1'234'567'899'000});
  run.timeline.iteration = 2;
  run.timeline.environment = {{"host", "node \"3\""}};
  const std::string text = text_of(run, "quotes \" and \\, µs,\n\x01 and \xff");
  CHECK(testing::says(text, R"("ts":0,"dur":4000.001,)"));
  CHECK(testing::says(text, R"("dur":1234567.899,)"));
  CHECK(!testing::says(text.substr(0, text.find("penstockTimeline")), "e+"));
  const json trace = json::parse(text);
  CHECK(trace["displayTimeUnit"] == "ns");
  const json& head = trace["otherData"];
  CHECK(head["title"] == "quotes \" and \\, µs,\n\x01 and \xef\xbf\xbd");
  CHECK(head["schedule"] == "1f1b");
  CHECK(head["plan_hash"].get<std::string>().size() == 16);
  CHECK(std::stoull(head["plan_hash"].get<std::string>(), nullptr, 16) == plan_hash(run.plan));
  CHECK(head["makespan_us"] == to_us(makespan(run.plan, run.timeline)));
  CHECK(head["iteration"] == 2);
  CHECK(head["environment"] == json{{"host", "node \"3\""}});
}

TEST_CASE("gzip packs a trace and gunzip gives it back") {
  const std::string text = text_of(four_ranks());
  const std::string file = gzip(text);
  CHECK(file.size() * 5 < text.size());
  CHECK(file == gzip(text));
  CHECK(file.substr(4, 4) == std::string(4, '\0'));  // no time
  CHECK(gunzip(file, text.size()) == text);
  CHECK(gunzip(file + gzip("more"), 1 << 20) == text + "more");
  CHECK(gunzip(gzip(""), 0).empty());
  const std::string large(3'000'000, 'x');
  CHECK(gunzip(gzip(large), large.size()) == large);
  CHECK_THROWS_AS(gunzip(gzip(large), large.size() - 1), InputError);
}

TEST_CASE("a gzip file that was cut off or changed is refused") {
  const std::string text = "some text that is long enough to be cut";
  const std::string file = gzip(text);
  for (std::size_t size = 0; size < file.size(); ++size) {
    CAPTURE(size);
    CHECK_THROWS_AS(gunzip(file.substr(0, size), 1000), InputError);
  }
  CHECK_THROWS_AS(gunzip("plain text", 1000), InputError);
  CHECK_THROWS_AS(gunzip(file + "rubbish", 1000), InputError);
  // Behind the header; the check sums stand at the end.
  for (std::size_t at = 10; at < file.size(); ++at) {
    CAPTURE(at);
    std::string changed = file;
    changed[at] = static_cast<char>(changed[at] ^ 0x01);
    CHECK_THROWS_AS(gunzip(changed, 1000), InputError);
  }
}

}  // namespace penstock
