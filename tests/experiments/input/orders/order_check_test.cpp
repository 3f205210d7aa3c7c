#include "experiments/input/orders/order_check.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/orders/torch_comms.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

using Chains = std::vector<std::vector<Stage>>;

/// "row 1, column 2: what is wrong", or "fine".
std::string fault_of(std::string_view csv, const Chains& chains = {}) {
  const OrderCheck check = check_order(csv, chains);
  REQUIRE(check.fault.has_value() != check.facts.has_value());
  if (!check.fault) return "fine";
  return fmt::format("row {}, column {}: {}", check.fault->rank, check.fault->column,
                     check.fault->text);
}

/// "p 2, 4 stages, m 1, loop, compute-only, peaks 2 2"
std::string facts_of(std::string_view csv, const Chains& chains = {}) {
  const OrderCheck check = check_order(csv, chains);
  if (!check.facts) return check.fault->text;
  const OrderFacts& facts = *check.facts;
  return fmt::format("p {}, {} stages, m {}, {}, {}, peaks {}", facts.ranks, facts.stages,
                     facts.microbatches, facts.placement,
                     facts.with_communication ? "with communication" : "compute-only",
                     fmt::join(facts.peak_activations, " "));
}

}  // namespace

TEST_CASE("an order without a fault is checked for what it is") {
  CHECK(facts_of("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1") ==
        "p 2, 2 stages, m 2, loop, compute-only, peaks 2 1");
  CHECK(facts_of("0F0,,0I0,0W0\n,1F0,1I0,1W0") ==
        "p 2, 2 stages, m 1, loop, compute-only, peaks 1 1");
  CHECK(facts_of("0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0") ==
        "p 2, 2 stages, m 1, loop, with communication, peaks 1 1");
  CHECK(facts_of("0F7") == "p 1, 1 stages, m 1, loop, compute-only, peaks 1");
}

TEST_CASE("an order with communication says that its communication is not timed") {
  const auto note_of = [](std::string_view csv) { return check_order(csv, {}).facts->timing_note; };
  CHECK(note_of("0F0,0B0\n1F0,1B0").empty());
  CHECK(note_of("0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0")
            .starts_with("the order's 4 communication cells are checked for deadlock and not "
                         "timed: "));
}

TEST_CASE("a placement is called loop, v or bidirectional when it is one, and otherwise given") {
  CHECK(facts_of("0F0,2F0,2B0,0B0\n1F0,3F0,3B0,1B0") ==
        "p 2, 4 stages, m 1, loop, compute-only, peaks 2 2");
  CHECK(facts_of("0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0") ==
        "p 2, 4 stages, m 1, v, compute-only, peaks 2 2");
  const Chains two{{Stage{0}, Stage{1}}, {Stage{2}, Stage{3}}};
  CHECK(facts_of("0F0,0B0,3F1,3B1\n1F0,1B0,2F1,2B1", two) ==
        "p 2, 4 stages, m 2, bidirectional, compute-only, peaks 1 1");
  CHECK(facts_of("1F0,1B0\n0F0,0B0") == "p 2, 2 stages, m 1, given, compute-only, peaks 1 1");
  CHECK(facts_of("0F0,1F0\n2F0") == "p 2, 3 stages, m 1, given, compute-only, peaks 1 1");
}

TEST_CASE("an order of every bidirectional schedule is checked without naming its chains") {
  for (const ScheduleEntry* entry : schedule_entries()) {
    if (entry->copies != 2) continue;
    CAPTURE(entry->name);
    const Placement placement = entry->place(4, 2);
    const Schedule schedule = make_schedule(*entry, placement, {8, {}});
    for (const std::string& csv :
         {write_torch_csv(schedule).text, write_torch_comms(schedule, placement, {.fsdp = true})}) {
      const OrderCheck check = check_order(csv, {});
      CHECK(fault_of(csv) == "fine");
      REQUIRE(check.facts);
      CHECK(check.facts->placement == "bidirectional");
      CHECK(check.inferred_chains == placement.chains());
      CHECK(check_order(csv, placement.chains()).inferred_chains.empty());
    }
  }
}

TEST_CASE("an order of one copy infers nothing, and a fault is found in inferred chains too") {
  CHECK(check_order("0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0", {}).inferred_chains.empty());
  CHECK(fault_of("0F0,3F1\n1F0,,2F1,2F2") == "row 0, column 2: 3F2 is missing");
}

