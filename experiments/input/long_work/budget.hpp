#pragma once

#include <condition_variable>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>

namespace penstock {

/// What this process may use. A program sets it once, before any work; whoever is about to allocate
/// much asks first. Until then there is no limit.
struct Budget {
  std::uint64_t memory_bytes = std::numeric_limits<std::uint64_t>::max();
  std::string memory_source;           // where the limit comes from: "--max-memory"
  std::string raise = "--max-memory";  // what gives more of it
};
const Budget& budget();
void set_budget(Budget budget);

/// Work that needs more memory than the budget. No InputError: whether it is one depends on the
/// machine. Where it is not told apart, it is a lack of memory like any other.
class OverBudget : public std::bad_alloc {
 public:
  explicit OverBudget(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

/// Throws OverBudget, "WHAT needs about 4.3 GB of memory, more than 1 GB (--max-memory);
/// REMEDY, or give more --max-memory",
/// unless the budget has these bytes beside those of the program itself. `what` names the file and
/// what of it is so large.
void need_memory(double bytes, const std::string& what, const std::string& remedy);

/// The memory that runs side by side may use. Whether one fits depends on it alone, not on what
/// runs beside it.
class SimulationMemory {
 public:
  explicit SimulationMemory(std::uint64_t bytes) : bytes_(bytes), free_(bytes) {}
  SimulationMemory(const SimulationMemory&) = delete;
  SimulationMemory& operator=(const SimulationMemory&) = delete;

  /// Gives the memory back when it goes.
  class Use {
   public:
    Use(SimulationMemory& room, std::uint64_t bytes) : room_(room), bytes_(bytes) {}
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use();

   private:
    SimulationMemory& room_;
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

/// What a program should take by itself: 80 % of the memory that is free, of its control group and
/// of its own limit, whichever is least.
Budget usual_budget();
/// What whoever runs it gives it, by an option of this name.
Budget given_budget(double memory_bytes, const std::string& option = "--max-memory");

/// "4.3 GB", "67.1 MB", "1 B"; decimal, as limits are given.
std::string memory_text(double bytes);

}  // namespace penstock
