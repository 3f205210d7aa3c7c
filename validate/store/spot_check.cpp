#include "validate/store/spot_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <utility>

#include "validate/statistics/summary.hpp"
#include "validate/store/environment_keys.hpp"

namespace penstock {
namespace {

constexpr int repeats = 10;
constexpr double least_tolerance = 0.03;
constexpr double spreads_of_tolerance = 3;
constexpr double most_canary_off = 0.03;
constexpr std::size_t window = 5;
constexpr std::ptrdiff_t most_failures = 3;  // failures in the window that retire the whole group

std::function<double()> steady_clock() {
  const auto begin = std::chrono::steady_clock::now();
  return [begin] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
}

/// Rows of one kernel, build and environment: the result for some is applied to all.
std::string group_of(const StoredRow& stored) {
  return fmt::format("{}\n{}\n{}", stored.row.point.kernel, stored.row.build,
                     identity_of(stored.row.environment));
}

/// The environment of a row, with today's values; keys unknown today keep their value.
std::map<std::string, std::string> updated(std::map<std::string, std::string> environment,
                                           const Today& today) {
  for (const auto& [key, value] : today.environment) environment[key] = value;
  return environment;
}

struct Measured {
  std::vector<double> samples_ns;
  double canary_ns = 0;
};

/// An unknown canary counts as quiet.
bool is_quiet(double canary_ns, double usual_ns) {
  if (canary_ns <= 0 || usual_ns <= 0) return true;
  return std::abs(canary_ns / usual_ns - 1) <= most_canary_off;
}

struct Group {
  std::vector<bool> held;  // results of the measured rows, in order
  bool retired = false;
};

/// One run of a spot check.
class Check {
 public:
  Check(ProfileStore& store, const Today& today, const Remeasure& remeasure, const Canary& canary,
        const SpotBudget& budget)
      : store_(store),
        today_(today),
        remeasure_(remeasure),
        canary_(canary),
        budget_(budget),
        elapsed_s_(budget.elapsed_s ? budget.elapsed_s : steady_clock()),
        rows_(store.rows().rows),
        judgements_(judge(rows_, today)) {}

  SpotCheck run() {
    for (const std::size_t candidate : candidates()) {
      const StoredRow& stored = rows_[candidate];
      if (groups_[group_of(stored)].retired) continue;
      if (elapsed_s_() >= budget_.seconds) {
        done_.left.push_back(stored.id);
      } else {
        check(stored);
      }
    }
    take_over();
    return std::move(done_);
  }

 private:
  /// Suspect rows that this machine can measure, most doubtful first.
  std::vector<std::size_t> candidates() const {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const RowJudgement& judgement = judgements_[i];
      if (judgement.state != RowState::suspect || judgement.elsewhere || judgement.superseded_by) {
        continue;
      }
      all.push_back(i);
    }
    const auto weight = [&](std::size_t i) {
      return std::max(judgements_[i].score, ValidityRules::suspect_from);
    };
    std::stable_sort(all.begin(), all.end(),
                     [&](std::size_t a, std::size_t b) { return weight(a) > weight(b); });
    return all;
  }

  /// Nothing, with a note, if it cannot be measured here or now.
  std::optional<Measured> measure(const StoredRow& stored) {
    const double before = canary_();
    auto samples = remeasure_(stored.row.point, repeats);
    const double after = canary_();
    if (!samples || samples->empty() || median(stored.row.samples_ns) <= 0) {
      done_.cannot_be_measured.push_back(stored.id);
      return std::nullopt;
    }
    const double usual = usual_canary_of(stored);
    if (!is_quiet(before, usual) || !is_quiet(after, usual)) {
      done_.not_quiet.push_back(stored.id);
      return std::nullopt;
    }
    return Measured{std::move(*samples), after};
  }

  double usual_canary_of(const StoredRow& stored) {
    const auto [found, first] = usual_canaries_.try_emplace(stored.environment, 0);
    if (first) found->second = usual_canary(rows_, stored.row.environment);
    return found->second;
  }

  void check(const StoredRow& stored) {
    const SampleSpread old = spread_of(stored.row.samples_ns);
    const double tolerance = std::max(least_tolerance, spreads_of_tolerance * old.deviation);
    SpotResult result{.id = stored.id};
    for (int attempt = 0; attempt < 2; ++attempt) {
      auto measured = measure(stored);
      if (!measured) return;
      result.change = median(measured->samples_ns) / old.median - 1;
      if (std::abs(result.change) < tolerance) {
        result.holds = true;
        result.again = readmit(stored, std::move(*measured), result.change);
        break;
      }
    }
    if (!result.holds) {
      change({{stored.id, RowState::retired,
               fmt::format("measured twice again, {:+.1f} % off at last; {:.1f} % would do",
                           100 * result.change, 100 * tolerance),
               stored.state}});
    }
    done_.measured.push_back(result);
    count(stored, result.holds);
  }

