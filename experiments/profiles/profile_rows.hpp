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

/// The rows of a store with their judgements of today.
struct JudgedRows {
  std::string source;  // the store's file
  std::vector<StoredRow> rows;
  std::vector<RowJudgement> judgements;
  std::vector<UnreadableRow> unreadable;
};
JudgedRows judged_rows(const ProfileStore& store, const Today& today);

/// Times of layers from rows: for each kind and its numbers, at each amount, the newest valid row,
/// else the newest suspect one. Amounts that lack a pass that others have are left out.
struct LayerProfile {
  Profile profile;
  std::size_t left_out = 0;  // rows that are of no layer, or not needed
};

/// Rows of this machine, else of the only other machine, unless an environment is given by number.
/// Throws InputError where rows cannot be read, where there are several machines to choose from,
/// and where no row is of a layer.
LayerProfile layer_profile(const JudgedRows& judged, std::optional<std::int64_t> environment = {});

/// The rows that the layers of a model take their times from, ascending.
std::vector<MeasuredRow> rows_used(const Profile& profile, const ModelGraph& model);

/// Throws InputError where the layers of a model take times from suspect rows and that is not
/// allowed; the error names the commands that come next.
void check_rows(const Profile& profile, const ModelGraph& model, bool allows_stale);

/// A table of rows that were used; empty where there are none.
std::string rows_text(const std::vector<MeasuredRow>& used);

}  // namespace penstock
