#pragma once

#include <functional>
#include <string>

#include "experiments/input/formats/traces/kineto_trace.hpp"

namespace penstock {

/// Reads a trace of PyTorch's profiler, plain or gzip-compressed. No document tree is built: memory
/// grows with the annotations alone; the other events that are kept lie on disk. Times keep their
/// nanoseconds. Throws InputError with the file's name in front; the place of a faulty event is
/// "/traceEvents/NUMBER". See `ByteStream::watch` for `on_block`.
KinetoTrace read_kineto(const std::string& path,
                        const std::function<void(double share)>& on_block = {});

}  // namespace penstock
