#include <doctest/doctest.h>

#include <variant>

#include "validate/backends/multi/rank_communicators.hpp"
#include "validate/backends/multi/rank_run.hpp"
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

RankItem collective(CommKind kind, TaskId task) {
  RankItem item;
  item.group.push_back({kind, task, 0, 1 << 20});
  return item;
}

GpuTask call(CommKind kind, std::uint32_t after) {
  return {.lane = 1, .inputs = {after}, .calls = {{.kind = kind, .ranks = 1, .bytes = 1 << 20}}};
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
  NcclId id;
  REQUIRE(nccl.get_unique_id(&id) == 0);
  const std::vector<Channel> channels{{"stage 0", {0}, true}};
  const GpuDevice device = rank_device(calls, {channels, {}});
  const RankClock clock(device, calls.host_ns);
  const RankCommunicators communicators(device, nccl, channels, 0, 1, id);
  communicators.try_channels(channels, 0);
  constexpr std::uint64_t action_ns = 1'000'000;
  const std::vector<RankItem> items{action(0), collective(CommKind::all_reduce, 1), action(2),
                                    collective(CommKind::all_gather, 3)};
  GpuExecutor executor(device,
                       {.ranks = 1,
                        .links = 1,
                        .tasks = {{.duration_ns = action_ns},
                                  call(CommKind::all_reduce, 0),
                                  {.duration_ns = action_ns, .inputs = {1}},
                                  call(CommKind::all_gather, 2)}},
                       {.ordering = GpuOrdering::host_issued, .comms = &communicators.comms()});
  for (int i = 0; i < 3; ++i) {
    const RankRun run = run_rank(executor, items, clock);
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
