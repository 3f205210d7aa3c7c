#pragma once

#include <cstddef>

namespace penstock {

/// Bytes in use on the heap of a program that links heap.cpp, which replaces operator new.
std::size_t heap_used();
/// The most bytes in use since the last reset.
std::size_t heap_peak();
void reset_heap_peak();

}  // namespace penstock
