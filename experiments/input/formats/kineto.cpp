#include "experiments/input/formats/registry.hpp"

namespace penstock::kineto_file {

constinit extern const FormatEntry kineto_entry{
    "kineto", ".json",
    "a run as PyTorch's profiler traced it, a file a rank, plain or .gz; read by penstock trace"};

}  // namespace penstock::kineto_file
