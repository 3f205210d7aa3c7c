#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/long_work/progress.hpp"
#include "experiments/plan/sweeps/evaluator.hpp"
#include "experiments/plan/sweeps/shard.hpp"
#include "experiments/plan/sweeps/space/sweep_space.hpp"

namespace penstock {

/// Takes whole rows, in order; called by one thread at a time.
using TakeRows = std::function<void(std::string_view rows)>;

/// Neighbouring configurations, by their places in a shard.
struct RowBatch {
  std::uint64_t first = 0;
  std::uint64_t count = 0;  // 0: none left
};

/// The rows of a batch.
struct FinishedRows {
  std::string text;
  std::uint64_t count = 0;
  std::uint64_t with_result = 0;
  std::string first_without;  // a row without a result
};

/// Rows of a sweep that a run wrote.
struct SweepCount {
  std::uint64_t rows = 0;
  std::uint64_t with_result = 0;
  bool stopped = false;       // asked to stop before the last row
  std::string first_without;  // a row without a result
};

/// What of a sweep to run, and how.
struct SweepRun {
  Shard shard;
  std::uint64_t done = 0;               // rows of the shard that are there already
  std::size_t jobs = SIZE_MAX;          // threads at most
  std::function<bool()> asked_to_stop;  // may be empty; whether to end after the items in hand
  OnProgress on_progress;               // may be empty
};

/// Deals batches of configurations out and puts their rows in order. Thread-safe.
class RowsInOrder {
 public:
  /// All must outlive this.
  RowsInOrder(const SweepRun& run, const SweepSpace& space, const TakeRows& take);

  /// The next batch, of a few milliseconds; waits while too many rows wait for one that is not
  /// finished.
  RowBatch deal(double seconds_per_row);
  /// As `deal`, but gives nothing instead of waiting.
  std::optional<RowBatch> try_deal(double seconds_per_row);

  /// Takes finished rows and writes all whose turn it is, unless another thread does. Throws what
  /// `take` throws.
  void finish(std::uint64_t first, FinishedRows rows);

  /// Deals no more out: a thread has failed.
  void end();

  SweepCount count() const;

 private:
  RowBatch next_batch(double seconds_per_row);
  bool has_room() const;
  void write_next(std::unique_lock<std::mutex>& lock);

  const SweepRun& run_;
  const std::uint64_t total_;  // places
  const TakeRows& take_;
  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::map<std::uint64_t, FinishedRows> finished_;  // not yet written, by place
  std::uint64_t next_;                              // place of the next batch
  std::uint64_t written_;                           // place behind the last row written
  std::uint64_t with_result_ = 0;
  std::string first_without_;
  bool writing_ = false;
  bool ended_ = false;
  bool stopped_ = false;
};

/// Runs the configurations of a shard on all cores, and gives their rows in order: the bytes do not
/// depend on the number of threads or on earlier stops. Throws what `take` throws.
SweepCount run_sweep(const SweepSpace& space, const Catalogue& catalogue, const SweepRun& run,
                     const TakeRows& take);

/// The rows of a batch of a shard.
FinishedRows rows_of_batch(Evaluator& evaluator, const Shard& shard, const RowBatch& batch);

}  // namespace penstock
