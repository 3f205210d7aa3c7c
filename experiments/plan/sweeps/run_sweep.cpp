#include "experiments/plan/sweeps/run_sweep.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "experiments/input/long_work/parallel.hpp"
#include "experiments/plan/sweeps/configured.hpp"
#include "experiments/plan/sweeps/row_memory.hpp"

namespace penstock {
namespace {

/// The work of one thread.
void work_through(Evaluator& evaluator, const Shard& shard, RowsInOrder& order) {
  using Clock = std::chrono::steady_clock;
  double seconds_per_row = 0;
  for (RowBatch batch = order.deal(0); batch.count > 0; batch = order.deal(seconds_per_row)) {
    const Clock::time_point begin = Clock::now();
    FinishedRows rows = rows_of_batch(evaluator, shard, batch);
    seconds_per_row = std::chrono::duration<double>(Clock::now() - begin).count() /
                      static_cast<double>(batch.count);
    order.finish(batch.first, std::move(rows));
  }
}

}  // namespace

FinishedRows rows_of_batch(Evaluator& evaluator, const Shard& shard, const RowBatch& batch) {
  FinishedRows rows{.text = {}, .count = batch.count};
  for (std::uint64_t i = 0; i < batch.count; ++i) {
    const std::string row = evaluator.row(shard.configuration(batch.first + i));
    if (has_result(row)) {
      ++rows.with_result;
    } else if (rows.first_without.empty()) {
      rows.first_without = row;
    }
    rows.text += row;
  }
  return rows;
}

SweepCount run_sweep(const SweepSpace& space, const Catalogue& catalogue, const SweepRun& run,
                     const TakeRows& take) {
  const std::uint64_t total = run.shard.size(space.size());
  if (run.done >= total) return {};
  RowsInOrder order({.done = run.done,
                     .total = total,
                     .asked_to_stop = run.asked_to_stop,
                     .on_progress = run.on_progress},
                    take);
  constexpr std::uint64_t most_threads = 1024;
  RowMemory room(memory_of_process());
  const auto threads =
      static_cast<std::size_t>(std::min({std::uint64_t{run.jobs}, total - run.done, most_threads}));
  in_parallel(
      threads,
      [&](std::size_t) {
        try {
          Evaluator evaluator(space, catalogue, room);
          work_through(evaluator, run.shard, order);
        } catch (...) {
          order.end();
          throw;
        }
      },
      {}, threads);
  return order.count();
}

}  // namespace penstock
