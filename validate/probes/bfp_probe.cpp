#include "validate/probes/registry.hpp"
#include "validate/probes/timing/probe_timing.hpp"

namespace penstock::bfp_probe_file {

constinit extern const ProbeEntry bfp_probe_entry{
    "bfp", "block floating point, encode and decode", codec_probe_sizes,
    [](const NamedNumbers& sizes) { return codec_sampler("bfp", sizes); }};

}  // namespace penstock::bfp_probe_file
