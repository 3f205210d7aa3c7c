#pragma once

#include <cstdint>
#include <vector>

#include "sim/timeline/timeline.hpp"

namespace penstock {

/// When a task ran, in nanoseconds of one clock for all ranks. A transfer ends when it has arrived.
struct Span {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

/// Takes down when tasks ran. Each lane belongs to one thread, which fills memory that was there
/// before: nothing is allocated or shared while a run goes on.
class Recorder {
 public:
  /// A lane for each number, which is the most records that it takes.
  explicit Recorder(const std::vector<std::uint32_t>& capacities);

  /// Forgets all records.
  void clear();
  /// Throws std::logic_error when the lane is full.
  void add(std::uint32_t lane, TaskId task, Span span);
  /// The records of all lanes. Throws std::logic_error unless each task of the plan was recorded
  /// exactly once, but for those, so many, that are recorded elsewhere: they have no time here.
  Timeline timeline(const Plan& plan, std::uint32_t elsewhere = 0) const;

 private:
  struct Record {
    TaskId task;
    Span span;
  };
  struct alignas(64) Lane {  // a cache line of its own
    std::vector<Record> records;
    std::uint32_t used = 0;
  };

  std::vector<Lane> lanes_;
};

}  // namespace penstock
