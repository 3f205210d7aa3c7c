#include "sim/timeline/timeline_file.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <functional>

#include "sim/engines/events.hpp"
#include "sim/plan/lower.hpp"
#include "sim/report/memory.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

/// Three ranks and two microbatches; the overlap cell of rank 1 waits for both its neighbours.
Recording small_recording() {
  Schedule schedule(3);
  const auto add = [&](std::uint32_t rank, Pass pass, std::uint32_t microbatch,
                       bool joined = false) {
    schedule.on(Rank{rank}).emplace_back(pass, Stage{rank}, Microbatch{microbatch}, joined);
  };
  for (std::uint32_t m : {0u, 1u}) add(0, Pass::forward, m);
  for (std::uint32_t m : {0u, 1u}) add(0, Pass::backward, m);
  add(1, Pass::forward, 0);
  add(1, Pass::forward, 1, /*joined=*/true);
  add(1, Pass::backward, 0);
  add(1, Pass::backward, 1);
  for (std::uint32_t m : {0u, 1u}) {
    add(2, Pass::forward, m);
    add(2, Pass::backward, m);
  }
  Recording recording;
  recording.plan = std::get<Plan>(lower(schedule, Placement::loop(3, 1), Overlap::fused));
  recording.plan.schedule = "hand-made";
  recording.title = "Größe \"3\"";
  Costs costs;
  for (const WorkClass& work : recording.plan.classes) {
    costs.duration.push_back({work.follows_partner ? 0 : 1'000'000});
    costs.latency.push_back({is_transfer(work.pass) ? 250'001 : 0});
  }
  costs.bytes.assign(recording.plan.buffers.size(), 100);
  recording.timeline = relax({recording.plan, costs});
  memory_peaks(recording.plan, costs, recording.timeline, &recording.timeline.memory);
  recording.timeline.iteration = 7;
  recording.timeline.environment = {
      {"device", std::string("a\0b", 3)}, {"empty", ""}, {"host", "node 3"}};
  return recording;
}

std::string written(const Recording& recording) {
  return write_timeline(recording.plan, recording.timeline, recording.title);
}

/// The message that a file is refused with; "accepted" when it is not.
std::string refusal(const std::string& file) {
  return refused_at([&] { read_timeline(file); });
}

std::string refusal_after(const std::function<void(Recording&)>& change) {
  Recording recording = small_recording();
  change(recording);
  return refusal(written(recording));
}

template <class Value>
struct Fault {
  std::string name;
  std::function<void(Value&)> make;
};

template <class Number>
Number number_at(const std::string& file, std::size_t at) {
  Number number{};
  std::memcpy(&number, file.data() + at, sizeof number);
  return number;
}

template <class Number>
void put(std::string& file, std::size_t at, Number number) {
  std::memcpy(file.data() + at, &number, sizeof number);
}

/// Makes length and checksum right again, by the format's description.
std::string sealed(std::string file) {
  put<std::uint64_t>(file, 16, file.size());
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (std::size_t at = 0; at + 8 < file.size(); at += 8) {
    hash = (hash ^ number_at<std::uint64_t>(file, at)) * 0x100000001b3U;
    hash ^= hash >> 32;
  }
  put(file, file.size() - 8, hash);
  return file;
}

/// Where the header of a section starts.
std::size_t section_at(const std::string& file, std::string_view name) {
  std::size_t at = 24;
  while (file.c_str() + at != name) {
    const std::string_view type = file.c_str() + at + 24;
    const std::size_t bytes = type == "u8" ? 1 : type == "u32" ? 4 : 8;
    at += 40 + (number_at<std::uint64_t>(file, at + 32) * bytes + 7) / 8 * 8;
  }
  return at;
}

constexpr TaskId far = 1'000'000;

}  // namespace

TEST_CASE("a timeline file gives back the whole recording") {
  const Recording before = small_recording();
  REQUIRE(before.plan.inputs.size() == 3);
  REQUIRE(before.plan.followers.size() == 1);
  REQUIRE(before.timeline.memory.size() > 3);
  const Recording after = read_timeline(written(before));

  CHECK(after.title == before.title);
  CHECK(plan_hash(after.plan) == plan_hash(before.plan));
  CHECK(after.plan.schedule == before.plan.schedule);
  CHECK(after.plan.ranks == 3);
  CHECK(after.plan.microbatches == 2);
  CHECK(after.plan.links == before.plan.links);
  CHECK(after.plan.model_stage == before.plan.model_stage);
  CHECK(after.plan.work == before.plan.work);
  CHECK(after.plan.microbatch == before.plan.microbatch);
  CHECK(after.plan.input == before.plan.input);
  CHECK(after.plan.inputs == before.plan.inputs);
  CHECK(after.plan.followers == before.plan.followers);
  CHECK(after.plan.in_one_order == before.plan.in_one_order);
  CHECK(after.timeline.begin == before.timeline.begin);
  CHECK(after.timeline.end == before.timeline.end);
  CHECK(after.timeline.last_input == before.timeline.last_input);
  CHECK(after.timeline.iteration == 7);
  CHECK(after.timeline.environment == before.timeline.environment);
}

TEST_CASE("a timeline file gives back recomputation and the tail") {
  Extras extras;
  extras.recomputing.stages = {true};
  extras.tail = {.reduces = {true}, .updates = true, .gathers = true};
  extras.holds.fill(true);
  Schedule schedule(1);
  schedule.on(Rank{0}) = {{Pass::forward, Stage{0}, Microbatch{0}},
                          {Pass::forward, Stage{0}, Microbatch{1}, /*joined=*/true},
                          {Pass::backward, Stage{0}, Microbatch{0}},
                          {Pass::backward, Stage{0}, Microbatch{1}}};
  Recording before;
  before.plan = std::get<Plan>(lower(schedule, Placement::loop(1, 1), Overlap::serial, extras));
  Costs costs;
  costs.duration.assign(before.plan.classes.size(), Time{1'000'000});
  costs.latency.resize(before.plan.classes.size());
  costs.bytes.assign(before.plan.buffers.size(), 100);
  before.timeline = relax({before.plan, costs});
  const Recording after = read_timeline(written(before));
  const auto text = [](const Recording& recording) {
    std::string all;
    for (TaskId task = 0; task < recording.plan.tasks(); ++task) {
      all +=
          task_text(recording.plan, task) + (recording.plan.class_of(task).recomputes ? "* " : " ");
    }
    return all;
  };
  CHECK(text(before) == "0F0 0F1 0B0* 0R1 0B1 0REDUCE1 0U1 0GATHER1 ");
  CHECK(text(after) == text(before));
  CHECK(plan_hash(after.plan) == plan_hash(before.plan));
  CHECK(makespan(after.plan, after.timeline) == makespan(before.plan, before.timeline));
}

TEST_CASE("a timeline file gives back classes, buffers and memory samples") {
  const Recording before = small_recording();
  const Recording after = read_timeline(written(before));
  REQUIRE(after.plan.classes.size() == before.plan.classes.size());
  for (std::size_t c = 0; c < after.plan.classes.size(); ++c) {
    const WorkClass& one = after.plan.classes[c];
    const WorkClass& other = before.plan.classes[c];
    CHECK(std::tie(one.pass, one.stage, one.resource, one.buffer, one.partner,
                   one.follows_partner) == std::tie(other.pass, other.stage, other.resource,
                                                    other.buffer, other.partner,
                                                    other.follows_partner));
    REQUIRE(one.effects.size() == other.effects.size());
    for (std::size_t e = 0; e < one.effects.size(); ++e) {
      CHECK(one.effects[e].buffer == other.effects[e].buffer);
      CHECK(one.effects[e].at_end == other.effects[e].at_end);
      CHECK(one.effects[e].takes == other.effects[e].takes);
    }
  }
  REQUIRE(after.plan.buffers.size() == before.plan.buffers.size());
  for (std::size_t b = 0; b < after.plan.buffers.size(); ++b) {
    CHECK(after.plan.buffers[b].kind == before.plan.buffers[b].kind);
    CHECK(after.plan.buffers[b].stage == before.plan.buffers[b].stage);
    CHECK(after.plan.buffers[b].rank == before.plan.buffers[b].rank);
  }
  REQUIRE(after.timeline.memory.size() == before.timeline.memory.size());
  for (std::size_t i = 0; i < after.timeline.memory.size(); ++i) {
    CHECK(after.timeline.memory[i].rank == before.timeline.memory[i].rank);
    CHECK(after.timeline.memory[i].time == before.timeline.memory[i].time);
    CHECK(after.timeline.memory[i].bytes == before.timeline.memory[i].bytes);
  }
}

TEST_CASE(
    "equal recordings make equal files, and reading one and writing it again changes nothing") {
  const std::string file = written(small_recording());
  CHECK(file == written(small_recording()));
  CHECK(file == written(read_timeline(file)));
  CHECK(file == sealed(file));
}

TEST_CASE("a file that was cut off anywhere is refused") {
  const std::string file = written(small_recording());
  for (std::size_t size = 0; size < file.size(); ++size) {
    CAPTURE(size);
    CHECK(refusal(file.substr(0, size)) != "accepted");
  }
  CHECK(says(refusal(file.substr(0, 800)), "truncated: 800 of"));
  CHECK(refusal(file + std::string(8, '\0')) != "accepted");
}

TEST_CASE("a file with any one byte changed is refused") {
  const std::string file = written(small_recording());
  for (std::size_t at = 0; at < file.size(); ++at) {
    for (const int change : {0x01, 0x80, 0xff}) {
      CAPTURE(at);
      CAPTURE(change);
      std::string changed = file;
      changed[at] = static_cast<char>(changed[at] ^ change);
      CHECK(refusal(changed) != "accepted");
    }
  }
}

TEST_CASE("what is no timeline file, or one of another version, is named as such") {
  CHECK(refusal("") == "not a timeline file");
  CHECK(refusal("{\"penstock\": 1}") == "not a timeline file");
  std::string file = written(small_recording());
  put<std::uint64_t>(file, 8, 4);
  CHECK(refusal(sealed(file)) == "format version 4; this program reads versions 2 and 3");
}

TEST_CASE("an unknown section is refused by its name") {
  std::string file = written(small_recording());
  file[section_at(file, "work")] = 'f';
  CHECK(says(refusal(sealed(file)), "section fork: unexpected here; expected work"));

  std::string longer = written(small_recording());
  std::string extra(40, '\0');
  extra.replace(0, 5, "extra");
  extra.replace(24, 2, "u8");
  longer.insert(longer.size() - 8, extra);
  CHECK(refusal(sealed(longer)) == "section extra: unknown section");
}

TEST_CASE("wrong frames of sections are refused") {
  const std::string file = written(small_recording());
  for (const std::string_view name : {"title", "work", "begin", "memory_bytes"}) {
    for (const std::uint64_t count : {std::uint64_t{1}, std::uint64_t{0x7fff'ffff},
                                      std::uint64_t{1} << 61, ~std::uint64_t{0}}) {
      CAPTURE(count);
      std::string changed = file;
      put(changed, section_at(file, name) + 32, count);
      CHECK(refusal(sealed(changed)) != "accepted");
    }
    std::string changed = file;
    changed.replace(section_at(file, name) + 24, 3, "f64");
    CHECK(says(refusal(sealed(changed)), "its elements must be of type"));
  }
  for (const std::string_view name : {"class_follows", "effect_at_end", "effect_takes"}) {
    std::string changed = file;
    changed[section_at(file, name) + 40] = 2;
    CHECK(says(refusal(sealed(changed)), "2 is neither 0 nor 1"));
  }
  for (const std::string_view name : {"class_effects", "environment_lengths", "plan_hash"}) {
    std::string changed = file;
    changed[section_at(file, name) + 40] ^= 1;
    CHECK(says(refusal(sealed(changed)), "section "));
  }
}

TEST_CASE("a plan that is not sound is refused") {
  const std::vector<Fault<Plan>> faults{
      {"no ranks", [](Plan& plan) { plan.ranks = 0; }},
      {"too many ranks", [](Plan& plan) { plan.ranks = far; }},
      {"a rank less", [](Plan& plan) { plan.ranks = 2; }},
      {"too many microbatches", [](Plan& plan) { plan.microbatches = UINT32_MAX; }},
      {"link from", [](Plan& plan) { plan.links[0].from = Rank{3}; }},
      {"link to", [](Plan& plan) { plan.links[0].to = Rank{3}; }},
      {"a link less", [](Plan& plan) { plan.links.pop_back(); }},
      {"stage place", [](Plan& plan) { plan.model_stage[1] = 3; }},
      {"a stage less", [](Plan& plan) { plan.model_stage.pop_back(); }},
      {"buffer kind", [](Plan& plan) { plan.buffers[0].kind = BufferKind{buffer_kinds}; }},
      {"buffer stage", [](Plan& plan) { plan.buffers[0].stage = Stage{3}; }},
      {"buffer rank", [](Plan& plan) { plan.buffers[0].rank = Rank{3}; }},
      {"pass", [](Plan& plan) { plan.classes[0].pass = Pass{10}; }},
      {"class stage", [](Plan& plan) { plan.classes[0].stage = Stage{3}; }},
      {"class resource", [](Plan& plan) { plan.classes[0].resource = far; }},
      {"computing on a link", [](Plan& plan) { plan.classes[0].resource = plan.ranks; }},
      {"class buffer", [](Plan& plan) { plan.classes[0].buffer = far; }},
      {"class partner", [](Plan& plan) { plan.classes[0].partner = far; }},
      {"a partner that never comes", [](Plan& plan) { plan.classes[0].partner = 1; }},
      {"effect", [](Plan& plan) { plan.classes[0].effects.at(0).buffer = far; }},
      {"work", [](Plan& plan) { plan.work[0] = far; }},
      {"microbatch", [](Plan& plan) { plan.microbatch[0] = Microbatch{UINT32_MAX}; }},
      {"a microbatch less", [](Plan& plan) { plan.microbatch.pop_back(); }},
      {"an input more", [](Plan& plan) { plan.input.push_back(no_task); }},
      {"an input that does not exist", [](Plan& plan) { plan.input.back() = far; }},
      {"an input from later", [](Plan& plan) { plan.input[0] = 1; }},
      {"an input of itself", [](Plan& plan) { plan.input[0] = 0; }},
      {"a list that does not exist", [](Plan& plan) { plan.input[0] = Plan::several | 3; }},
      {"an empty list", [](Plan& plan) { plan.inputs[0] = 0; }},
      {"a list past the end", [](Plan& plan) { plan.inputs[0] = 3; }},
      {"a list of later tasks", [](Plan& plan) { plan.inputs[1] = far; }},
      {"a list read twice", [](Plan& plan) { plan.input.back() = Plan::several; }},
      {"no follower", [](Plan& plan) { plan.followers.clear(); }},
      {"a wrong follower", [](Plan& plan) { ++plan.followers[0]; }},
      {"a follower too many", [](Plan& plan) { plan.followers.push_back(far); }},
      {"a follower without its leader",
       [](Plan& plan) { plan.work[plan.followers[0] - 1] = plan.work[0]; }},
      {"a leader without its follower",
       [](Plan& plan) { plan.work[plan.followers[0]] = plan.work[0]; }},
  };
  for (const Fault<Plan>& fault : faults) {
    CAPTURE(fault.name);
    CHECK(refusal_after([&](Recording& recording) { fault.make(recording.plan); }) != "accepted");
  }
}

TEST_CASE("a transfer must have an input") {
  CHECK(says(refusal_after([&](Recording& recording) {
               Plan& plan = recording.plan;
               TaskId task = 0;
               while (!is_transfer(plan.class_of(task).pass)) ++task;
               plan.input[task] = no_task;
             }),
             "a transfer must have an input"));
}

TEST_CASE("a timeline that does not belong to its plan is refused") {
  const std::vector<Fault<Timeline>> faults{
      {"a begin less", [](Timeline& timeline) { timeline.begin.pop_back(); }},
      {"an end more", [](Timeline& timeline) { timeline.end.push_back({}); }},
      {"a last input more", [](Timeline& timeline) { timeline.last_input.push_back(no_task); }},
      {"a begin before the start", [](Timeline& timeline) { timeline.begin[0] = {-1}; }},
      {"an end beyond the clock", [](Timeline& timeline) { timeline.end[0] = max_time; }},
      {"an end before its begin", [](Timeline& timeline) { timeline.end[0] = {-1}; }},
      {"more than the clock runs",
       [](Timeline& timeline) {
         timeline.end.assign(timeline.end.size(), Time{max_time.picoseconds / 2});
         timeline.begin.assign(timeline.begin.size(), {});
       }},
      {"a last input that is none", [](Timeline& timeline) { timeline.last_input.back() = 0; }},
      {"a last input that does not exist",
       [](Timeline& timeline) { timeline.last_input.back() = far; }},
      {"a slow-down below nothing",
       [](Timeline& timeline) { timeline.slowed.assign(timeline.end.size(), Time{-1}); }},
      {"a wait for memory beyond the clock",
       [](Timeline& timeline) { timeline.memory_wait.assign(timeline.end.size(), max_time); }},
      {"a sample of no rank", [](Timeline& timeline) { timeline.memory[0].rank = Rank{3}; }},
      {"a sample before the start", [](Timeline& timeline) { timeline.memory[0].time = {-1}; }},
      {"samples out of order",
       [](Timeline& timeline) { std::swap(timeline.memory.front(), timeline.memory.back()); }},
  };
  for (const Fault<Timeline>& fault : faults) {
    CAPTURE(fault.name);
    CHECK(refusal_after([&](Recording& recording) { fault.make(recording.timeline); }) !=
          "accepted");
  }
}

TEST_CASE("a list that many tasks share does not keep the reader busy") {
  Recording recording = small_recording();
  Plan& plan = recording.plan;
  constexpr std::size_t tasks = 100'000;
  plan.inputs.assign(tasks, 0);
  plan.inputs[0] = tasks - 1;
  while (plan.work.size() < tasks) {
    plan.work.push_back(plan.work[0]);
    plan.microbatch.push_back({});
    plan.input.push_back(Plan::several);
  }
  recording.timeline.begin.resize(tasks);
  recording.timeline.end.resize(tasks);
  recording.timeline.last_input.resize(tasks, no_task);
  CHECK(says(refusal(written(recording)), "list of inputs"));
}

}  // namespace penstock::testing
