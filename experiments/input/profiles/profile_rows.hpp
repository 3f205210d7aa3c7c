#pragma once

#include <array>
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware_models/spec/hardware_spec.hpp"
#include "sim/base/limits.hpp"
#include "sim/model/model_graph.hpp"
#include "validate/store/profile_store.hpp"
#include "validate/store/validity.hpp"

namespace penstock {

/// A number of a point, which may be left out, by its name in files; from 0.
struct ProfileNumber {
  std::string_view name;
  std::optional<double> ProfilePoint::*value;
  double most;
};
inline constexpr std::array<ProfileNumber, 6> profile_numbers{
    {{"forward_us", &ProfilePoint::forward_us, Limits::time_us},
     {"backward_us", &ProfilePoint::backward_us, Limits::time_us},
     {"backward_input_us", &ProfilePoint::backward_input_us, Limits::time_us},
     {"backward_weight_us", &ProfilePoint::backward_weight_us, Limits::time_us},
     {"activation_bytes", &ProfilePoint::activation_bytes, Limits::bytes},
     {"stash_bytes", &ProfilePoint::stash_bytes, Limits::bytes}}};

/// This computer, the kernels of this program, and the current time.
Today today_here();

/// The rows of a store, judged today.
struct JudgedRows {
  std::string source;  // the store's file
  std::vector<StoredRow> rows;
  std::vector<RowJudgement> judgements;
  std::vector<UnreadableRow> unreadable;
};
JudgedRows judged_rows(const ProfileStore& store, const Today& today);

/// Times of layers from rows: for each kind with its numbers, at each amount, the newest valid row,
/// or else the newest suspect one, in a run before alone. Amounts that lack a pass are left out.
struct LayerProfile {
  Profile profile;
  std::size_t left_out = 0;  // rows of no layer, or not needed
};

/// Uses the rows of this machine, or of the only other machine, unless `environment` selects one.
/// Throws InputError for unreadable rows, for several machines to choose from, and if no row
/// belongs to a layer.
LayerProfile layer_profile(const JudgedRows& judged, std::optional<std::int64_t> environment = {});

/// The checksum of a snapshot: of its profile in JSON, however it is laid out, without its own.
std::string profile_checksum(nlohmann::json profile);

/// The rows behind the layer times of a model, ascending.
std::vector<MeasuredRow> rows_used(const Profile& profile, const ModelGraph& model);

/// Throws InputError if layer times of a model come from suspect rows, unless `allows_stale`. The
/// error names the next commands.
void check_rows(const Profile& profile, const ModelGraph& model, bool allows_stale);

/// Whether a row has the time of a pass inside a run; its pass says so.
bool was_in_run(const MeasuredRow& row);

nlohmann::ordered_json measured_row_json(const MeasuredRow& row);

/// A table of the rows used; empty if there are none.
std::string rows_text(const std::vector<MeasuredRow>& used);

}  // namespace penstock
