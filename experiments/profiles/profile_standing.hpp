#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "experiments/profiles/profile_rows.hpp"

namespace penstock {

/// "valid", "suspect", "retired", "unfit" of a row of another build or environment, which holds
/// there but not here, or "past" of a row that a newer one stands for.
std::string_view standing_of(const RowJudgement& judgement);
constexpr std::array<std::string_view, 5> standings{"valid", "suspect", "retired", "unfit", "past"};

/// A row with what is thought of it, without its samples.
nlohmann::ordered_json judgement_json(const StoredRow& stored, const RowJudgement& judgement);

/// The rows that the store does not give, and why not; no text where there are none.
nlohmann::ordered_json unreadable_json(const JudgedRows& judged);
std::string unreadable_text(const JudgedRows& judged);

}  // namespace penstock