TEST_CASE("a byte order mark is read, and no release of PyTorch does") {
  const OrderCheck check = check_order(
      "\xEF\xBB\xBF"
      "0F0,0B0\n",
      {});
  REQUIRE(check.facts);
  CHECK(check.facts->torch.empty());
  CHECK(says(check.facts->torch_note, "byte order mark"));
}

TEST_CASE("a last rank without actions counts") {
  CHECK(facts_of("0F0,0B0\n\n") == "p 2, 1 stages, m 1, given, compute-only, peaks 1 0");
}

TEST_CASE("a cell that cannot be read is the first fault, at its row and column") {
  CHECK(fault_of("0F0,0B0\n1F0,,hello") ==
        "row 1, column 2: \"hello\" is no cell; a cell is STAGE, one of F B I W, MICROBATCH, as in "
        "2F0; or (2F1;3B0)OVERLAP_F_B; or blank");
  CHECK(fault_of("0B0,0F0xyz")
            .starts_with("row 0, column 1: \"0F0xyz\" has \"xyz\" behind its microbatch"));
}

TEST_CASE("an action in the wrong place is a fault of its cell, blanks counted") {
  CHECK(fault_of("0F0,,0B0\n,0F1") ==
        "row 1, column 1: 0F1 puts stage 0 on rank 1, but row 0 names it already; a stage belongs "
        "to one rank");
  CHECK(fault_of("0F0,,0F0,0B0") == "row 0, column 2: 0F0 occurs twice");
  CHECK(fault_of("0F0,0B0,0B0") == "row 0, column 2: 0B0 occurs twice");
  CHECK(fault_of("0F0,0B0\n,1B0,1F0") == "row 1, column 1: 1B0 has no 1F0 before it");
  CHECK(fault_of("0F0,0B0\n1F0,1B1") == "row 1, column 1: 1B1 has no 1F1 before it");
  CHECK(fault_of("0F0,0W0,0I0") == "row 0, column 1: 0W0 has no 0I0 before it");
  CHECK(fault_of("0F0,0I0,0B0") ==
        "row 0, column 2: 0B0 is mixed with 0I0; the backward of one microbatch is either B, or I "
        "and W");
  CHECK(fault_of("0F0,0B0,0W0") ==
        "row 0, column 2: 0W0 is mixed with 0B0; the backward of one microbatch is either B, or I "
        "and W");
  CHECK(fault_of("(0F0;0B0)OVERLAP_F_B") ==
        "row 0, column 0: 0B0 shares a cell with 0F0, which it needs");
}

TEST_CASE("what is missing is a fault of the end of the row that lacks it") {
  CHECK(fault_of("0F0,0B0\n,1F0,") == "row 1, column 2: 1B0 is missing");
  CHECK(fault_of("0F0,0B0\n1F0,1I0") == "row 1, column 2: 1W0 is missing");
  CHECK(fault_of("0F0,0F1\n1F0") == "row 1, column 1: 1F1 is missing");
}

TEST_CASE("a microbatch belongs to one chain") {
  CHECK(fault_of("0F0,0F1,0B0,0B1,1F1,1B1", {{Stage{0}}, {Stage{1}}}) ==
        "row 0, column 4: 1F1 runs microbatch 1 in chain 1, but chain 0 already runs it");
  CHECK(fault_of("0F0,0F1,0B0,0B1,1F2,1B2", {{Stage{0}}, {Stage{1}}}) == "fine");
}

TEST_CASE("chains that do not fit the stages are an error of the caller, not of the file") {
  CHECK_THROWS_AS(check_order("0F0\n1F0", Chains{{Stage{0}}}), InputError);
}

TEST_CASE("ranks that wait for each other are a deadlock, with the whole circle") {
  // Rank 0 wants the gradient of 0 before it sends 1; rank 1 wants 1 first.
  CHECK(fault_of("0F0,,0B0,0F1,0B1\n1F1,1F0,1B0,1B1") ==
        "row 0, column 2: deadlock: 0B0 of rank 0 waits for 1B0 of rank 1, which follows 1F1; 1F1 "
        "of rank 1 waits for 0F1 of rank 0, which follows 0B0");
}

