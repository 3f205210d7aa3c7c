#include "validate/probes/registry.hpp"
#include "validate/probes/timing/probe_timing.hpp"

namespace penstock::bfp_probe_file {
namespace {

Sampler make(const NamedNumbers& sizes) { return codec_sampler("bfp", sizes); }

}  // namespace

constinit extern const ProbeEntry bfp_probe_entry{"bfp", "block floating point, encode and decode",
                                                  codec_probe_sizes, make};

}  // namespace penstock::bfp_probe_file
