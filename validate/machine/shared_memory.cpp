#include "validate/machine/shared_memory.hpp"

#include <sys/mman.h>

#include <new>
#include <stdexcept>

namespace penstock {

SharedMemory::SharedMemory(std::size_t bytes) : bytes_(bytes) {
  void* const place =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) throw std::bad_alloc();
  begin_ = static_cast<std::byte*>(place);
}

SharedMemory::~SharedMemory() { munmap(begin_, bytes_); }

std::byte* SharedMemory::take(std::size_t bytes, std::size_t alignment) {
  const std::size_t first = (taken_ + alignment - 1) / alignment * alignment;
  if (first > bytes_ || bytes > bytes_ - first) throw std::logic_error("shared memory is used up");
  taken_ = first + bytes;
  return begin_ + first;
}

}  // namespace penstock
