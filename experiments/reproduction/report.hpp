#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/reproduction/reproduction.hpp"

namespace penstock {

/// A reproduction as it is printed: tables with published and simulated values, constants,
/// verdicts. Of long tables only the rows that are furthest off.
std::string reproduction_text(const Paper& paper, const Reproduction& reproduction);

/// The same as Markdown, with all rows.
std::string reproduction_markdown(const Paper& paper, const Reproduction& reproduction);

/// A line a judgement: what is judged, how many rows, how far off.
std::vector<std::string> summary_heads();
std::vector<std::vector<std::string>> summary_rows(const std::string& name, const Paper& paper,
                                                   const Reproduction& reproduction);

nlohmann::ordered_json reproduction_json(const Paper& paper, const Reproduction& reproduction);

}  // namespace penstock