  std::optional<RowId> readmit(const StoredRow& stored, Measured measured, double off) {
    const std::string why = fmt::format("measured again, {:+.1f} % off", 100 * off);
    DerivedRow again{.row = stored.row,
                     .origin = stored.id,
                     .why = fmt::format("row {} {}", index(stored.id), why)};
    again.row.environment = updated(stored.row.environment, today_);
    again.row.samples_ns = std::move(measured.samples_ns);
    again.row.canary_ns = measured.canary_ns;
    again.row.measured_at = today_.date;
    return store_.renew({stored.id, RowState::valid, why, stored.state}, again, today_.date);
  }

  void count(const StoredRow& stored, bool held) {
    Group& group = groups_[group_of(stored)];
    group.held.push_back(held);
    const auto last = group.held.end() - std::min<std::ptrdiff_t>(window, std::ssize(group.held));
    if (std::count(last, group.held.end(), false) < most_failures) return;
    group.retired = true;
    std::vector<StateChange> changes;
    for (const StoredRow& other : rows_) {
      if (group_of(other) != group_of(stored) || is_settled(other)) continue;
      changes.push_back({other.id, RowState::retired,
                         "three of five rows of its kernel, build and environment did not hold",
                         other.state});
    }
    for (const RowId id : change(changes)) done_.retired_with_group.push_back(id);
  }

  /// Rows retired before, or measured by this check.
  bool is_settled(const StoredRow& stored) const {
    if (stored.state == RowState::retired) return true;
    return std::any_of(done_.measured.begin(), done_.measured.end(),
                       [&](const SpotResult& result) { return result.id == stored.id; });
  }

  /// Whether only a patch or a setting has changed, so that the result for some rows is applied to
  /// all.
  bool is_near(const StoredRow& stored) const {
    const auto differences = environment_differences(stored.row.environment, today_.environment);
    return !differences.empty() &&
           std::all_of(differences.begin(), differences.end(), [](const auto& difference) {
             return difference.role == KeyRole::patch || difference.role == KeyRole::setting ||
                    difference.role == KeyRole::system;
           });
  }

  bool holds_throughout(const std::string& name) const {
    const auto found = groups_.find(name);
    if (found == groups_.end()) return false;
    const std::vector<bool>& held = found->second.held;
    if (held.empty() || std::count(held.begin(), held.end(), false) > 0) return false;
    const bool all_measured =
        done_.left.empty() && done_.cannot_be_measured.empty() && done_.not_quiet.empty();
    return held.size() >= window || all_measured;
  }

  void take_over() {
    std::vector<DerivedRow> copies;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const StoredRow& stored = rows_[i];
      const RowJudgement& judgement = judgements_[i];
      if (judgement.state == RowState::retired || judgement.superseded_by || is_settled(stored) ||
          !is_near(stored) || !holds_throughout(group_of(stored))) {
        continue;
      }
      copies.push_back({stored.row, stored.id, takeover_reason(stored)});
      copies.back().row.environment = updated(stored.row.environment, today_);
    }
    if (!copies.empty()) done_.taken_over = store_.add(std::span<const DerivedRow>(copies));
  }

  std::string takeover_reason(const StoredRow& stored) const {
    return fmt::format("row {} taken over: all {} rows measured again here hold", index(stored.id),
                       groups_.at(group_of(stored)).held.size());
  }

  std::vector<RowId> change(const std::vector<StateChange>& changes) {
    return changes.empty() ? std::vector<RowId>() : store_.change(changes, today_.date);
  }

  ProfileStore& store_;
  const Today& today_;
  const Remeasure& remeasure_;
  const Canary& canary_;
  const SpotBudget& budget_;
  std::function<double()> elapsed_s_;
  std::vector<StoredRow> rows_;
  std::vector<RowJudgement> judgements_;
  std::map<std::int64_t, double> usual_canaries_;  // by environment
  std::map<std::string, Group> groups_;
  SpotCheck done_;
};

}  // namespace

SpotCheck spot_check(ProfileStore& store, const Today& today, const Remeasure& remeasure,
                     const Canary& canary, const SpotBudget& budget) {
  return Check(store, today, remeasure, canary, budget).run();
}

std::size_t record(ProfileStore& store, const std::vector<StoredRow>& rows,
                   const std::vector<RowJudgement>& judgements, const Today& today) {
  std::vector<StateChange> changes;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const RowJudgement& judgement = judgements[i];
    if (judgement.faults.empty() || judgement.superseded_by) continue;
    changes.push_back({judgement.id, RowState::retired,
                       fmt::format("{}", fmt::join(judgement.faults, "; ")), rows[i].state});
  }
  return changes.empty() ? 0 : store.change(changes, today.date).size();
}

}  // namespace penstock
