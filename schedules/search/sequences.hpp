#pragma once

#include <cstdint>
#include <vector>

#include "schedules/search/order_problem.hpp"

namespace penstock {

/// The times of given sequences: each pass starts when its rank is free and its inputs have
/// arrived. Allocates once.
class SequenceTimes {
 public:
  explicit SequenceTimes(const OrderProblem& problem);

  /// Sets the forms of activations from now on; at first they have no flags.
  void set_forms(const ActivationForms& forms);
  void set_form(std::uint32_t stage, std::uint32_t microbatch, ActivationForm form);

  /// False for a deadlock, and as soon as the makespan would exceed `limit`. Memory is not looked
  /// at; see `fits_memory`.
  bool run(const RankSequences& sequences, SearchTime limit = never);
  /// Finds the latest starts with the makespan of the last run.
  void find_latest();

  SearchTime makespan() const { return makespan_; }
  double sum_of_starts() const { return sum_of_starts_; }
  /// By cell: class * microbatches + microbatch.
  const std::vector<SearchTime>& starts() const { return start_; }
  const std::vector<SearchTime>& latest() const { return latest_; }
  const std::vector<SearchTime>& durations() const { return duration_; }

 private:
  StageTail tail(CellClass cell, SearchTime end) const;
  bool advance(std::uint32_t rank, const std::vector<CellClass>& sequence, SearchTime limit);

  const OrderProblem& problem_;
  std::uint32_t microbatches_;
  std::vector<SearchTime> duration_;      // by cell
  std::vector<StageTail> tail_;           // by stage, in the form of its last activation
  std::vector<PassLinks> links_;          // by class
  std::vector<std::uint32_t> done_, at_;  // by class; by rank
  std::vector<SearchTime> free_, link_, start_, latest_;  // by rank; by cell
  std::vector<std::uint32_t> order_;  // cells in the order in which they were timed
  std::size_t timed_ = 0;
  SearchTime makespan_ = 0;
  double sum_of_starts_ = 0;
};

/// Starts for more microbatches than those of `few`: microbatch `at` is repeated, one period of the
/// busiest rank after the other, and those behind it follow later. By cell of a problem with
/// `microbatches`. Where the order of `few` has a steady state at `at`, the longer one continues
/// it.
std::vector<SearchTime> lengthened_starts(const OrderProblem& few,
                                          const std::vector<SearchTime>& starts,
                                          std::uint32_t microbatches, std::uint32_t at);

/// By rank: its passes in the order of given starts.
RankSequences sequences_of_starts(const OrderProblem& problem,
                                  const std::vector<SearchTime>& starts);

}  // namespace penstock
