#include "sim/base/large_pages.hpp"

#include <cstdint>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace penstock {

void prefer_large_pages(void* memory, std::size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr std::uintptr_t small_page = 4096, worth_it = 1 << 20;
  if (bytes < worth_it) return;
  // Advice may cover a little of what lies beside: whole pages only can be named.
  const auto begin = reinterpret_cast<std::uintptr_t>(memory) / small_page * small_page;
  const auto end = reinterpret_cast<std::uintptr_t>(memory) + bytes;
  // Where the system knows no such pages, nothing is lost.
  static_cast<void>(madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE));
#else
  static_cast<void>(memory);
  static_cast<void>(bytes);
#endif
}

}  // namespace penstock
