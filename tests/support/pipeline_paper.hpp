#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/measure/reproduction/reproduction.hpp"

namespace penstock::testing {

/// What stands behind all papers of tests: 1f1b over p equal stages, F and B `pace` and 2 `pace`
/// microseconds long, m microbatches. A run takes (m + p - 1) * 3 `pace`.
nlohmann::json pipeline_table(nlohmann::json rows, const char* judgements);

/// A paper of one table and the constant `pace`.
nlohmann::json paper_with(nlohmann::json table);

/// The same as read from a file, and rows of a CSV file for its first table.
Paper read_paper_of(const nlohmann::json& document);
OtherRows read_rows_of(const Paper& paper, const std::string& csv);

}  // namespace penstock::testing
