#include "experiments/plan/sweeps/rows_in_order.hpp"

#include <algorithm>
#include <utility>

namespace penstock {
namespace {

constexpr double batch_s = 0.004;  // long enough for locks and writes to be cheap
constexpr std::uint64_t most_in_batch = 512;
constexpr std::size_t most_waiting = 64;  // batches behind one that is not finished

}  // namespace

RowsInOrder::RowsInOrder(Work work, const TakeRows& take)
    : work_(std::move(work)), take_(take), next_(work_.done), written_(work_.done) {}

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
  if (next_ < work_.total && work_.asked_to_stop && work_.asked_to_stop()) stopped_ = ended_ = true;
  if (ended_ || next_ >= work_.total) return {};
  const double fitting = seconds_per_row > 0 ? std::min(batch_s / seconds_per_row, 1e9) : 1;
  const auto count =
      std::clamp<std::uint64_t>(static_cast<std::uint64_t>(fitting), 1, most_in_batch);
  const RowBatch batch{next_, std::min(count, work_.total - next_)};
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
  if (work_.on_progress) {
    work_.on_progress("configurations", written_ + rows.count - work_.done,
                      work_.total - work_.done);
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
  return {written_ - work_.done, with_result_, stopped_, first_without_};
}

}  // namespace penstock
