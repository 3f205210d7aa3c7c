#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "experiments/run/run.hpp"
#include "sim/costs/priced_plan.hpp"

namespace penstock {

/// Gain of a run if one part of it takes 1 % less time.
struct Sensitivity {
  std::string what;          // "stage 2", "2F", "link 0>1", "network link spine"
  Time on_path{};            // its time on the critical path, waits included
  Time predicted{};          // 1 % of the part of it that can gain
  std::optional<Time> gain;  // simulated; nothing if that run deadlocks
};

/// The changes with the largest gain predicted from the critical path, largest first: at most
/// `most`, and always the best link. A change shortens a stage, one of its passes, the transfers
/// between two ranks (latency included), or the bytes on a physical link. Each is checked by
/// simulating the changed run in the same order. If tasks wait only for inputs and their resource,
/// the prediction is an upper bound, since another path may become critical. Shortening anything
/// before the last wait for a launch gains nothing, since that wait grows.
std::vector<Sensitivity> sensitivities(const RunResult& result, std::size_t most);

/// A part of a run that becomes 1 % faster.
struct Change {
  enum class Kind : std::uint8_t {
    stage,         // all actions of a stage
    pass,          // one pass of a stage
    link,          // transfers of an ordered pair of ranks, latency included
    network_link,  // bytes on a physical link
  };
  Kind kind;
  std::uint32_t number;  // of the stage or link
  Pass pass{};           // of `pass`

  bool is_link() const { return kind == Kind::link || kind == Kind::network_link; }
  friend auto operator<=>(const Change&, const Change&) = default;
};

/// Applies changes to a finished run.
class Changes {
 public:
  /// The run must outlive this.
  explicit Changes(const RunResult& result);

  /// All changes that shorten tasks of a work class, each once.
  std::vector<Change> of_class(std::uint32_t work) const;
  /// The duration of a task of this class with a change, as a share of its duration before; for a
  /// transfer over a physical link, of the time until it has left.
  double factor(const Change& change, std::uint32_t work) const;
  /// The makespan with a change, in the same order; nothing if the run deadlocks.
  std::optional<Time> makespan_with(const Change& change);
  /// "stage 2", "2F", "link 0>1", "network link spine".
  std::string name(const Change& change) const;

 private:
  bool shortens(const Change& change, std::uint32_t work) const;
  bool crosses(const Change& change, std::uint32_t work) const;
  bool takes_time(std::uint32_t work) const;
  void add_compute(std::uint32_t work, std::vector<Change>& changes) const;
  Costs costs_with(const Change& change) const;

  const RunResult& result_;
  const Plan& plan_;
  const Costs& costs_;
  std::vector<std::uint32_t> own_class_;  // by class of a fused cell: the class of its first half
                                          // alone
  std::vector<std::set<Pass>> passes_;    // by stage: passes that take time
  PricedPlan changed_;                    // with the latest change
  Timeline timeline_;                     // of `changed_`
};

}  // namespace penstock
