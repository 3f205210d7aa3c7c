#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/timeline/timeline_file.hpp"

namespace penstock {

/// Traces in which no pipeline is found, as lanes: by trace, the annotations of each thread, then
/// the works of each stream, or the operators of each thread; what overlaps stands in lanes of its
/// own. The plan has a rank for each lane, and names for them and their boxes. Throws InputError
/// with the file's name in front, also if there is nothing to show.
Recording lanes_of_traces(const std::vector<std::string>& files,
                          const std::function<void(double share)>& on_progress = {});

/// "gemm_kernel" of "void gemm_kernel<float, 128>(float*)".
std::string short_kernel_name(const std::string& name);

}  // namespace penstock
