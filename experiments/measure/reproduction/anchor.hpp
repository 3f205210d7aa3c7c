#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "experiments/measure/reproduction/paper.hpp"

namespace penstock {

/// A paper with one table, of which one row is given: it scales the simulated values of all others,
/// and these are judged. Nothing is fitted; the first judgement's constants may be given. `rows`
/// are those to judge, `row` is one of them, from 0. Throws InputError for a table that the paper
/// lacks.
Paper anchored(Paper paper, const std::string& table, const std::vector<PaperRow>& rows,
               std::size_t row, bool has_constants);

}  // namespace penstock
