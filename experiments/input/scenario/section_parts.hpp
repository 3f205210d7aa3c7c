#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "experiments/input/fields/fields.hpp"

namespace penstock {

/// What the right path follows in an error of `named_file`; the only part that depends on the
/// working folder.
inline constexpr std::string_view working_folder_hint =
    "; for the one of the working folder write ";

/// The file that a scenario names at `pointer`, relative to the scenario's folder. Throws
/// InputError if there is no such file. The error states the folder that the path was resolved
/// against, and the right path if the working folder has the file.
std::string named_file(const std::string& source, const std::string& folder, const char* pointer,
                       const std::string& path);

/// Throws InputError at `place` unless a section has exactly one of the keys, or at most one where
/// `optional`. The error lists the keys that are present.
void check_one_of(const nlohmann::json& section, const char* place,
                  std::initializer_list<const char*> keys, bool optional = false);

/// "repeat" of a layer.
Field repeat();

/// Repeats of the layer at `source` in the scenario. `before`: number of layers before it. Throws
/// InputError if the total exceeds the limit.
std::uint32_t repeats(const nlohmann::json& layer, const std::string& source, std::size_t before);

}  // namespace penstock
