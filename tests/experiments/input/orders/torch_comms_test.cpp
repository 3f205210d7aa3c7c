#include "experiments/input/orders/torch_comms.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/orders/order_check.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"
#include "tests/support/system.hpp"

namespace penstock::testing {
namespace {

/// A rule's order at one size.
struct Example {
  Placement placement;
  Schedule schedule;
};

std::optional<Example> example_of(const ScheduleEntry& entry, std::uint32_t ranks,
                                  std::uint32_t chunks, const ScheduleOptions& options) {
  try {
    Placement placement = entry.place(ranks, chunks);
    Schedule schedule = make_schedule(entry, placement, options);
    return Example{std::move(placement), std::move(schedule)};
  } catch (const RuleError&) {
    return std::nullopt;
  }
}

std::uint32_t from_to(std::uint32_t first, std::uint32_t last) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(first, last + 1));
}

/// A rule at random sizes that it allows; of its order what the notation can carry.
Example random_example(const ScheduleEntry& entry) {
  const std::uint32_t ranks = from_to(1, 5);
  const std::uint32_t chunks = entry.default_chunks * from_to(1, 2);
  // Some rules want a multiple of p; of others, multiples would miss the uneven cases.
  const std::uint32_t microbatches = from_to(0, 1) == 0 ? from_to(1, 12) : ranks * from_to(1, 3);
  auto example = example_of(entry, ranks, chunks, {microbatches, {}});
  if (!example) example = example_of(entry, 2 * ranks, entry.default_chunks, {4 * ranks, {}});
  example->schedule = torch_order(example->schedule).schedule;
  return std::move(example).value();
}

/// Calls `law(example)` for random sizes of every rule.
template <class Law>
void for_random_sizes(Law law) {
  for (const ScheduleEntry* entry : schedule_entries()) {
    CHECK_MESSAGE(rc::check([&] { law(random_example(*entry)); }), entry->name);
  }
}

/// The chains that a file of an order names: chimera of half a unit leaves its second copy idle.
std::vector<std::vector<Stage>> chains_in_use(const Example& example) {
  std::set<std::uint32_t> used;
  for (const Rank rank : Numbers<Rank>(example.schedule.ranks())) {
    for (const Action& action : example.schedule.on(rank)) {
      used.insert(example.placement.chain_of(action.stage));
    }
  }
  std::vector<std::vector<Stage>> chains;
  for (const std::uint32_t chain : used) chains.push_back(example.placement.chains()[chain]);
  return chains;
}

/// Lowered as by 2.9, whose cells are sends and receives alone.
std::string lowered_text(const char* csv, Lowering lowering = {TorchVersion::v2_9, false}) {
  const OrderFile order = read_torch_csv(csv);
  return write_torch_comms(order.schedule, placement_of(order, {}), lowering);
}

const Lowering fsdp_of_2_14{TorchVersion::v2_14, true};

}  // namespace

TEST_CASE("1f1b of two ranks: each output is sent at once, each input received when it is sent") {
  CHECK(lowered_text("0F0,0F1,0B0,0B1\n"
                     "1F0,1B0,1F1,1B1\n") ==
        "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
        "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n");
}

TEST_CASE("the turn of a V sends nothing") {
  // Stages 1 and 2 are on rank 1.
  CHECK(lowered_text("0F0,3F0,3B0,0B0\n"
                     "1F0,2F0,2B0,1B0\n") ==
        "0F0,0SEND_F0,3RECV_F0,3F0,3B0,3SEND_B0,0RECV_B0,0B0\n"
        "1RECV_F0,1F0,2F0,2SEND_F0,2RECV_B0,2B0,1B0,1SEND_B0\n");
}

