#include "validate/backends/nccl/hang_check.hpp"

#include <doctest/doctest.h>

#include "tests/support/jobs.hpp"

namespace penstock::testing {
namespace {

/// Two ranks, and transfers 0F0 -> 1F0 and 1B0 -> 0B0 of 1F1B.
Plan plan_of_two() { return priced(two_stages("0F0,0B0\n1F0,1B0\n")).plan; }

RankItem group(const Plan& plan, std::vector<std::pair<CommKind, const char*>> calls,
               std::uint32_t peer) {
  RankItem item;
  for (const auto& [kind, text] : calls) {
    item.group.push_back({kind, task_of(plan, text), peer, 8});
  }
  return item;
}

constexpr CommKind sends = CommKind::send;
constexpr CommKind receives = CommKind::receive;

const Channel both{"0-1", {0, 1}};

/// Each rank sends to the other, and then receives.
CommPlan crossing(const Plan& plan) {
  return {{both},
          {{group(plan, {{sends, "0SEND_F0"}}, 1), group(plan, {{receives, "1SEND_B0"}}, 1)},
           {group(plan, {{sends, "1SEND_B0"}}, 0), group(plan, {{receives, "0SEND_F0"}}, 0)}}};
}

std::string hang(const CommPlan& comms, const Plan& plan) {
  return why_it_hangs(comms, plan).value_or("");
}

}  // namespace

TEST_CASE("hang check: two ranks that first send to each other wait forever") {
  const Plan plan = plan_of_two();
  CHECK(hang(crossing(plan), plan) ==
        "deadlock: 0SEND_F0 of rank 0 waits for rank 1 to receive; 1SEND_B0 of rank 1 waits for "
        "rank 0 to receive");
}

TEST_CASE("hang check: what crosses in one group does not hang") {
  const Plan plan = plan_of_two();
  const CommPlan comms{{both},
                       {{group(plan, {{sends, "0SEND_F0"}, {receives, "1SEND_B0"}}, 1)},
                        {group(plan, {{sends, "1SEND_B0"}, {receives, "0SEND_F0"}}, 0)}}};
  CHECK(hang(comms, plan).empty());
}

TEST_CASE("hang check: a channel per direction does not help, since streams may share a queue") {
  const Plan plan = plan_of_two();
  CommPlan comms = crossing(plan);
  comms.channels = {{"0>1", {0, 1}}, {"1>0", {0, 1}}};
  comms.ranks[0][1].channel = comms.ranks[1][0].channel = 1;
  CHECK(hang(comms, plan).starts_with("deadlock: 0SEND_F0 of rank 0"));
}

TEST_CASE("hang check: a group in which one transfer needs the other waits for itself") {
  const Plan plan = plan_of_two();
  RankItem last = group(plan, {{sends, "1SEND_B0"}, {receives, "0SEND_F0"}}, 0);
  last.waits = {0};
  RankItem backward{.action = task_of(plan, "1B0"), .waits = {1}};
  const CommPlan comms{
      {both}, {{group(plan, {{sends, "0SEND_F0"}, {receives, "1SEND_B0"}}, 1)}, {backward, last}}};
  CHECK(hang(comms, plan) == "rank 1 issues 1B0 before 1SEND_B0, for which it waits");
}

TEST_CASE("hang check: a receive that nobody sends, whatever comes behind it") {
  const Plan plan = plan_of_two();
  RankItem forward{.action = task_of(plan, "1F0"), .waits = {0}};
  const CommPlan comms{{both}, {{}, {group(plan, {{receives, "0SEND_F0"}}, 0), forward}}};
  CHECK(hang(comms, plan) == "deadlock: 0SEND_F0 of rank 1 waits for rank 0 to send");
}

TEST_CASE("hang check: calls that match and do not fit are named") {
  const Plan plan = plan_of_two();
  CommPlan comms{
      {both},
      {{group(plan, {{sends, "0SEND_F0"}}, 1)}, {group(plan, {{receives, "0SEND_F0"}}, 0)}}};
  comms.ranks[1][0].group[0].bytes = 16;
  CHECK(hang(comms, plan) == "0SEND_F0 of rank 1, 16 bytes, meets 0SEND_F0 of rank 0, 8 bytes");
  comms.ranks[1][0] = group(plan, {{receives, "1SEND_B0"}}, 0);
  CHECK(hang(comms, plan) == "1SEND_B0 of rank 1, 8 bytes, meets 0SEND_F0 of rank 0, 8 bytes");
}

TEST_CASE("hang check: collectives of different kinds, and one that lacks a rank") {
  const Plan plan = plan_of_two();
  const auto collective = [&](CommKind kind) { return group(plan, {{kind, "0SEND_F0"}}, 0); };
  CommPlan comms{{{"stage 0", {0, 1}, true}},
                 {{collective(CommKind::all_reduce)}, {collective(CommKind::all_gather)}}};
  CHECK(hang(comms, plan).find(" meets ") != std::string::npos);
  comms.ranks[1].clear();
  CHECK(hang(comms, plan) == "deadlock: 0SEND_F0 of rank 0 waits for rank 1");
}

}  // namespace penstock::testing
