#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/input/formats/traces/kineto_trace.hpp"

namespace penstock {

/// Whether a file that begins like this is a database of SQLite, as `nsys export --type sqlite`
/// writes.
bool is_nsys(std::string_view beginning);

/// The traces in a file: those of the processes of an export of Nsight Systems that ran kernels, as
/// "report.sqlite#PROCESS", by number; any other file is one trace. Throws InputError.
std::vector<std::string> traces_in(const std::string& path);

/// Reads a trace of a process: "report.sqlite#PROCESS" of an export of Nsight Systems, or a trace
/// of PyTorch's profiler. Kernels, CUDA graphs that were traced as a whole, copies, their launches,
/// and NVTX ranges on threads as annotations. Throws InputError with the file's name in front.
KinetoTrace read_trace(const std::string& path,
                       const std::function<void(double share)>& on_block = {});

}  // namespace penstock