TEST_CASE("an overlap cell receives for both of its parts, and sends for both behind it") {
  const char* const order =
      "0F0,0F1,0B0,0B1\n"
      "1F0,(1F1;1B0)OVERLAP_F_B,1B1\n"
      "2F0,2B0,2F1,2B1\n";
  CHECK(lowered_text(order, {TorchVersion::v2_14, false}) ==
        "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1,0REDUCE_GRAD\n"
        "1RECV_F0,1F0,1SEND_F0,1RECV_F1,1RECV_B0,(1F1;1B0)OVERLAP_F_B,1SEND_F1,1SEND_B0,"
        "1RECV_B1,1B1,1SEND_B1,1REDUCE_GRAD\n"
        "2RECV_F0,2F0,2B0,2SEND_B0,2RECV_F1,2F1,2B1,2SEND_B1,2REDUCE_GRAD\n");
}

TEST_CASE("2.9 runs the parts of an overlap cell one after the other") {
  CHECK(lowered_text("0F0,(0F1;0B0)OVERLAP_F_B,0B1\n") == "0F0,0F1,0B0,0B1\n");
}

TEST_CASE("2.15 waits for an activation behind its backward, for a gradient at the end") {
  CHECK(lowered_text("0F0,0B0\n1F0,1B0\n", {TorchVersion::v2_15, false}) ==
        "0F0,0SEND_F0,0RECV_B0,0B0,0WAIT_SEND_F0,0REDUCE_GRAD,0WAIT_REDUCE_GRAD\n"
        "1RECV_F0,1F0,1B0,1SEND_B0,1REDUCE_GRAD,1WAIT_REDUCE_GRAD,1WAIT_SEND_B0\n");
}

TEST_CASE("of a split backward, the input gradient is sent and the weight gradient stays") {
  CHECK(lowered_text("0F0,0I0,0W0\n1F0,1I0,1W0\n") ==
        "0F0,0SEND_F0,0RECV_B0,0I0,0W0\n"
        "1RECV_F0,1F0,1I0,1SEND_B0,1W0\n");
}

TEST_CASE("with fsdp, two chunks gather their weights first and let each go behind its last use") {
  CHECK(lowered_text("0F0,2F0,2B0,0B0\n1F0,3F0,3B0,1B0\n", fsdp_of_2_14) ==
        "0UNSHARD,2UNSHARD,0F0,0SEND_F0,2RECV_F0,2F0,2SEND_F0,2RECV_B0,2B0,2SEND_B0,"
        "2REDUCE_GRAD,2RESHARD,0RECV_B0,0B0,0REDUCE_GRAD,0RESHARD\n"
        "1UNSHARD,3UNSHARD,1RECV_F0,1F0,1SEND_F0,3RECV_F0,3F0,3B0,3SEND_B0,1RECV_B0,"
        "3REDUCE_GRAD,3RESHARD,1B0,1SEND_B0,1REDUCE_GRAD,1RESHARD\n");
}

TEST_CASE("with fsdp, a rank holds the weights of the next three stages at a time") {
  CHECK(lowered_text("0F0,1F0,2F0,3F0\n", fsdp_of_2_14) ==
        "0UNSHARD,1UNSHARD,2UNSHARD,0F0,0RESHARD,3UNSHARD,1F0,1RESHARD,2F0,2RESHARD,3F0,"
        "3RESHARD\n");
}

TEST_CASE("an order that deadlocks cannot be lowered, nor one with what PyTorch has no word for") {
  CHECK_THROWS_WITH_AS(lowered_text("0F0,0B0,0F1,0B1\n1F1,1F0,1B0,1B1\n"),
                       "the order deadlocks: 0B0 of rank 0 can never start", RuleError);
  Schedule schedule(1);
  schedule.on(Rank{0}).emplace_back(Pass::recompute, Stage{0}, Microbatch{0});
  CHECK_THROWS_WITH_AS(write_torch_comms(schedule, Placement::loop(1, 1), {}),
                       "0R0 has no place in PyTorch's notation", RuleError);
}

