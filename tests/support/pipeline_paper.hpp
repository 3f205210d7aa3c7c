#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace penstock::testing {

/// What stands behind all papers of tests: 1f1b over p equal stages, F and B `pace` and 2 `pace`
/// microseconds long, m microbatches. A run takes (m + p - 1) * 3 `pace`.
nlohmann::json pipeline_table();

/// A paper of one table and the constant `pace`.
nlohmann::json paper_with(nlohmann::json table);

/// Whether a text has a part.
bool reproduction_says(const std::string& text, const std::string& part);

}  // namespace penstock::testing
