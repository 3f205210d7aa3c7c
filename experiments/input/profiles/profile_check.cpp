#include "experiments/input/profiles/profile_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/table.hpp"
#include "sim/base/error.hpp"
#include "validate/calibration/kernel_sweep.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock {
namespace {

std::optional<std::vector<double>> measured_here(const KernelPoint& point, int repeats) {
  return sample_kernel(point, static_cast<std::uint32_t>(repeats));
}

/// The current time of a fixed piece of work; 0 if it cannot be measured.
double canary_here() {
  const auto samples = measured_here({.kernel = "canary", .condition = "solo"}, 10);
  return samples ? median(*samples) : 0;
}

/// Opens a store; the error for a damaged one states how much of it is readable.
ProfileStore opened(const std::string& path, ProfileStore::Access access) {
  try {
    return ProfileStore(path, access);
  } catch (const InputError& error) {
    const std::string text = error.what();
    if (text.find("the file is damaged") == std::string::npos) throw;
    const Recovery recovery = examine_store(path);
    throw InputError(fmt::format("{}\n{}", text, recovery_text(recovery)));
  }
}

/// Judged rows. A row that is not valid although no rule applies has the reason of its last
/// verdict.
JudgedRows judged_with_last_words(const ProfileStore& store, const Today& today) {
  JudgedRows judged = judged_rows(store, today);
  for (RowJudgement& judgement : judged.judgements) {
    if (judgement.state == RowState::valid || !judgement.reasons.empty()) continue;
    const std::vector<RowVerdict> verdicts = store.verdicts(judgement.id);
    if (!verdicts.empty()) judgement.reasons.push_back(verdicts.back().why);
  }
  return judged;
}

/// "3-17, 20": consecutive numbers as a range.
std::string ranges_text(const std::vector<UnreadableRow>& rows) {
  std::string text;
  for (std::size_t i = 0; i < rows.size();) {
    std::size_t last = i;
    while (last + 1 < rows.size() && index(rows[last + 1].id) == index(rows[last].id) + 1) ++last;
    if (!text.empty()) text += ", ";
    text += fmt::format("{}", index(rows[i].id));
    if (last > i) text += fmt::format("-{}", index(rows[last].id));
    i = last + 1;
  }
  return text;
}

}  // namespace

CheckedStore plain_check(const std::string& path, bool records) {
  ProfileStore store =
      opened(path, records ? ProfileStore::Access::write : ProfileStore::Access::read);
  const Today today = today_here();
  CheckedStore checked{judged_with_last_words(store, today), {}};
  if (records) record(store, checked.judged.rows, checked.judged.judgements, today);
  return checked;
}

CheckedStore measured_check(const std::string& path, double budget_s) {
  ProfileStore store = opened(path, ProfileStore::Access::write);
  const Today today = today_here();
  const JudgedRows before = judged_rows(store, today);
  record(store, before.rows, before.judgements, today);
  SpotCheck spot = spot_check(store, today, measured_here, canary_here, {.seconds = budget_s});
  return {judged_with_last_words(store, today), std::move(spot)};
}

ordered_json recovery_json(const Recovery& recovery) {
  ordered_json damaged = ordered_json::array();
  for (const UnreadableRow& row : recovery.damaged) {
    damaged.push_back({{"id", index(row.id)}, {"why", row.why}});
  }
  return {{"penstock", 1}, {"readable", recovery.readable}, {"damaged", damaged}};
}

std::string recovery_text(const Recovery& recovery) {
  std::string text = fmt::format("{} can be read", counted(recovery.readable, "row"));
  if (recovery.damaged.empty()) return text + "\n";
  return text +
         fmt::format("; {} cannot: {}\n", recovery.damaged.size(), ranges_text(recovery.damaged));
}

}  // namespace penstock