TEST_CASE("every rule at random sizes lowers to an order without a fault, with fsdp and without") {
  for_random_sizes([](const Example& example) {
    for (const TorchVersion version : torch_versions) {
      for (const bool fsdp : {false, true}) {
        const std::string csv =
            write_torch_comms(example.schedule, example.placement, {version, fsdp});
        const OrderCheck check = check_order(csv, chains_in_use(example));
        if (check.fault) RC_FAIL(check.fault->text + "\n" + csv);
        if (!why_not_loadable(example.schedule, example.placement).empty()) {
          RC_ASSERT(check.facts->torch.empty());
        } else if (check.facts->with_communication) {
          RC_ASSERT(check.facts->torch == std::vector{version});
        }
      }
    }
  });
}

TEST_CASE("every rule at random sizes has its own order back when the communication is dropped") {
  for_random_sizes([](const Example& example) {
    for (const bool fsdp : {false, true}) {
      const std::string csv =
          write_torch_comms(example.schedule, example.placement, {.fsdp = fsdp});
      RC_ASSERT(read_torch_csv(csv).schedule == example.schedule);
    }
  });
}

TEST_CASE("every rule at random sizes divides the gradients of each stage once since 2.14") {
  for_random_sizes([](const Example& example) {
    if (!example.schedule.has_backward()) return;
    for (const TorchVersion version : {TorchVersion::v2_14, TorchVersion::v2_15}) {
      const OrderFile order =
          read_torch_csv(write_torch_comms(example.schedule, example.placement, {version, false}));
      std::map<Stage, int> reductions;
      for (const auto& row : order.comms) {
        for (const CommCell& cell : row) reductions[cell.stage] += cell.comm == Comm::reduce_grad;
      }
      std::set<Stage> trained;
      for (const Rank rank : Numbers<Rank>(example.schedule.ranks())) {
        for (const Action& action : example.schedule.on(rank)) trained.insert(action.stage);
      }
      for (const Stage stage : trained) RC_ASSERT(reductions[stage] == 1);
    }
  });
}

TEST_CASE("an order whose last stage runs microbatches out of order trains in no release") {
  const auto why_not = [](std::string_view csv) {
    const OrderFile order = read_torch_csv(csv);
    return why_not_loadable(order.schedule, placement_of(order, {}));
  };
  const char* const swapped = "0F0,0F1,0B0,0B1\n1F1,1F0,1B0,1B1";
  CHECK(why_not(swapped) ==
        "1F1 of rank 1 comes before 1F0, and PyTorch's runtime takes losses in the order of "
        "microbatches: put the forwards of stage 1 in ascending order");
  CHECK(check_order(swapped, {}, TorchVersion::v2_15)
            .fault->text.starts_with("PyTorch 2.15 does not train it: 1F1 of rank 1 comes before"));
  CHECK(why_not("0F0,0F1,0B0,0B1\n1F1,1B1,1F0,1B0").starts_with("1F1 of rank 1 comes before 1F0"));
  CHECK(why_not("0F0,0F1,0F2,0B0,0B1,0B2\n1F0,(1F2;1B0)OVERLAP_F_B,1F1,1B1,1B2")
            .starts_with("1F2 of rank 1 comes before 1F1"));
  // Other forwards and all backwards may have any order.
  CHECK(why_not("0F1,0F0,0B0,0B1\n1F0,1F1,1B1,1B0").empty());
}

