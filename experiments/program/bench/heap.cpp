#include "experiments/program/bench/heap.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {
std::size_t used = 0;
std::size_t peak = 0;
}  // namespace

void* operator new(std::size_t size) {
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  used += malloc_usable_size(memory);
  peak = std::max(peak, used);
  return memory;
}

void operator delete(void* memory) noexcept {
  used -= malloc_usable_size(memory);
  std::free(memory);
}

void operator delete(void* memory, std::size_t /*size*/) noexcept { operator delete(memory); }

namespace penstock {

std::size_t heap_used() { return used; }
std::size_t heap_peak() { return peak; }
void reset_heap_peak() { peak = used; }

}  // namespace penstock
