#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace penstock::testing {

/// Fills memory of malloc or calloc. Zeros of large memory are those of new pages: pages that
/// nobody touches stay unmapped.
inline void fill_memory(void* memory, int byte, std::size_t bytes) {
  constexpr std::size_t large = 1 << 20;
  auto* const first = static_cast<std::byte*>(memory);
  if (byte == 0 && bytes >= large) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t ahead = (page - reinterpret_cast<std::uintptr_t>(first) % page) % page;
    const std::size_t whole = (bytes - ahead) / page * page;
    if (madvise(first + ahead, whole, MADV_DONTNEED) == 0) {
      std::memset(first, 0, ahead);
      std::memset(first + ahead + whole, 0, bytes - ahead - whole);
      return;
    }
  }
  std::memset(first, byte, bytes);
}

}  // namespace penstock::testing
