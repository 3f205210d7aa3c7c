#include "validate/backends/cuda/programs/gpu_program.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

#include "tests/support/refusal.hpp"
#include "validate/backends/cuda/programs/gpu_pipeline.hpp"

namespace penstock::testing {
namespace {

using Slots = std::vector<std::uint32_t>;

const std::string head = "penstock gpu program 1\nname a\nranks 2\nlinks 1\n";

std::string fault_of(const std::string& text) {
  return refused_with<std::runtime_error>([&] { read_program(text); });
}

}  // namespace

TEST_CASE("gpu program file: what is written is read again") {
  const GpuProgram program = one_f_one_b({.ranks = 3, .microbatches = 4});
  const std::string text = program_text({"1f1b", program});
  const NamedProgram again = read_program(text);
  CHECK(again.name == "1f1b");
  CHECK(program_text(again) == text);
  CHECK(again.program.tasks.size() == program.tasks.size());
  CHECK(again.program.tasks.back().inputs == program.tasks.back().inputs);
}

TEST_CASE("gpu program file: bodies have the stage and pass of actions that may run layers") {
  GpuProgram program = one_f_one_b({.ranks = 2, .microbatches = 1});
  program.bodies = {{.pass = GpuPass::forward, .stage = 3},
                    {.pass = GpuPass::backward, .stage = 3, .recomputes = true},
                    {}};
  const NamedProgram again = read_program(program_text({"a", program}));
  REQUIRE(again.program.bodies.size() == 3);
  CHECK(again.program.bodies[0].pass == GpuPass::forward);
  CHECK(again.program.bodies[0].stage == 3);
  CHECK_FALSE(again.program.bodies[0].recomputes);
  CHECK(again.program.bodies[1].pass == GpuPass::backward);
  CHECK(again.program.bodies[1].recomputes);
  CHECK(again.program.bodies[2].pass == GpuPass::none);
  CHECK(fault_of(head + "body 0 sideways\ntask 0 5 0 0 0 0\n") ==
        "line 5: expected: body STAGE PASS [recomputes]");
}

TEST_CASE("gpu program file: a fault is told with its line") {
  CHECK(fault_of(head + "task 0 5 0 0 0 0\ntask 2 5 1 64 0 0 0\n") == "accepted");
  CHECK(fault_of("") == "line 1: expected \"penstock gpu program 1\"");
  CHECK(fault_of(head) == "line 1: there is no name, or no task");
  CHECK(fault_of(head + "task 0 5\n") ==
        "line 5: expected: task LANE DURATION_NS LATENCY_NS BYTES BODY SLOT INPUT…");
  CHECK(fault_of(head + "task 3 5 0 0 0 0\n") == "line 5: there is no lane 3");
  CHECK(fault_of(head + "task 0 5 0 0 0 0 0\n") == "line 5: input 0 does not come before its task");
  CHECK(fault_of(head + "task 0 5 0 0 0 0 x\n") == "line 5: an input is not a number");
  CHECK(fault_of(head + "speed 3\n") ==
        "line 5: unknown \"speed\"; known: name, ranks, links, body, task");
  CHECK(fault_of("penstock gpu program 1\nranks -1\n") == "line 2: expected a number up to 4096");
}

// 1F1B with two in flight: 0 and 1 alternate. GPipe holds all.
TEST_CASE("gpu slots: a buffer is used again once its last user is done") {
  CHECK(slots_of({0, 1, 0, 2, 1, 3, 2, 3}) == Slots{0, 1, 0, 0, 1, 1, 0, 1});
  CHECK(slots_of({0, 1, 2, 0, 1, 2}) == Slots{0, 1, 2, 0, 1, 2});
  CHECK(slots_of({7, 7, 9, 9}) == Slots{0, 0, 0, 0});
  CHECK(slots_of({}).empty());
}

// Rank 0 makes two tensors in a row: the copy of the first may still read when the second is made.
// What arrives is read by rank 1 after each copy; the second copy may overtake the first reader.
TEST_CASE("gpu slots: tensors share a buffer only where waits keep them apart") {
  GpuProgram program{2,
                     1,
                     {{.lane = 0},
                      {.lane = 2, .inputs = {0}},
                      {.lane = 0},
                      {.lane = 2, .inputs = {2}},
                      {.lane = 1, .inputs = {1}},
                      {.lane = 1, .inputs = {3}}},
                     {}};
  CHECK(transfer_slots(program).from == Slots{0, 0, 0, 1, 0, 0});
  CHECK(transfer_slots(program).to == Slots{0, 0, 0, 1, 0, 0});
  CHECK(transfer_slots(program).to_count == Slots{2});
  program.tasks[2].inputs = {1};  // rank 0 waits for the first copy
  CHECK(transfer_slots(program).from == Slots{0, 0, 0, 0, 0, 0});
  CHECK(transfer_slots(program).to_count == Slots{2});
}

TEST_CASE("gpu slots: a transfer that no action feeds makes its own tensor") {
  const GpuProgram program{
      1, 2, {{.lane = 1}, {.lane = 2, .inputs = {0}}, {.lane = 0, .inputs = {1}}}, {}};
  CHECK(producer_of(program, 0) == 0);
  CHECK(producer_of(program, 1) == 1);
}

// Between two ranks of 1F1B, rank 1 has one microbatch at once: its B frees what its F read.
TEST_CASE("gpu slots: 1F1B needs few buffers, however many microbatches there are") {
  for (const std::uint32_t microbatches : {4U, 64U}) {
    const auto program = one_f_one_b({.ranks = 4, .microbatches = microbatches});
    const TransferSlots slots = transfer_slots(program);
    for (const std::uint32_t count : slots.from_count) CHECK(count <= 4);
    for (const std::uint32_t count : slots.to_count) CHECK(count <= 4);
  }
}

TEST_CASE("gpu slots: the work of a rank is the time of its actions") {
  const auto program = one_f_one_b({.ranks = 2, .microbatches = 3, .forward_ns = 10});
  CHECK(work_of_ranks(program) == std::vector<double>{90, 90});
}

}  // namespace penstock::testing
