#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

namespace penstock {

/// The memory that configurations may use which run side by side. Whether one fits depends on it
/// alone, not on what runs beside it.
class RowMemory {
 public:
  explicit RowMemory(std::uint64_t bytes) : bytes_(bytes), free_(bytes) {}
  RowMemory(const RowMemory&) = delete;
  RowMemory& operator=(const RowMemory&) = delete;

  /// Gives the memory back when it goes.
  class Use {
   public:
    Use(RowMemory& room, std::uint64_t bytes) : room_(room), bytes_(bytes) {}
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use();

   private:
    RowMemory& room_;
    std::uint64_t bytes_;
  };
  /// Waits until these bytes are free; null if there never are so many.
  std::unique_ptr<Use> take(std::uint64_t bytes);
  /// Waits until nothing else runs.
  std::unique_ptr<Use> take_all() { return take(bytes_); }

 private:
  const std::uint64_t bytes_;
  std::uint64_t free_;
  std::mutex mutex_;
  std::condition_variable freed_;
};

/// What this process may use for its work: of the machine, its control group and its own limit, the
/// least, with a part left for everything else.
std::uint64_t memory_of_process();

}  // namespace penstock