TEST_CASE("an action that reads from another rank stands behind its RECV") {
  CHECK(fault_of("0F0,0SEND_F0\n1F0,1RECV_F0") == "row 1, column 0: 1F0 has no 1RECV_F0 before it");
  CHECK(fault_of("0F0,0SEND_F0,0F1\n1RECV_F0,1F0,1F1") ==
        "row 1, column 2: 1F1 has no 1RECV_F1 before it");
  CHECK(fault_of("0F0,0SEND_F0,0B0,0RECV_B0\n1RECV_F0,1F0,1B0,1SEND_B0") ==
        "row 0, column 2: 0B0 has no 0RECV_B0 before it");
  // A weight gradient reads from its own rank alone.
  CHECK(fault_of("0F0,0SEND_F0,0RECV_B0,0I0,0W0\n1RECV_F0,1F0,1I0,1SEND_B0,1W0") == "fine");
}

TEST_CASE("a SEND stands behind what makes its tensor") {
  CHECK(fault_of("0SEND_F0,0F0\n1RECV_F0,1F0") ==
        "row 0, column 0: 0SEND_F0 sends a tensor that its rank has not computed yet");
  CHECK(fault_of("0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1SEND_B0,1B0") ==
        "row 1, column 2: 1SEND_B0 sends a tensor that its rank has not computed yet");
  CHECK(fault_of("0F0,0SEND_F1,0F1,0SEND_F0\n1RECV_F0,1F0,1RECV_F1,1F1") ==
        "row 0, column 1: 0SEND_F1 sends a tensor that its rank has not computed yet");
}

TEST_CASE("SEND and RECV come in pairs, once each") {
  CHECK(fault_of("0F0,0SEND_F0,0F1,0SEND_F1\n1RECV_F0,1F0,1F1") ==
        "row 0, column 3: 0SEND_F1 has no 1RECV_F1 on rank 1");
  CHECK(fault_of("0F0,0SEND_F0,0F1\n1RECV_F0,1F0,1RECV_F1,1F1") ==
        "row 1, column 2: 1RECV_F1 has no 0SEND_F1 on rank 0");
  CHECK(fault_of("0F0,0SEND_F0\n1RECV_F0,1F0,1RECV_F0") ==
        "row 1, column 2: 1RECV_F0 appears twice");
  CHECK(fault_of("0F0,0SEND_F0,0SEND_F0\n1RECV_F0,1F0") ==
        "row 0, column 2: 0SEND_F0 appears twice");
}

TEST_CASE("a communication cell stands on the rank of its stage") {
  CHECK(fault_of("0F0,0SEND_F0,1RECV_F0\n1F0") ==
        "row 0, column 2: 1RECV_F0 is on rank 0, which does not hold stage 1");
  CHECK(fault_of("0F0,9RESHARD") ==
        "row 0, column 1: 9RESHARD is on rank 0, which does not hold stage 9");
}

TEST_CASE("nothing is sent around the turn of a V, nor beyond the ends") {
  // Stages 1 and 2 lie on rank 1 both.
  const std::string row0 = "0F0,0SEND_F0,3RECV_F0,3F0\n";
  CHECK(fault_of(row0 + "1RECV_F0,1F0,2F0,2SEND_F0") == "fine");
  CHECK(
      fault_of(row0 + "1RECV_F0,1F0,1SEND_F0,2F0,2SEND_F0") ==
      "row 1, column 2: 1SEND_F0 has no partner: the neighbour of stage 1 is not on another rank");
  CHECK(
      fault_of(row0 + "1RECV_F0,1F0,2RECV_F0,2F0,2SEND_F0") ==
      "row 1, column 2: 2RECV_F0 has no partner: the neighbour of stage 2 is not on another rank");
  CHECK(
      fault_of("0RECV_F0,0F0,0SEND_F0\n1RECV_F0,1F0") ==
      "row 0, column 0: 0RECV_F0 has no partner: the neighbour of stage 0 is not on another rank");
}

