#include "schedules/patterns/interleaving.hpp"
#include "schedules/patterns/rules.hpp"
#include "schedules/registry.hpp"

namespace penstock::looped_bfs_file {
namespace {

/// Each chunk runs all its forwards before the next chunk starts; then the backwards, chunks and
/// microbatches in reverse (breadth-first pipeline; PyTorch's ScheduleLoopedBFS).
Schedule make(const Placement& placement, const ScheduleOptions& options) {
  require_no_replicas("looped-bfs", placement);
  Schedule schedule(placement.ranks());
  for (Rank rank : Numbers<Rank>(placement.ranks())) {
    const std::vector<Stage> chunks = looped_chunks("looped-bfs", placement, rank);
    auto& order = schedule.on(rank);
    for (Stage stage : chunks) {
      for (Microbatch m : options.microbatches()) order.emplace_back(Pass::forward, stage, m);
    }
    for (auto stage = chunks.rbegin(); stage != chunks.rend(); ++stage) {
      for (std::uint32_t left = options.microbatch_count; left > 0; --left) {
        order.emplace_back(Pass::backward, *stage, Microbatch{left - 1});
      }
    }
  }
  return schedule;
}

}  // namespace

constinit extern const ScheduleEntry looped_bfs_entry{
    .name = "looped-bfs",
    .summary = "breadth first: each chunk's weights are gathered and reduced once",
    .bubble = "(p-1)(f+b) of one chunk, for m >= p",
    .peak = "mv",
    .default_chunks = 2,
    .place = Placement::loop,
    .make = make,
    .bubble_of_makespan = interleaved_bubble,
};

}  // namespace penstock::looped_bfs_file
