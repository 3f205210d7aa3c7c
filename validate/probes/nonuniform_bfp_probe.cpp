#include "validate/probes/registry.hpp"
#include "validate/probes/timing/probe_timing.hpp"

namespace penstock::nonuniform_bfp_probe_file {

constinit extern const ProbeEntry nonuniform_bfp_probe_entry{
    "nonuniform-bfp", "block floating point with a code book, encode and decode", codec_probe_sizes,
    [](const NamedNumbers& sizes) { return codec_sampler("nonuniform-bfp", sizes); }};

}  // namespace penstock::nonuniform_bfp_probe_file
