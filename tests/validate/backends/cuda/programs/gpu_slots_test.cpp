#include <doctest/doctest.h>

#include "validate/backends/cuda/programs/gpu_pipeline.hpp"
#include "validate/backends/cuda/programs/gpu_program.hpp"

namespace penstock::testing {
namespace {

using Slots = std::vector<std::uint32_t>;

}  // namespace

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
