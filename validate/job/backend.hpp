#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/plan/plan.hpp"
#include "validate/job/job.hpp"
#include "validate/job/trained_numbers.hpp"

namespace penstock {

/// When a task ran, on one clock for all ranks. A transfer ends when it has arrived.
struct Span {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  friend bool operator==(const Span&, const Span&) = default;
};

/// One run of a job: a span for each task of its plan.
using Iteration = std::vector<Span>;

/// Why a run came to no end, or to a wrong one.
struct RunFault {
  std::string kind;  // "deadlock", "wrong_tensor", "transport"
  Rank rank;         // where it was seen
  std::string text;
};

/// Why a plan cannot be run, and whether another machine could.
struct Obstacle {
  bool of_machine = false;
  std::string text;
};

/// What runs a job for real. It is made for one job, which must outlive it.
class Backend {
 public:
  virtual ~Backend() = default;

  /// Runs each work class of the plan once by itself, waiting for nobody: what each took, in
  /// nanoseconds. Links are not measured: their classes have what the job says.
  virtual std::vector<std::int64_t> profile() = 0;
  /// Runs the job once. Always ends: a deadlock is a fault.
  virtual std::variant<Iteration, RunFault> run() = 0;
  /// What disturbed the last run, in a word each, so that its times say nothing: "preempted". A
  /// backend whose clocks others on the machine do not disturb has nothing to tell.
  virtual std::vector<std::string> disturbances() const { return {}; }
  /// What the layers of the last run came to, where actions run any.
  virtual std::optional<TrainedNumbers> numbers() const { return std::nullopt; }
  /// What a measured timeline says of where it was measured.
  virtual std::map<std::string, std::string> environment() const = 0;
  /// Why what was run so far says nothing of how far off a simulation is; nothing when it does.
  virtual std::optional<std::string> why_no_score() const { return std::nullopt; }
};

}  // namespace penstock