TEST_CASE("what is exchanged within a rank is read behind its EXCHANGE, there and back") {
  CHECK(fault_of("0F0,0EXCHANGE_F0,1F0,1B0,1EXCHANGE_B0,0B0") == "fine");
  CHECK(fault_of("0F0,0EXCHANGE_F0,0F1,1F0,1F1") ==
        "row 0, column 4: 1F1 has no 0EXCHANGE_F1 before it");
  CHECK(fault_of("0F0,0EXCHANGE_F0,1F0,1B0,0B0") ==
        "row 0, column 4: 0B0 has no 1EXCHANGE_B0 before it");
  CHECK(fault_of("0EXCHANGE_F0,0F0,1F0") ==
        "row 0, column 0: 0EXCHANGE_F0 exchanges a tensor that its rank has not computed yet");
  CHECK(fault_of("0F0,0EXCHANGE_F0,0EXCHANGE_F0,1F0") ==
        "row 0, column 2: 0EXCHANGE_F0 appears twice");
  CHECK(fault_of("0F0,0EXCHANGE_F0\n1F0") ==
        "row 0, column 1: 0EXCHANGE_F0 has no reader: the neighbour of stage 0 is not on its rank");
  CHECK(fault_of("0F0,0EXCHANGE_F0,1F0\n2F0") ==
        "fine");  // what crosses ranks moves as it is there
  CHECK(fault_of("0F0,0EXCHANGE_F0,1F0,1SEND_F0\n2F0") ==
        "row 0, column 3: 1SEND_F0 has no 2RECV_F0 on rank 1");
  CHECK(check_order("0F0,0EXCHANGE_F0,1F0", {}, TorchVersion::v2_15).facts->torch_note ==
        "PyTorch has no EXCHANGE: its stages exchange tokens inside their passes");
}

TEST_CASE("a link hands tensors over in the order in which they were sent") {
  CHECK(fault_of("0F0,0SEND_F0,0F1,0SEND_F1\n1RECV_F0,1RECV_F1,1F1,1F0") == "fine");
  CHECK(fault_of("0F0,0SEND_F0,0F1,0SEND_F1\n1RECV_F1,1F1,1RECV_F0,1F0") ==
        "row 1, column 0: 1RECV_F1 deadlocks: rank 0 sends 0SEND_F0 first on this link, which rank "
        "1 receives later; it runs with /schedule/communication=written and "
        "/schedule/streams=message");
  // 0F1 waits until 0F0 has arrived, and 1F1 is in front of its RECV: no streams help.
  CHECK(fault_of(
            "0F0,0SEND_F0,0WAIT_SEND_F0,0F1,0SEND_F1,0WAIT_SEND_F1\n1RECV_F1,1F1,1RECV_F0,1F0") ==
        "row 1, column 0: 1RECV_F1 deadlocks: rank 0 sends 0SEND_F0 first on this link, which rank "
        "1 receives later");
}

TEST_CASE("receives that wait for each other are a deadlock, though the actions alone are none") {
  CHECK(fault_of("0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1") == "fine");
  CHECK(fault_of("0F0,0SEND_F0,0RECV_B0,0F1,0SEND_F1,0B0,0RECV_B1,0B1\n"
                 "1RECV_F0,1RECV_F1,1F0,1F1,1B0,1SEND_B0,1B1,1SEND_B1") ==
        "row 0, column 2: deadlock: 0RECV_B0 of rank 0 waits for 1SEND_B0 of rank 1; 1RECV_F1 of "
        "rank 1 waits for 0SEND_F1 of rank 0; it runs with /schedule/communication=written and "
        "/schedule/streams=direction or message");
}

TEST_CASE("a release of PyTorch: RECVs are posted without waiting, and streams decide") {
  // A RECV posted early: the next SEND to the same rank stands behind it in the stream of the pair.
  const char* const early =
      "0F0,0SEND_F0,0RECV_B0,0F1,0SEND_F1,0B0,0RECV_B1,0B1\n"
      "1RECV_F0,1RECV_F1,1F0,1F1,1B0,1SEND_B0,1B1,1SEND_B1";
  const OrderCheck check = check_order(early, {}, TorchVersion::v2_14);
  REQUIRE(check.fault);
  CHECK(check.fault->rank == 1);
  CHECK(check.fault->column == 3);
  CHECK(check.fault->text ==
        "deadlock: 1F1 of rank 1 waits for 0SEND_F1 of rank 0, which follows 0RECV_B0; 0RECV_B0 of "
        "rank 0 waits for 1SEND_B0 of rank 1, which follows 1F1");
  REQUIRE(check.streams.size() == 3);
  CHECK(check.streams[1].fault);
  CHECK_FALSE(check.streams[2].fault);
  const OrderCheck lowered = check_order("0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1", {}, newest_torch);
  CHECK_FALSE(lowered.fault);
  CHECK_FALSE(lowered.streams[0].fault);
  CHECK(check_order("0F0,0B0", {}).streams.empty());
}

