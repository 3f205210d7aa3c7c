#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "hardware_models/spec/parameters.hpp"
#include "validate/probes/timing/probe_timing.hpp"

namespace penstock {

/// The parameters of a codec probe.
inline constexpr std::array codec_probe_sizes{
    Parameter{"values", "values encoded and decoded", std::nullopt, 1, 1U << 22}};

/// Encodes and decodes drawn activations with a codec's defaults, using the reference
/// implementation.
Sampler codec_sampler(std::string_view codec, const NamedNumbers& sizes);

}  // namespace penstock
