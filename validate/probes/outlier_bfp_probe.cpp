#include "validate/probes/registry.hpp"
#include "validate/probes/timing/probe_timing.hpp"

namespace penstock::outlier_bfp_probe_file {

constinit extern const ProbeEntry outlier_bfp_probe_entry{
    "outlier-bfp", "block floating point with separate outliers, encode and decode",
    codec_probe_sizes,
    [](const NamedNumbers& sizes) { return codec_sampler("outlier-bfp", sizes); }};

}  // namespace penstock::outlier_bfp_probe_file