TEST_CASE("weights that are gathered and not used stop PyTorch with FSDP stages alone") {
  const auto note_of = [](std::string_view csv) { return check_order(csv, {}).facts->fsdp_note; };
  const std::string stops = "PyTorch stops with FSDP stages: ";
  CHECK(note_of("0UNSHARD,0F0,0B0,0RESHARD").empty());
  CHECK(note_of("0UNSHARD,0F0,0B0").empty());
  CHECK(note_of("0F0,0B0").empty());
  CHECK(note_of("0UNSHARD,0RESHARD,0UNSHARD,0F0,0B0") ==
        stops +
            "0UNSHARD in row 0, column 0 gathers weights that no action uses before 0RESHARD: "
            "remove both");
  CHECK(note_of("0UNSHARD,0F0,0B0,0RESHARD,0UNSHARD") ==
        stops +
            "0UNSHARD in row 0, column 4 gathers weights that no action uses before the end of the "
            "row: remove it");
  // Another stage uses its own; of an overlap cell, both actions count.
  CHECK(note_of("0UNSHARD,1UNSHARD,0F0,1RESHARD,1UNSHARD,1F0,1B0,0B0") ==
        stops +
            "1UNSHARD in row 0, column 1 gathers weights that no action uses before 1RESHARD: "
            "remove both");
  CHECK(note_of("0UNSHARD,0F0,(0F1;0B0)OVERLAP_F_B,0RESHARD,0UNSHARD,0B1,0RESHARD").empty());
  const OrderCheck check =
      check_order("0UNSHARD,0F0,0B0,0REDUCE_GRAD,0WAIT_REDUCE_GRAD,0RESHARD,0UNSHARD,0RESHARD", {},
                  newest_torch);
  CHECK_FALSE(check.fault);
  CHECK(check.facts->torch == std::vector{TorchVersion::v2_15});
}

TEST_CASE(
    "a release of PyTorch rejects cells that it does not have, and sends without their waits") {
  const auto rejected = [](std::string_view csv, std::optional<TorchVersion> version) {
    return why_rejected(read_torch_csv(csv).comms, version);
  };
  using enum TorchVersion;
  const char* const exchange =
      "PyTorch has no EXCHANGE: its stages exchange tokens inside their passes";
  CHECK(rejected("0F0,0EXCHANGE_F0,1F0", std::nullopt) == exchange);
  CHECK(rejected("0F0,0EXCHANGE_F0,1F0", v2_14) == exchange);
  const char* const reduced = "0F0,0B0,0REDUCE_GRAD";
  CHECK(rejected(reduced, v2_9) == "REDUCE_GRAD has cells from 2.14 on");
  CHECK(rejected(reduced, v2_14).empty());
  CHECK(rejected(reduced, v2_15) == "there each SEND and REDUCE_GRAD has a wait");
  CHECK(rejected(reduced, std::nullopt).empty());
  CHECK(rejected("0F0,0B0,0REDUCE_GRAD,0WAIT_REDUCE_GRAD", v2_14) ==
        "waits have cells from 2.15 on");
  CHECK(rejected("0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0", v2_15) ==
        "there each SEND and REDUCE_GRAD has a wait");
  // Without REDUCE_GRAD an order loads, and divides no gradients.
  for (const TorchVersion version : torch_versions) {
    CHECK(rejected("0UNSHARD,0F0,0B0,0RESHARD", version).empty());
    CHECK(rejected("0F0,0B0", version).empty());
  }
}

TEST_CASE("an order that several ranks run a stage of says so where it is written") {
  Schedule order(2);
  for (const std::uint32_t rank : {0, 1}) {
    order.on(Rank{rank}).emplace_back(Pass::forward, Stage{rank}, Microbatch{0});
  }
  CHECK(lost_text(order, {}, 1, WeightUse::flushed).empty());
  order.on(Rank{1}).emplace_back(Pass::forward, Stage{0}, Microbatch{1});
  CHECK(lost_text(order, {"0U0 of rank 0"}, 1, WeightUse::flushed) ==
        "left out 1 action, since the notation cannot carry them: 0U0 of rank 0 …; stage 0 is in "
        "several rows, where readers expect a stage in one: its microbatches are divided among "
        "these ranks");
}

TEST_CASE("every rule at random sizes reads back from its compute-only file as it was") {
  for_random_sizes([](const Example& example) {
    const TorchCsv csv = write_torch_csv(example.schedule);
    RC_ASSERT(csv.left_out.empty());
    const OrderFile order = read_torch_csv(csv.text);
    RC_ASSERT(order.schedule == example.schedule);
    const Placement placement = placement_of(order, chains_in_use(example));
    for (const Stage stage : placement.stages()) {
      RC_ASSERT(placement.rank_of(stage) == example.placement.rank_of(stage));
    }
  });
}

}  // namespace penstock::testing
