#pragma once

#include <initializer_list>
#include <nlohmann/json_fwd.hpp>

namespace penstock {

/// Throws InputError at `place` unless a section has exactly one of the keys, or at most one where
/// `optional`. The error lists the keys that are present.
void check_one_of(const nlohmann::json& section, const char* place,
                  std::initializer_list<const char*> keys, bool optional = false);

}  // namespace penstock