TEST_CASE("a release of PyTorch: over gloo a RECV takes the tensor that was sent first") {
  const OrderCheck check = check_order(
      "0F0,0F1,0SEND_F1,0SEND_F0,0RECV_B0,0B0,0RECV_B1,0B1\n"
      "1RECV_F0,1RECV_F1,1F0,1F1,1B0,1SEND_B0,1B1,1SEND_B1",
      {}, TorchVersion::v2_14);
  REQUIRE(check.streams.size() == 3);
  REQUIRE(check.streams[0].fault);
  CHECK(check.streams[0].fault->text.starts_with("deadlock: "));
  REQUIRE(check.streams[2].fault);
  CHECK(check.streams[2].fault->rank == 1);
  CHECK(check.streams[2].fault->column == 0);
  CHECK(
      check.streams[2].fault->text ==
      "1RECV_F0 of rank 1 takes what 0SEND_F1 of rank 0 sends: tensors between two ranks match in "
      "the order of their cells");
}

TEST_CASE("an order with communication has no blank cells") {
  CHECK(fault_of("0F0,0SEND_F0\n,1RECV_F0,1F0") ==
        "row 1, column 0: an order with communication has no blank cells; only compute-only "
        "orders may have idle steps");
}

TEST_CASE("weights are gathered while they are used, once at a time") {
  CHECK(fault_of("0UNSHARD,0F0,0B0,0REDUCE_GRAD,0RESHARD") == "fine");
  CHECK(fault_of("0UNSHARD,0F0,0RESHARD,0UNSHARD,0B0,0RESHARD,0REDUCE_GRAD") == "fine");
  CHECK(fault_of("0UNSHARD,0F0,0RESHARD,0B0") ==
        "row 0, column 3: 0B0 runs while the weights of stage 0 are not gathered");
  CHECK(fault_of("0UNSHARD,0F0,1F0") ==
        "row 0, column 2: 1F0 runs while the weights of stage 1 are not gathered");
  CHECK(fault_of("0UNSHARD,0UNSHARD,0F0") ==
        "row 0, column 1: 0UNSHARD: the weights of stage 0 are gathered already");
  CHECK(fault_of("0F0,0RESHARD") ==
        "row 0, column 1: 0RESHARD: the weights of stage 0 are not gathered");
  CHECK(fault_of("0UNSHARD,0RESHARD,0UNSHARD,0F0,0B0") == "fine");
}

TEST_CASE("gradients are reduced behind the last backward of their stage") {
  CHECK(fault_of("0F0,0F1,0B0,0REDUCE_GRAD,0B1") ==
        "row 0, column 3: 0REDUCE_GRAD comes before the last backward of its stage");
  // Of a split backward, the weight gradient is the last.
  CHECK(fault_of("0F0,0I0,0REDUCE_GRAD,0W0") ==
        "row 0, column 2: 0REDUCE_GRAD comes before the last backward of its stage");
  CHECK(fault_of("0F0,1F0,1I0,0I0,1W0,1REDUCE_GRAD,0W0,0REDUCE_GRAD") == "fine");
}

TEST_CASE("in an order with waits, each SEND and each REDUCE_GRAD has one behind it") {
  const std::string row1 = "1RECV_F0,1F0,1B0,1SEND_B0,1WAIT_SEND_B0\n";
  CHECK(fault_of("0F0,0SEND_F0,0RECV_B0,0B0,0WAIT_SEND_F0\n" + row1) == "fine");
  CHECK(fault_of("0F0,0SEND_F0,0RECV_B0,0B0\n" + row1) ==
        "row 0, column 4: 0SEND_F0 has no 0WAIT_SEND_F0 behind it");
  CHECK(fault_of("0F0,0WAIT_SEND_F0,0SEND_F0,0RECV_B0,0B0\n" + row1) ==
        "row 0, column 1: 0WAIT_SEND_F0 has no 0SEND_F0 before it");
  CHECK(fault_of("0F0,0SEND_F0,0RECV_B0,0B0,0WAIT_SEND_F0,0WAIT_SEND_F0\n" + row1) ==
        "row 0, column 5: 0WAIT_SEND_F0 appears twice");
}

TEST_CASE("a rank reduces one stage at a time, and either all stages or none") {
  CHECK(fault_of("0F0,1F0,1B0,0B0,1REDUCE_GRAD,0REDUCE_GRAD,1WAIT_REDUCE_GRAD,0WAIT_REDUCE_GRAD") ==
        "row 0, column 5: 0REDUCE_GRAD comes before 1WAIT_REDUCE_GRAD; a rank reduces one stage at "
        "a time");
  CHECK(
      fault_of("0F0,1F0,1B0,0B0,1REDUCE_GRAD") ==
      "row 0, column 5: 0REDUCE_GRAD is missing: gradients of stage 0 would not be divided by the "
      "number of microbatches");
}

