#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "hardware_models/spec/parameters.hpp"
#include "validate/probes/timing/probe_timing.hpp"

namespace penstock {

/// The numbers of a probe that encodes and decodes.
constexpr std::array codec_probe_sizes{
    Parameter{"values", "that are encoded, and decoded again", std::nullopt, 1, 1U << 22}};

/// Encodes so many drawn activations by a codec with its defaults, and decodes them again, with the
/// reference that other implementations are held against.
Sampler codec_sampler(std::string_view codec, const NamedNumbers& sizes);

}  // namespace penstock
