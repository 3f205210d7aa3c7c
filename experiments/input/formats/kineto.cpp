#include "experiments/input/files/json_input.hpp"
#include "experiments/input/formats/chrome_trace.hpp"
#include "experiments/input/formats/registry.hpp"

namespace penstock::kineto_file {

constinit extern const FormatEntry kineto_entry{
    .name = "kineto",
    .suffix = ".json",
    .summary =
        "a run as PyTorch's profiler traced it, a file a rank, plain or .gz; read by penstock "
        "trace",
    .recognizes =
        [](std::string_view text) {
          return !is_own_trace(text) && has_outer_key(text, "traceEvents");
        },
};

}  // namespace penstock::kineto_file
