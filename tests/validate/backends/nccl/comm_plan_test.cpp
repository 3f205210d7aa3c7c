#include "validate/backends/nccl/comm_plan.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rapidcheck.h>

#include <algorithm>
#include <optional>
#include <set>
#include <variant>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/layout.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/run/stage_formats.hpp"
#include "tests/support/draws.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/random_system.hpp"
#include "tests/support/scratch.hpp"
#include "validate/backends/nccl/comm_channels.hpp"
#include "validate/backends/nccl/hang_check.hpp"
#include "validate/job/replica_ranks.hpp"

namespace penstock::testing {
namespace {

constexpr ChannelRule both_rules[] = {ChannelRule::per_direction, ChannelRule::per_pair};

/// Why a plan's calls hang with any rule; "" if they never do.
std::string any_hang(const PricedPlan& priced) {
  for (const ChannelRule rule : both_rules) {
    if (const auto why = why_it_hangs(comm_plan(priced, rule), priced.plan)) return *why;
  }
  return "";
}

/// The plan of a scenario with all data replicas; none where no order is known before it runs.
std::optional<PricedPlan> plan_of(const std::string& path) {
  const Layout layout = with_codecs(settle(read_scenario(path)));
  if (layout.policy != nullptr) return std::nullopt;
  auto priced = Simulation(layout).priced_order();
  if (!std::holds_alternative<PricedPlan>(priced)) return std::nullopt;
  const PricedPlan& one = std::get<PricedPlan>(priced);
  if (layout.degrees.data == 1) return one;
  const std::uint32_t replicas = std::min<std::uint32_t>(layout.degrees.data, 4);
  return with_replica_ranks(one, std::vector<Costs>(replicas, one.costs));
}

/// "0>1: send 0SEND_F0; receive 1SEND_B0 | …" of a rank, without actions.
std::string calls_text(const CommPlan& comms, const Plan& plan, std::uint32_t rank) {
  std::string all;
  for (const RankItem& item : comms.ranks[rank]) {
    if (item.is_action()) continue;
    std::vector<std::string> calls;
    for (const CommOp& op : item.group) {
      const char* const kinds[] = {"send", "receive", "all-reduce", "reduce-scatter", "all-gather"};
      calls.push_back(
          fmt::format("{} {}", kinds[static_cast<int>(op.kind)], task_text(plan, op.task)));
    }
    all += fmt::format("{}{}: {}", all.empty() ? "" : " | ", comms.channels[item.channel].name,
                       fmt::join(calls, "; "));
  }
  return all;
}

/// Two data replicas of two stages, with sums and, by ZeRO, gathers.
PricedPlan two_replicas(bool gathers) {
  System system = two_stages("0F0,0B0\n1F0,1B0\n");
  system.hardware = link(0, 1e9);
  for (Layer& stage : system.stages) stage.parameter_bytes = 4000;
  system.extras.tail = {.reduces = {true, true}, .updates = true, .gathers = gathers};
  system.training = {.data = 2, .optimizer_us = 1};
  const PricedPlan one = priced(system);
  return with_replica_ranks(one, {one.costs, one.costs});
}

std::uint64_t calls_in_groups(const CommPlan& comms) {
  std::uint64_t count = 0;
  for (const auto& items : comms.ranks) {
    for (const RankItem& item : items) count += item.group.size() > 1 ? 1 : 0;
  }
  return count;
}

}  // namespace

TEST_CASE("calls: each end of a transfer has a call on the channel of its direction") {
  const PricedPlan plan = priced(two_stages("0F0,0B0\n1F0,1B0\n"));
  const CommPlan comms = comm_plan(plan, ChannelRule::per_direction);
  CHECK(calls_text(comms, plan.plan, 0) == "0>1: send 0SEND_F0 | 1>0: receive 1SEND_B0");
  CHECK(calls_text(comms, plan.plan, 1) == "0>1: receive 0SEND_F0 | 1>0: send 1SEND_B0");
  CHECK(comms.ranks[0].front().group.empty());
  CHECK(comms.ranks[0][1].group.front().bytes == 4096);
  CHECK(comms.ranks[0][1].waits == std::vector<std::uint32_t>{0});
}

TEST_CASE("calls: gradients of a stage are reduced by its replicas, split off in one call") {
  const PricedPlan plan = two_replicas(false);
  const CommPlan comms = comm_plan(plan, ChannelRule::per_direction);
  std::vector<Channel> stages;
  for (const Channel& channel : comms.channels) {
    if (channel.is_collective) stages.push_back(channel);
  }
  REQUIRE(stages.size() == 2);
  CHECK(stages[0].members == std::vector<std::uint32_t>{1, 3});
  CHECK(stages[1].members == std::vector<std::uint32_t>{0, 2});
  CHECK(stages[0].position_of(3) == 1);
  CHECK(split_rounds(stages).size() == 1);
  CHECK(calls_text(comms, plan.plan, 3) ==
        "2>3: receive 0SEND_F1 | 3>2: send 1SEND_B1 | stage 1: all-reduce 1REDUCE1");
  CHECK(any_hang(plan).empty());
}

TEST_CASE("calls: where weights are gathered, gradients are scattered") {
  const PricedPlan plan = two_replicas(true);
  const CommPlan comms = comm_plan(plan, ChannelRule::per_direction);
  CHECK(calls_text(comms, plan.plan, 1) ==
        "0>1: receive 0SEND_F0 | 1>0: send 1SEND_B0 | stage 1: reduce-scatter 1REDUCE0 | stage 1: "
        "all-gather 1GATHER0");
}

// Channels of neighbours alternate, so four calls make all channels of a row of ranks.
TEST_CASE("calls: no rank is in two channels of a call that splits") {
  const PricedPlan plan = priced(system_of("1f1b", 8, 8));
  const CommPlan comms = comm_plan(plan, ChannelRule::per_direction);
  const auto rounds = split_rounds(comms.channels);
  CHECK(rounds.size() == 4);
  std::set<std::uint32_t> made;
  for (const auto& round : rounds) {
    std::set<std::uint32_t> ranks;
    for (const std::uint32_t channel : round) {
      made.insert(channel);
      for (const std::uint32_t rank : comms.channels[channel].members) {
        CHECK(ranks.insert(rank).second);
      }
    }
  }
  CHECK(made.size() == comms.channels.size());
}

TEST_CASE("calls: with a channel per pair, tensors that cross in steady 1F1B share groups") {
  const PricedPlan plan = priced(system_of("1f1b", 4, 8));
  CHECK(calls_in_groups(comm_plan(plan, ChannelRule::per_pair)) > 10);
  CHECK(calls_in_groups(comm_plan(plan, ChannelRule::per_direction)) == 0);
}

TEST_CASE("calls: no schedule hangs, for p of 2 to 8 and m up to 4p") {
  for (const ScheduleEntry* entry : schedule_entries()) {
    for (std::uint32_t ranks = 2; ranks <= 8; ++ranks) {
      for (const std::uint32_t microbatches : {ranks, 2 * ranks, 4 * ranks}) {
        CAPTURE(entry->name);
        CAPTURE(ranks);
        CAPTURE(microbatches);
        System system;
        try {
          system = system_of(*entry, ranks, microbatches);
        } catch (const std::exception&) {
          continue;  // the rule does not have these sizes
        }
        const PricedPlan plan = priced(system);
        REQUIRE_FALSE(why_no_comm_plan(plan.plan));
        CHECK(any_hang(plan) == "");
      }
    }
  }
}

TEST_CASE("calls: no bundled scenario hangs") {
  std::uint32_t scenarios = 0;
  for (const std::string& file : paths_in(PENSTOCK_ROOT "/experiments/scenarios", ".json")) {
    CAPTURE(file);
    const auto plan = plan_of(file);
    if (!plan || why_no_comm_plan(plan->plan)) continue;
    ++scenarios;
    CHECK(any_hang(*plan) == "");
  }
  CHECK(scenarios >= 4);
}

// Orders over any placement, with fused cells, recomputation, evictions, sums beside and behind
// stages, gathers and tied weights; up to three data replicas.
TEST_CASE("calls: a thousand random plans do not hang") {
  std::uint32_t ran = 0;
  std::uint32_t refused = 0;
  CHECK(rc::check([&] {
    for (int number = 0; number < 10; ++number) {
      const PricedPlan one = priced(random_system({.exchanges = false}));
      const std::uint32_t replicas = from_to(1, 3);
      const PricedPlan plan =
          replicas == 1 ? one : with_replica_ranks(one, std::vector<Costs>(replicas, one.costs));
      if (why_no_comm_plan(plan.plan)) {
        ++refused;
        continue;
      }
      ++ran;
      const std::string why = any_hang(plan);
      if (!why.empty()) RC_FAIL(why);
    }
  }));
  CHECK(ran + refused >= 1000);
  CHECK(refused < 100);
}

}  // namespace penstock::testing
