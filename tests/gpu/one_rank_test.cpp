#include <doctest/doctest.h>

#include <variant>

#include "validate/backends/multi/rank_executor.hpp"
#include "validate/backends/nccl/nccl_library.hpp"
#include "validate/machine/clock.hpp"

// NCCL with one rank on a real GPU: no links, but the library, a communicator and its calls.

namespace penstock {
namespace {

RankItem action(TaskId task) {
  RankItem item;
  item.action = task;
  return item;
}

RankItem collective(CommKind kind, TaskId task, std::uint32_t waits) {
  RankItem item;
  item.group.push_back({kind, task, 0, 1 << 20});
  item.waits = {waits};
  return item;
}

}  // namespace

TEST_CASE("on a GPU: a communicator of one rank reduces and gathers between actions") {
  const auto library = load_nccl();
  if (const auto* reason = std::get_if<std::string>(&library)) {
    MESSAGE("skipped: " << *reason);
    return;
  }
  const NcclCalls& nccl = std::get<NcclLibrary>(library).calls;
  const MultiCalls calls{cuda_calls, &nccl, monotonic_ns, [] { return std::string("here"); }};
  const RankDevice device(calls, 1);
  NcclId id;
  REQUIRE(nccl.get_unique_id(&id) == 0);
  const std::vector<Channel> channels{{"stage 0", {0}, true}};
  const RankCommunicators communicators(device, channels, 0, 1, id);
  communicators.try_channels(channels, 0);
  RankItem update = action(2);
  update.waits = {1};
  constexpr std::uint64_t action_ns = 1'000'000;
  const RankActions actions(device, ActionWork::spin, {.ranks = 1, .tasks = {{}, {}}});
  RankExecutor executor(device, communicators, actions,
                        {.rank = 0,
                         .channels = channels,
                         .items = {action(0), collective(CommKind::all_reduce, 1, 0), update,
                                   collective(CommKind::all_gather, 3, 2)},
                         .duration_ns = {action_ns, 0, action_ns, 0},
                         .actions = {{{.task = 0}}, {}, {{.task = 1}}, {}}});
  for (int i = 0; i < 3; ++i) {
    const RankRun run = executor.run();
    REQUIRE(run.stamps.size() == 4);
    for (std::size_t at = 1; at < 4; ++at) {
      CHECK(run.stamps[at].begin_ns >= run.stamps[at - 1].end_ns);
    }
    CHECK(run.stamps[0].end_ns - run.stamps[0].begin_ns >= std::int64_t{action_ns} * 99 / 100);
    CHECK(run.uncertainty_ns < 1e6);
    CHECK_FALSE(run.wrong);
    CHECK_FALSE(executor.unfinished());
  }
}

}  // namespace penstock
