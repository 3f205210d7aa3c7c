#pragma once

#include <array>
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/profiles/profile_rows.hpp"

namespace penstock {

/// "valid", "suspect", "retired", "unfit" for a row of another build or environment (valid there,
/// not here), or "past" for a row that a newer one replaces.
std::string_view standing_of(const RowJudgement& judgement);
constexpr std::array<std::string_view, 5> standings{"valid", "suspect", "retired", "unfit", "past"};

/// How many rows there are of each.
std::vector<std::pair<std::string_view, std::size_t>> counts_of(const JudgedRows& judged);

/// Whether there is nothing to do about a row: it is valid, or past.
bool is_sound(const RowJudgement& judgement);

/// The places of all rows: suspect ones first, those with the highest score in front, then retired,
/// unfit, valid and past ones.
std::vector<std::size_t> most_doubtful_first(const JudgedRows& judged);

/// A table of some rows with the reasons of each, the first `most_lines` of them; no text where
/// there are none.
std::string rows_table(const JudgedRows& judged, const std::vector<std::size_t>& places,
                       std::size_t most_lines);

/// What to do about suspect and retired rows, one command a line; no text where there are none.
std::string next_steps(const JudgedRows& judged);

/// A row and its judgement, without its samples.
nlohmann::ordered_json judgement_json(const StoredRow& stored, const RowJudgement& judgement);

/// The rows that the store does not give, and why not; no text where there are none.
nlohmann::ordered_json unreadable_json(const JudgedRows& judged);
std::string unreadable_text(const JudgedRows& judged);

}  // namespace penstock
