#include "experiments/plan/sweeps/row_memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "validate/machine/host.hpp"

namespace penstock {
namespace {

/// A number of bytes in a file of the system; the most where there is none, as in "max".
std::uint64_t bytes_in(const char* path) {
  const std::string text = file_text(path);
  std::uint64_t bytes = UINT64_MAX;
  std::from_chars(text.data(), text.data() + text.size(), bytes);
  return bytes;
}

}  // namespace

RowMemory::Use::~Use() {
  {
    const std::lock_guard guard(room_.mutex_);
    room_.free_ += bytes_;
  }
  room_.freed_.notify_all();
}

std::unique_ptr<RowMemory::Use> RowMemory::take(std::uint64_t bytes) {
  if (bytes > bytes_) return nullptr;
  std::unique_lock lock(mutex_);
  freed_.wait(lock, [&] { return bytes <= free_; });
  free_ -= bytes;
  return std::make_unique<Use>(*this, bytes);
}

std::uint64_t memory_of_process() {
  constexpr double for_work = 0.75;
  auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
               static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  for (const char* limit :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    bytes = std::min(bytes, bytes_in(limit));
  }
  struct rlimit own {};
  if (::getrlimit(RLIMIT_AS, &own) == 0 && own.rlim_cur != RLIM_INFINITY) {
    bytes = std::min<std::uint64_t>(bytes, own.rlim_cur);
  }
  return static_cast<std::uint64_t>(static_cast<double>(bytes) * for_work);
}

}  // namespace penstock
