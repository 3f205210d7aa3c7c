#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "hardware_models/spec/profile.hpp"
#include "sim/model/model_graph.hpp"
#include "validate/store/profile_store.hpp"
#include "validate/store/validity.hpp"

namespace penstock {

/// This computer, the kernels of this program, and the time.
Today today_here();

/// The rows of a store with what is thought of each today.
struct JudgedRows {
  std::string source;  // the store's file
  std::vector<StoredRow> rows;
  std::vector<RowJudgement> judgements;
  std::vector<UnreadableRow> unreadable;
};
JudgedRows judged_rows(const ProfileStore& store, const Today& today);

/// What rows of layers say: for each kind and its numbers, at each amount, the newest row that is
/// valid, or else suspect. Amounts at which a pass is missing that others have are left out.
struct LayerProfile {
  Profile profile;
  std::size_t left_out = 0;  // rows that are of no layer, or not needed
};

/// Rows of this machine, or of the only other one that there is, unless an environment is named by
/// its number. Throws InputError where rows cannot be read, where there are several machines to
/// choose from, and where no row is of a layer.
LayerProfile layer_profile(const JudgedRows& judged, std::optional<std::int64_t> environment = {});

/// The rows that the layers of a model take their times from, ascending.
std::vector<MeasuredRow> rows_used(const Profile& profile, const ModelGraph& model);

/// Throws InputError where some of these are suspect and that is not allowed.
void check_rows(const std::vector<MeasuredRow>& used, bool allows_stale);

/// A table of rows that were used; empty where there are none.
std::string rows_text(const std::vector<MeasuredRow>& used);

}  // namespace penstock
