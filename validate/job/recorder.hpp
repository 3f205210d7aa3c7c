#pragma once

#include <cstdint>
#include <vector>

#include "validate/job/backend.hpp"

namespace penstock {

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
  /// The records of all lanes, by task. Throws std::logic_error unless each of so many tasks was
  /// recorded exactly once, but for those, so many, that are recorded elsewhere.
  Iteration by_task(std::uint32_t tasks, std::uint32_t elsewhere = 0) const;

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
