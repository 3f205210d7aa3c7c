#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "sim/base/parameters.hpp"

namespace penstock {

/// Runs a kernel once and returns its nanoseconds.
using Sampler = std::function<double()>;

/// Reads a clock, in nanoseconds.
using Clock = std::int64_t (*)();

/// Samples work by repeating it until a sample takes at least 20 us, above clock resolution; the
/// number of repetitions is determined once.
Sampler repeated(std::function<void()> work, Clock clock);

/// The parameters of a codec probe.
inline constexpr std::array codec_probe_sizes{
    Parameter{"values", "values encoded and decoded", std::nullopt, 1, 1U << 22}};

/// Encodes and decodes drawn activations with a codec's defaults, using the reference
/// implementation.
Sampler codec_sampler(std::string_view codec, const NamedNumbers& sizes);

}  // namespace penstock
