#pragma once

#include <string>

#include "experiments/formats/traces/kineto_trace.hpp"

namespace penstock {

/// Reads a trace as PyTorch's profiler writes it, plain or packed with gzip. No tree of it is
/// built: memory goes with the events that count. Times keep their nanoseconds. Throws InputError
/// with the file's name in front; the place of a faulty event is "/traceEvents/NUMBER".
KinetoTrace read_kineto(const std::string& path);

}  // namespace penstock
