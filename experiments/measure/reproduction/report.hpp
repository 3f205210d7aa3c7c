#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/measure/reproduction/reproduction.hpp"

namespace penstock {

/// A reproduction for the terminal: tables with published and simulated values, constants,
/// verdicts. Long tables show only the rows with the largest errors.
std::string reproduction_text(const Paper& paper, const Reproduction& reproduction);

/// The same as Markdown, with all rows.
std::string reproduction_markdown(const Paper& paper, const Reproduction& reproduction);

/// One line per judgement: its name, number of rows, errors.
std::vector<std::string> summary_heads();
std::vector<std::vector<std::string>> summary_rows(const std::string& name, const Paper& paper,
                                                   const Reproduction& reproduction);

nlohmann::ordered_json reproduction_json(const Paper& paper, const Reproduction& reproduction);

}  // namespace penstock
