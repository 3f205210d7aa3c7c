#pragma once

#include <string_view>

namespace penstock {

/// What a run on one GPU shows, and what it does not. Every report of one has this.
constexpr std::string_view one_gpu_scope =
    "A run on one GPU validates schedule order, dependency handling, bubble accounting, launch "
    "overhead, graph behaviour, memory peaks and the interference model. It does not validate "
    "NVLink or InfiniBand rates, NCCL protocol switches, the overlap of data-parallel all-reduces, "
    "or clocks that differ between devices.";

}  // namespace penstock
