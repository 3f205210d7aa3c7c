#include "experiments/run/layout/device_memory.hpp"

#include <doctest/doctest.h>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/run.hpp"
#include "tests/support/says.hpp"
#include "tests/support/system.hpp"

namespace penstock::testing {
namespace {

/// A peak of parameters and of a stash.
MemoryPeak peak_of(std::uint64_t parameters, std::uint64_t stash) {
  MemoryPeak peak{.bytes = parameters + stash};
  peak.by_kind[static_cast<std::size_t>(BufferKind::parameters)] = parameters;
  peak.by_kind[static_cast<std::size_t>(BufferKind::stash)] = stash;
  return peak;
}

/// A machine of an A100: 0.45e9 bytes of context, 1e9 of communication buffers, 1 % reserved.
DeviceMemory on_a100(const MemorySection& section = {}) {
  Machine machine{.device = {.memory_bytes = 80e9, .context_bytes = 0.45e9, .reserve = 0.01},
                  .communication_bytes = 1e9};
  return settle_memory(section, machine);
}

MemoryWord word_of(const DeviceMemory& memory, const MemoryPeak& peak) {
  const MemoryJudge judge(memory, {}, 1);
  return *judge.word(judge.interval(peak));
}

Scenario pipeline(const std::string& memory, int ranks = 2) {
  std::string stages;
  for (int rank = 0; rank < ranks; ++rank) {
    stages += R"(, {"forward_us": 1, "backward_us": 2, "parameter_bytes": 100})";
  }
  return parse_scenario(R"({ "model": { "stages": [)" + stages.substr(2) + R"(] },
      "parallel": { "data": 4 }, "schedule": { "name": "1f1b", "microbatches": 8 },
      "memory": {"optimizer": "sgd", )" +
                            memory + "} }",
                        "s.json");
}

std::uint64_t gradients_of(const Scenario& scenario) {
  return bytes_of(run(scenario).report->ranks.front().memory, BufferKind::weight_gradients);
}

}  // namespace

TEST_CASE("without a machine a peak is certain") {
  DeviceMemory memory = settle_memory({.capacity_bytes = 100, .reserve = 0.1}, std::nullopt);
  CHECK(memory.reserved_bytes() == 10);
  const MemoryJudge judge(memory, {.tensor = 8}, 4);
  const PeakInterval interval = judge.interval(peak_of(50, 40));
  CHECK(interval.least == 90);
  CHECK(interval.most == 90);
  CHECK(word_of(memory, peak_of(50, 40)) == MemoryWord::fits);
  CHECK(word_of(memory, peak_of(50, 41)) == MemoryWord::does_not_fit);
  memory.capacity_bytes.reset();
  CHECK(!MemoryJudge(memory, {}, 1).word({}));
}

TEST_CASE("an interval leaves out communication buffers, and adds workspaces and fragmentation") {
  // 7 * 32 MiB of workspaces, and 8 % of the stash.
  const MemoryJudge judge(on_a100(), {}, 1);
  const PeakInterval interval = judge.interval(peak_of(10'000'000'000, 5'000'000'000));
  CHECK(interval.least == 14'000'000'000);
  CHECK(interval.most == 15'000'000'000 + 7 * 33'554'432 + 400'000'000);
}

TEST_CASE("each communicator has buffers of its own") {
  // Tensor, pipeline and data: 3 * 688e6, of which the peak counts 1e9.
  const PeakInterval alone = MemoryJudge(on_a100(), {}, 1).interval(peak_of(0, 0));
  const PeakInterval three =
      MemoryJudge(on_a100(), {.tensor = 8, .data = 4}, 2).interval(peak_of(0, 0));
  CHECK(three.most - alone.most == 1'064'000'000);
  CHECK(three.least == alone.least);
}

TEST_CASE("what a scenario states of its device is certain") {
  const DeviceMemory memory = on_a100({.context_bytes = 0, .reserve = 0});
  const PeakInterval interval =
      MemoryJudge(memory, {.tensor = 8}, 2).interval(peak_of(1'000, 1'000));
  CHECK(interval.least == 2'000);
  CHECK(interval.most == 2'000);
}

TEST_CASE("between both ends of its interval a peak may fit") {
  // 80e9 less 1 %: 79.2e9. A peak may be 1e9 less, or 0.235e9 more.
  const DeviceMemory memory = on_a100();
  CHECK(word_of(memory, peak_of(78'900'000'000, 0)) == MemoryWord::fits);
  CHECK(word_of(memory, peak_of(79'000'000'000, 0)) == MemoryWord::may_fit);
  CHECK(word_of(memory, peak_of(80'200'000'000, 0)) == MemoryWord::may_fit);
  CHECK(word_of(memory, peak_of(80'200'000'001, 0)) == MemoryWord::does_not_fit);
  CHECK(memory.largest_peak_bytes() == 80'200'000'000);
}

TEST_CASE("a run that may fit has no finding") {
  const auto run_of = [](const char* capacity) {
    return run(parse_scenario(
        R"({ "model": { "stages": [ {"forward_us": 1, "parameter_bytes": 1e9} ] },
             "hardware": { "name": "dgx-a100" },
             "schedule": { "name": "forward-only", "microbatches": 1 } })",
        "s.json", {std::string("/memory/capacity_bytes=") + capacity}));
  };
  // 2.45e9 of which 1e9 is unsure; 1 % of the capacity is reserved.
  const RunResult tight = run_of("2e9");
  CHECK(tight.findings.empty());
  CHECK(worst_memory(tight).word == MemoryWord::may_fit);
  const RunResult little = run_of("1.4e9");
  REQUIRE(little.findings.size() == 1);
  CHECK(little.findings[0].kind == "out_of_memory");
  CHECK(says(little.findings[0].text, "reserved"));
  CHECK(worst_memory(little).word == MemoryWord::does_not_fit);
}

TEST_CASE("a pipeline under ZeRO-2 and -3 keeps whole gradients until its last microbatch") {
  for (const char* zero : {R"("zero": 2)", R"("zero": 3)"}) {
    CAPTURE(zero);
    const std::string level = zero;
    CHECK(gradients_of(pipeline(level)) == 200);
    CHECK(gradients_of(pipeline(level + R"(, "whole_gradients": false)")) == 50);
    CHECK(gradients_of(pipeline(level, 1)) == 50);
    CHECK(gradients_of(pipeline(level + R"(, "whole_gradients": true)", 1)) == 200);
  }
  CHECK(gradients_of(pipeline(R"("zero": 1)")) == 200);
}

TEST_CASE("whole gradients are reduced once") {
  const auto reductions = [](const std::string& memory) {
    const RunResult result = run(pipeline(memory));
    std::size_t count = 0;
    for (TaskId task = 0; task < result.plan->tasks(); ++task) {
      count += result.plan->class_of(task).pass == Pass::reduce_gradient ? 1 : 0;
    }
    return count;
  };
  CHECK(reductions(R"("zero": 2)") == 2);
  CHECK(reductions(R"("zero": 3)") == 2);
  CHECK(reductions(R"("zero": 2, "whole_gradients": false)") == 16);
}

}  // namespace penstock::testing