TEST_CASE("a wait for a send lasts until the other rank receives") {
  // Rank 1 receives behind a wait for what rank 0 receives behind its own.
  CHECK(fault_of("0F0,0SEND_F0,0WAIT_SEND_F0,0RECV_B0,0B0\n"
                 "1RECV_F0,1F0,1B0,1SEND_B0,1WAIT_SEND_B0\n") == "fine");
  CHECK(fault_of(
            "0F0,0SEND_F0,0F1,0SEND_F1,0WAIT_SEND_F1,0RECV_B0,0B0,0WAIT_SEND_F0,0RECV_B1,0B1\n"
            "1RECV_F0,1F0,1B0,1SEND_B0,1WAIT_SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1,1WAIT_SEND_B1\n") ==
        "row 0, column 4: deadlock: 0WAIT_SEND_F1 of rank 0 waits for 1RECV_F1 of rank 1; "
        "1WAIT_SEND_B0 of rank 1 waits for 0RECV_B0 of rank 0");
}

TEST_CASE("an order names the releases of PyTorch that load it and divide its gradients") {
  const auto torch_of = [](std::string_view csv) {
    const OrderCheck check = check_order(csv, {});
    REQUIRE(check.facts);
    std::string all;
    for (const TorchVersion version : check.facts->torch) all += fmt::format("{} ", name(version));
    return all + check.facts->torch_note;
  };
  CHECK(torch_of("0F0,0B0") == "2.9 2.14 2.15 ");
  CHECK(torch_of("0F0,0B0,0REDUCE_GRAD") == "2.14 ");
  CHECK(torch_of("0F0,0B0,0REDUCE_GRAD,0WAIT_REDUCE_GRAD") == "2.15 ");
  const std::string note =
      "without REDUCE_GRAD, 2.14 and later do not divide gradients by the number of microbatches";
  CHECK(torch_of("0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0") == "2.9 " + note);
  CHECK(torch_of("0F0,0SEND_F0,0RECV_B0,0B0,0WAIT_SEND_F0\n"
                 "1RECV_F0,1F0,1B0,1SEND_B0,1WAIT_SEND_B0") == note);
  CHECK(torch_of("0F0,0B0,0F2,0B2") ==
        "microbatch 1 is missing, and PyTorch's runtime numbers them from 0 on");
  CHECK(torch_of("0F0") ==
        "it has no backwards, and PyTorch's loader requires one for each microbatch and stage");
  CHECK(torch_of("0F0,1F0,1B0,0B0\n\n") ==
        "rank 1 has no actions, and PyTorch's loader requires some on every rank");
}

TEST_CASE("a release of PyTorch: a sound order that it does not load or train right is at fault") {
  const auto fault_in = [](TorchVersion torch, std::string_view csv) {
    const OrderCheck check = check_order(csv, {}, torch);
    return check.fault ? check.fault->text : "fine";
  };
  using enum TorchVersion;
  const char* const reduced = "0F0,0B0,0REDUCE_GRAD";
  CHECK(fault_in(v2_14, reduced) == "fine");
  CHECK(fault_in(v2_15, reduced) ==
        "PyTorch 2.15 does not train it: there each SEND and REDUCE_GRAD has a wait; 2.14 does");
  CHECK(fault_in(v2_9, reduced) ==
        "PyTorch 2.9 does not train it: REDUCE_GRAD has cells from 2.14 on; 2.14 does");
  const char* const waits = "0F0,0B0,0REDUCE_GRAD,0WAIT_REDUCE_GRAD";
  CHECK(fault_in(v2_15, waits) == "fine");
  CHECK(fault_in(v2_9, waits) ==
        "PyTorch 2.9 does not train it: waits have cells from 2.15 on; 2.15 does");
  const char* const sent = "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0";
  CHECK(fault_in(v2_9, sent) == "fine");
  CHECK(fault_in(v2_14, sent) ==
        "PyTorch 2.14 does not train it: without REDUCE_GRAD, 2.14 and later do not divide "
        "gradients by the number of microbatches; 2.9 does");
  CHECK(fault_in(v2_15, "0F0,1F0,1B0,0B0\n\n")
            .starts_with("PyTorch 2.15 does not train it: rank 1 has no actions"));
  for (const TorchVersion torch : torch_versions) CHECK(fault_in(torch, "0F0,0B0") == "fine");
}

}  // namespace penstock::testing
