#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "experiments/run/run.hpp"
#include "sim/rerun/rerun.hpp"

namespace penstock {

/// Something of a run that takes 1 % less time than it did.
struct Change {
  enum class Kind : std::uint8_t {
    stage,         // all that ranks do for a stage
    pass,          // one pass of a stage
    link,          // transfers of an ordered pair of ranks, their latency included
    network_link,  // bytes over a physical link
  };
  Kind kind;
  std::uint32_t number;  // of the stage or link
  Pass pass{};           // of `pass`

  bool is_link() const { return kind == Kind::link || kind == Kind::network_link; }
  friend auto operator<=>(const Change&, const Change&) = default;
};

/// Makes changes to a finished run.
class Changes {
 public:
  /// The run must outlive this.
  explicit Changes(const RunResult& result);

  /// All changes that shorten tasks of a work class, each once.
  std::vector<Change> of_class(std::uint32_t work) const;
  /// How long a task of some class takes with a change, as a share of what it took; of a transfer
  /// over a physical link, how long it takes to leave.
  double factor(const Change& change, std::uint32_t work) const;
  /// The makespan with a change, in the same order; nothing where the run deadlocks. Where `relax`
  /// applies it is a rerun of the finished run, else a full run.
  std::optional<Time> makespan_with(const Change& change);
  /// "stage 2", "2F", "link 0>1", "network link spine".
  std::string name(const Change& change) const;

 private:
  bool shortens(const Change& change, std::uint32_t work) const;
  bool crosses(const Change& change, std::uint32_t work) const;
  bool takes_time(std::uint32_t work) const;
  void add_compute(std::uint32_t work, std::vector<Change>& changes) const;
  Costs costs_with(const Change& change) const;
  std::optional<Time> full_run_with(const Change& change) const;

  const RunResult& result_;
  const Plan& plan_;
  const Costs& costs_;
  std::vector<std::uint32_t> own_class_;  // by class of a fused cell: that of its first part alone
  std::vector<std::set<Pass>> passes_;    // by stage: what takes time
  std::optional<Rerun> rerun_;            // where relax applies; with the latest change
};

}  // namespace penstock
