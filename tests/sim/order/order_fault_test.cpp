#include "sim/order/order_fault.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/system.hpp"

namespace penstock::testing {
namespace {

/// "rank 1, action 2: 1B0 is missing", or "none".
std::string fault_text(const Placement& placement, const Schedule& schedule) {
  const auto fault = find_order_fault(schedule, placement);
  if (!fault) return "none";
  return fmt::format("rank {}, action {}: {}", index(fault->rank), fault->action, fault->text);
}

/// The fault of an order for stage r on rank r.
std::string fault_of(const char* csv) {
  const Schedule schedule = order_of(csv);
  return fault_text(Placement::loop(schedule.ranks(), 1), schedule);
}

/// The fault of one rank's row of stage 0.
std::string fault_of_row(const char* row) {
  Schedule schedule(1);
  schedule.on(Rank{0}) = actions_of(row);
  return fault_text(Placement::loop(1, 1), schedule);
}

}  // namespace

TEST_CASE("complete orders have no fault") {
  CHECK(fault_of("0F0,0B0\n1F0,1B0") == "none");
  CHECK(fault_of("0F0,0I0,0W0\n1F0,1B0") == "none");              // each its own way
  CHECK(fault_of("0F0,0F1\n1F0,1F1") == "none");                  // no backward anywhere
  CHECK(fault_of("0F7,0F2,0B2,0B7\n1F2,1B2,1F7,1B7") == "none");  // gaps between the numbers
  CHECK(fault_of("0F0,(0F1;0B0)OVERLAP_F_B,0B1") == "none");
}

TEST_CASE("a deadlock between ranks is no fault of the rows; lowering finds it") {
  CHECK(fault_of("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1") == "none");
}

TEST_CASE("a stage on the wrong rank, or one that does not exist, is named where it stands") {
  CHECK(fault_of("0F0,0B0\n0F1,1F0,1B0") ==
        "rank 1, action 0: 0F1 is on rank 1, but stage 0 is on rank 0");
  CHECK(fault_of("0F0,0B0\n1F0,1B0,2F0") ==
        "rank 1, action 2: 2F0 names stage 2; stages are 0 to 1");
}

TEST_CASE("an order without actions, or of other ranks than its stages, is no order of them") {
  CHECK(fault_text(Placement::loop(2, 1), Schedule(2)) ==
        "rank 0, action 0: the order has no actions");
  CHECK(fault_text(Placement::loop(2, 1), order_of("0F0")) ==
        "rank 0, action 0: ranks of the order: 1, of its stages: 2");
}

TEST_CASE("stages that are frozen need no backward, and those behind them do") {
  const Schedule order = order_of("0F0\n1F0,1B0");
  CHECK(fault_text(Placement::loop(2, 1), order) == "rank 0, action 1: 0B0 is missing");
  CHECK(!find_order_fault(order, Placement::loop(2, 1), 1));
  CHECK(find_order_fault(order_of("0F0,0B0\n1F0"), Placement::loop(2, 1), 1));
}

TEST_CASE("an action done twice is named at its second place") {
  CHECK(fault_of("0F0,0F0,0B0") == "rank 0, action 1: 0F0 occurs twice");
  CHECK(fault_of("0F0,0B0,0B0") == "rank 0, action 2: 0B0 occurs twice");
  CHECK(fault_of("0F0,0I0,0W0,0W0") == "rank 0, action 3: 0W0 occurs twice");
}

TEST_CASE("a backward before its forward is named") {
  CHECK(fault_of("0B0,0F0") == "rank 0, action 0: 0B0 has no 0F0 before it");
  CHECK(fault_of("0F0,0I1,0F1") == "rank 0, action 1: 0I1 has no 0F1 before it");
  CHECK(fault_of("0F0,0B1") == "rank 0, action 1: 0B1 has no 0F1 before it");
}

TEST_CASE("W needs its I before it, and B goes with neither") {
  CHECK(fault_of("0F0,0W0,0I0") == "rank 0, action 1: 0W0 has no 0I0 before it");
  CHECK(fault_of("0F0,0B0,0I0") ==
        "rank 0, action 2: 0I0 is mixed with 0B0; the backward of one microbatch is either B, or I "
        "and W");
  CHECK(fault_of("0F0,0I0,0B0") ==
        "rank 0, action 2: 0B0 is mixed with 0I0; the backward of one microbatch is either B, or I "
        "and W");
  CHECK(fault_of("0F0,0B0,0W0") ==
        "rank 0, action 2: 0W0 is mixed with 0B0; the backward of one microbatch is either B, or I "
        "and W");
}

TEST_CASE("E, L and U stand behind what they are about, L in front of the backward that reads it") {
  CHECK(fault_of_row("0F0 0E0 0L0 0B0 0U0") == "none");
  CHECK(fault_of_row("0F0 0E0 0L0 0I0 0W0 0U0") == "none");
  CHECK(fault_of_row("0E0 0F0 0L0 0B0") == "rank 0, action 0: 0E0 has no 0F0 before it");
  CHECK(fault_of_row("0F0 0L0 0E0 0B0") == "rank 0, action 1: 0L0 has no 0E0 before it");
  CHECK(fault_of_row("0F0 0E0 0B0 0L0") == "rank 0, action 2: 0B0 has no 0L0 before it");
  CHECK(fault_of_row("0F0 0E0 0E0 0L0 0B0") == "rank 0, action 2: 0E0 occurs twice");
  CHECK(fault_of_row("0F0 0B0 0E0") ==
        "rank 0, action 2: 0E0 follows the backward that reads the activation");
  CHECK(fault_of_row("0F0 0U0 0B0") == "rank 0, action 1: 0U0 has no 0B0 before it");
  CHECK(fault_of_row("0F0 0I0 0U0 0W0") == "rank 0, action 2: 0U0 has no 0B0 before it");
}

TEST_CASE("R stands once, between F and the backward it is made for") {
  CHECK(fault_of_row("0F0 0R0 0B0") == "none");
  CHECK(fault_of_row("0F0 0R0 0I0 0W0") == "none");
  CHECK(fault_of_row("0R0 0F0 0B0") == "rank 0, action 0: 0R0 has no 0F0 before it");
  CHECK(fault_of_row("0F0 0B0 0R0") == "rank 0, action 2: 0R0 follows 0B0, which needs it");
  CHECK(fault_of_row("0F0 0I0 0R0 0W0") == "rank 0, action 2: 0R0 follows 0I0, which needs it");
  CHECK(fault_of_row("0F0 0F1 0R0") == "rank 0, action 3: 0B0 is missing");
  CHECK(fault_of_row("0F0 0R0 0R0 0B0") == "rank 0, action 2: 0R0 occurs twice");
}

TEST_CASE("what is missing is named behind the last action of its rank") {
  CHECK(fault_of("0F0,0F1,0B0\n1F0,1B0,1F1,1B1") == "rank 0, action 3: 0B1 is missing");
  CHECK(fault_of("0F0,0F1,0B0,0B1\n1F0,1B0") == "rank 1, action 2: 1F1 is missing");
  CHECK(fault_of("0F0,0I0\n1F0,1B0") == "rank 0, action 2: 0W0 is missing");
  // One backward anywhere, and every forward needs its own.
  CHECK(fault_of("0F0\n1F0,1B0") == "rank 0, action 1: 0B0 is missing");
}

TEST_CASE("of several faults the first by rank, then by position, is named") {
  CHECK(fault_of("0F0,0B0,0B0,0F0\n1B0,1F0") == "rank 0, action 2: 0B0 occurs twice");
  CHECK(fault_of("0F0,0B0\n1F0,1B0,1B0,1F0") == "rank 1, action 2: 1B0 occurs twice");
  // A cell that is wrong comes before one that is missing, on whatever rank.
  CHECK(fault_of("0F0\n1F0,1B0,1B0") == "rank 1, action 2: 1B0 occurs twice");
  // Of two that are missing, stage 3 is on the lower rank of a V, though stage 1 comes before it.
  CHECK(fault_text(Placement::vee(2, 2), order_of("0F0,3F0,0B0\n1F0,2F0,2B0")) ==
        "rank 0, action 3: 3B0 is missing");
}

TEST_CASE("parts of one cell that need each other cannot start together") {
  // An overlap cell starts when all inputs of both parts are there; F0 is not done when B0 starts.
  CHECK(fault_of("(0F0;0B0)OVERLAP_F_B") ==
        "rank 0, action 1: 0B0 shares a cell with 0F0, which it needs");
}

TEST_CASE("each microbatch belongs to one chain") {
  const Placement two = Placement::bidirectional(2);
  // Microbatch 0 goes down over stages 0 and 1, microbatch 1 up over 2 and 3.
  CHECK(fault_text(two, order_of("0F0,3F1,3B1,0B0\n2F1,1F0,1B0,2B1")) == "none");
  CHECK(fault_text(two, order_of("0F0,3F0,3B0,0B0\n2F0,1F0,1B0,2B0")) ==
        "rank 0, action 1: 3F0 runs microbatch 0 in chain 1, but chain 0 already runs it");
  CHECK(fault_text(two, order_of("0F0,0B0\n2F1,1F0,1B0,2B1")) ==
        "rank 0, action 2: 3F1 is missing");
}

TEST_CASE("a replica runs the microbatches of its turn and no others") {
  const Placement placement =
      Placement::given(3, {{Rank{0}}, {Rank{1}, Rank{2}}}, {{Stage{0}, Stage{1}}});
  CHECK(fault_text(placement, order_of("0F0,0F1,0B0,0B1\n1F0,1B0\n1F1,1B1")) == "none");
  CHECK(fault_text(placement, order_of("0F0,0F1,0B0,0B1\n1F1,1B1\n1F0,1B0")) ==
        "rank 1, action 0: 1F1 is on rank 1, but stage 1 is on rank 2");
  CHECK(fault_text(placement, order_of("0F0,0F1,0B0,0B1\n1F0,1B0\n1F1")) ==
        "rank 2, action 1: 1B1 is missing");
}

}  // namespace penstock::testing
