#include "experiments/plan/sweeps/run_sweep.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "experiments/input/long_work/budget.hpp"
#include "experiments/input/long_work/parallel.hpp"
#include "experiments/plan/sweeps/configured.hpp"

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

constexpr double batch_s = 0.004;  // long enough for locks and writes to be cheap
constexpr std::uint64_t most_in_batch = 512;
constexpr std::size_t most_waiting = 64;  // batches behind one that is not finished

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
  RowsInOrder order(run, space, take);
  SimulationMemory room(budget().memory_bytes);
  const auto threads = static_cast<std::size_t>(
      std::min({std::uint64_t{run.jobs}, total - run.done, std::uint64_t{most_jobs}}));
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

RowsInOrder::RowsInOrder(const SweepRun& run, const SweepSpace& space, const TakeRows& take)
    : run_(run),
      total_(run.shard.size(space.size())),
      take_(take),
      next_(run.done),
      written_(run.done) {}

bool RowsInOrder::has_room() const { return finished_.size() < most_waiting || ended_; }

RowBatch RowsInOrder::deal(double seconds_per_row) {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [this] { return has_room(); });
  return next_batch(seconds_per_row);
}

std::optional<RowBatch> RowsInOrder::try_deal(double seconds_per_row) {
  const std::lock_guard guard(mutex_);
  if (!has_room()) return std::nullopt;
  return next_batch(seconds_per_row);
}

RowBatch RowsInOrder::next_batch(double seconds_per_row) {
  if (next_ < total_ && run_.asked_to_stop && run_.asked_to_stop()) stopped_ = ended_ = true;
  if (ended_ || next_ >= total_) return {};
  const double fitting = seconds_per_row > 0 ? std::min(batch_s / seconds_per_row, 1e9) : 1;
  const auto count =
      std::clamp<std::uint64_t>(static_cast<std::uint64_t>(fitting), 1, most_in_batch);
  const RowBatch batch{next_, std::min(count, total_ - next_)};
  next_ += batch.count;
  return batch;
}

void RowsInOrder::finish(std::uint64_t first, FinishedRows rows) {
  std::unique_lock lock(mutex_);
  finished_.emplace(first, std::move(rows));
  if (writing_) return;
  writing_ = true;
  while (!finished_.empty() && finished_.begin()->first == written_) write_next(lock);
  writing_ = false;
}

void RowsInOrder::write_next(std::unique_lock<std::mutex>& lock) {
  const FinishedRows rows = std::move(finished_.begin()->second);
  finished_.erase(finished_.begin());
  room_.notify_all();
  lock.unlock();
  take_(rows.text);
  if (run_.on_progress) {
    run_.on_progress("configurations", written_ + rows.count - run_.done, total_ - run_.done);
  }
  lock.lock();
  written_ += rows.count;
  with_result_ += rows.with_result;
  if (first_without_.empty()) first_without_ = rows.first_without;
}

void RowsInOrder::end() {
  const std::lock_guard guard(mutex_);
  ended_ = true;
  room_.notify_all();
}

SweepCount RowsInOrder::count() const {
  const std::lock_guard guard(mutex_);
  return {written_ - run_.done, with_result_, stopped_, first_without_};
}

}  // namespace penstock
