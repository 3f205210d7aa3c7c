#include "validate/store/validity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "validate/statistics/summary.hpp"
#include "validate/store/environment_keys.hpp"
#include "validate/store/layer_point.hpp"
#include "validate/store/row_content.hpp"
#include "validate/store/stored_row.hpp"

namespace penstock {
namespace {

std::string point_text(const StoredRow& stored) {
  const KernelPoint& point = stored.row.point;
  return fmt::format("{}\n{}\n{}\n{}\n{}", point.kernel, point.pass, point.condition,
                     stored.row.build, point.shape);
}

bool is_newer(const StoredRow& a, const StoredRow& b) {
  return std::pair(a.row.measured_at, index(a.id)) > std::pair(b.row.measured_at, index(b.id));
}

/// The newest valid row among rows of one point.
class Newest {
 public:
  void offer(const StoredRow& row) {
    if (found_ == nullptr || is_newer(row, *found_)) found_ = &row;
  }
  bool stands_before(const StoredRow& row) const {
    return found_ != nullptr && found_->id != row.id && is_newer(*found_, row);
  }
  RowId id() const { return found_->id; }

 private:
  const StoredRow* found_ = nullptr;
};

/// For each row the valid row without faults that replaces it, if any: the newest of the same
/// point, build and environment, or, for a row of this machine, of today's environment.
std::vector<std::optional<RowId>> newer_rows(std::span<const StoredRow> rows, const Today& today,
                                             const std::vector<RowJudgement>& judged) {
  const std::string now = identity_of(today.environment);
  std::map<std::string, std::map<std::string, Newest>> newest;  // by point and environment
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].state != RowState::valid || !judged[i].faults.empty()) continue;
    newest[point_text(rows[i])][identity_of(rows[i].row.environment)].offer(rows[i]);
  }
  std::vector<std::optional<RowId>> all;
  for (const StoredRow& row : rows) {
    auto& of_point = newest[point_text(row)];
    const Newest& own = of_point[identity_of(row.row.environment)];
    const bool here = of_one_machine(row.row.environment, today.environment);
    const Newest& other = here ? of_point[now] : own;
    all.push_back(other.stands_before(row) ? std::optional(other.id())
                  : own.stands_before(row) ? std::optional(own.id())
                                           : std::nullopt);
  }
  return all;
}

constexpr std::size_t most_shapes = 4096;
constexpr double apart = std::numeric_limits<double>::infinity();

/// A measured shape.
struct Place {
  NamedNumbers sizes;
  bool retired = true;  // all its rows are retired
};

/// Shapes with other sizes are infinitely far apart.
double distance(const NamedNumbers& a, const NamedNumbers& b) {
  if (a.size() != b.size()) return apart;
  double sum = 0;
  auto other = b.begin();
  for (const auto& [name, size] : a) {
    if (other->first != name || size <= 0 || other->second <= 0) {
      if (other->first != name || size != other->second) return apart;
    } else {
      sum += std::abs(std::log(size / other->second));
    }
    ++other;
  }
  return sum;
}

std::map<std::string, Place> places_of(std::span<const StoredRow* const> rows) {
  std::map<std::string, Place> places;
  for (const StoredRow* row : rows) {
    const auto sizes = shape_numbers(row->row.point.shape);
    if (!sizes) continue;
    Place& place = places[row->row.point.shape];
    place.sizes = *sizes;
    place.retired = place.retired && row->state == RowState::retired;
  }
  return places;
}

/// How many of the two nearest other shapes are retired.
std::uint32_t retired_near(const Place& own, const std::map<std::string, Place>& places) {
  std::vector<std::pair<double, bool>> others;
  for (const auto& other : places) {
    const double way = distance(own.sizes, other.second.sizes);
    if (&other.second != &own && way < apart) others.emplace_back(way, other.second.retired);
  }
  const auto near = others.begin() + std::min<std::ptrdiff_t>(2, std::ssize(others));
  std::partial_sort(others.begin(), near, others.end());
  return static_cast<std::uint32_t>(
      std::count_if(others.begin(), near, [](const auto& other) { return other.second; }));
}

/// For each row of one kernel: how many of the two nearest shapes, by the logarithms of their
/// sizes, are retired and not measured again. 0 for shapes that are not made of sizes, and for all
/// rows beyond 4096 shapes, where it would take too long.
std::vector<std::uint32_t> retired_neighbours(std::span<const StoredRow* const> rows) {
  std::vector<std::uint32_t> counts(rows.size(), 0);
  const std::map<std::string, Place> places = places_of(rows);
  const bool any = std::any_of(places.begin(), places.end(),
                               [](const auto& place) { return place.second.retired; });
  if (!any || places.size() > most_shapes) return counts;
  std::map<std::string_view, std::uint32_t> by_shape;
  for (const auto& [shape, place] : places) by_shape[shape] = retired_near(place, places);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto found = by_shape.find(rows[i]->row.point.shape);
    if (found != by_shape.end()) counts[i] = found->second;
  }
  return counts;
}

using Rules = ValidityRules;
using Rows = std::span<const StoredRow>;
using Judgements = std::vector<RowJudgement>;
/// Indices of rows that share something.
using Groups = std::map<std::string, std::vector<std::size_t>>;

void determine(RowJudgement& judgement, std::string reason) {
  judgement.state = RowState::retired;
  judgement.reasons.push_back(std::move(reason));
}

/// Retires a row permanently, for every program.
void find_fault(RowJudgement& judgement, std::string fault) {
  judgement.faults.push_back(fault);
  determine(judgement, std::move(fault));
}

void predict(RowJudgement& judgement, double weight, std::string reason) {
  judgement.score += weight;
  judgement.reasons.push_back(std::move(reason));
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

/// The settings of a shape, and which of its numbers are present: a gated network runs other
/// kernels than a plain one of the same sizes.
std::string form_of(const ProfileRow& row) {
  std::string text;
  for (const auto& [name, value] : shape_numbers(row.point.shape).value_or(NamedNumbers{})) {
    text += value == 0 || value == 1 ? fmt::format("{}={} ", name, value) : name + " ";
  }
  return text;
}

/// Rows with the same text may lie on one curve.
std::string curve_text(const StoredRow& stored) {
  const KernelPoint& point = stored.row.point;
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", point.kernel, point.pass, point.condition,
                     form_of(stored.row), stored.row.build, identity_of(stored.row.environment));
}

template <class Text>
Groups grouped(Rows rows, Text text) {
  Groups groups;
  for (std::size_t i = 0; i < rows.size(); ++i) groups[text(rows[i])].push_back(i);
  return groups;
}

void judge_alone(const StoredRow& stored, RowJudgement& judgement) {
  if (stored.schema < store_schema) {
    find_fault(judgement, fmt::format("it was written in version {} of the schema, this is {}",
                                      stored.schema, store_schema));
  }
  const std::size_t samples = stored.row.samples_ns.size();
  if (samples < Rules::least_samples) {
    find_fault(judgement,
               fmt::format("it has fewer than {} samples: {}", Rules::least_samples, samples));
  }
  const auto [median_ns, spread] = spread_of(stored.row.samples_ns);
  const bool is_pass = !stored.row.point.pass.empty();
  const double resolution_ns = is_pass ? Rules::pass_resolution_ns : 0;
  const bool is_known = is_pass && median_is_known(stored.row.samples_ns);
  if (!is_known && spread > Rules::most_spread && spread * median_ns > resolution_ns) {
    find_fault(judgement, fmt::format("its samples are {} from their median, more than {}",
                                      percent(spread), percent(Rules::most_spread)));
  }
}

void judge_difference(const EnvironmentDifference& difference, RowJudgement& judgement) {
  const std::string text =
      fmt::format("{} was \"{}\" and is \"{}\"", difference.key, difference.then, difference.now);
  switch (difference.role) {
    case KeyRole::machine:   // the row is from elsewhere
    case KeyRole::recorded:  // never a difference
      break;
    case KeyRole::part:
    case KeyRole::version:
      return determine(judgement, text);
    case KeyRole::patch:
      return predict(judgement, Rules::patch_weight, text);
    case KeyRole::setting:
      return predict(judgement, Rules::setting_weight, text);
    case KeyRole::system:
      return predict(judgement, Rules::system_weight, text);
  }
}

void judge_machine(const StoredRow& stored, const Today& today, RowJudgement& judgement) {
  const bool builds_known = !today.build.empty() && !stored.row.build.empty();
  if (builds_known && stored.row.build != today.build) {
    determine(judgement, "the kernels, or the flags that they are built with, have changed");
  }
  for (const auto& difference :
       environment_differences(stored.row.environment, today.environment)) {
    judge_difference(difference, judgement);
  }
}

void judge_age(const StoredRow& stored, const Today& today, RowJudgement& judgement) {
  const auto then = utc_seconds(stored.row.measured_at);
  const auto now = utc_seconds(today.date);
  if (!then || !now) return;
  const double days = static_cast<double>(*now - *then) / 86'400;
  if (days > Rules::most_days) {
    predict(judgement, Rules::age_weight, fmt::format("it is {:.0f} days old", days));
  } else if (days < -1) {
    predict(judgement, Rules::age_weight,
            fmt::format("it was measured at {}, which is yet to come", stored.row.measured_at));
  }
}

/// Canary times of one environment by date. One per date, however many rows were measured then, so
/// that an old large sweep does not outvote the present.
using Canaries = std::map<std::string_view, double>;

Canaries canaries(Rows rows, const std::vector<std::size_t>& group) {
  std::map<std::string_view, std::vector<double>> times;
  for (const std::size_t i : group) {
    const StoredRow& stored = rows[i];
    if (stored.state == RowState::retired || stored.row.canary_ns <= 0) continue;
    times[stored.row.measured_at].push_back(stored.row.canary_ns);
  }
  Canaries all;
  for (const auto& [at, taken] : times) all[at] = median(taken);
  return all;
}

double median_since(const Canaries& canaries, std::string_view since) {
  std::vector<double> all;
  for (const auto& [at, canary_ns] : canaries) {
    if (at >= since) all.push_back(canary_ns);
  }
  return median(std::move(all));
}

/// The median canary of the newest day of an environment.
double newest_canary(const Canaries& canaries) {
  if (canaries.empty()) return 0;
  const std::string_view newest = canaries.rbegin()->first;
  return median_since(canaries, newest.substr(0, newest.find('T')));
}

/// `usual`: 0 when too few canaries were taken.
void judge_canary(const StoredRow& stored, double usual, double newest, RowJudgement& judgement) {
  const double own = stored.row.canary_ns;
  if (own <= 0 || stored.state == RowState::retired) return;
  const double off = usual > 0 ? std::abs(own - usual) / usual : 0;
  if (off > Rules::most_canary_off) {
    find_fault(judgement,
               fmt::format("its canary was {} off the median of its environment", percent(off)));
  }
  const double drift = std::abs(newest - own) / own;
  if (drift > Rules::most_drift) {
    predict(judgement, Rules::drift_weight,
            fmt::format("the canary has drifted by {} since", percent(drift)));
  }
}

void judge_canaries(Rows rows, Judgements& all) {
  const auto identity = [](const StoredRow& row) { return identity_of(row.row.environment); };
  for (const auto& group : grouped(rows, identity)) {
    const Canaries taken = canaries(rows, group.second);
    const double usual = taken.size() < Rules::least_canaries ? 0 : median_since(taken, "");
    const double newest = newest_canary(taken);
    for (const std::size_t i : group.second) judge_canary(rows[i], usual, newest, all[i]);
  }
}

void judge_residuals(Rows rows, const std::vector<std::size_t>& group, Judgements& all) {
  std::vector<std::size_t> present;
  std::vector<ShapeTime> times;
  for (const std::size_t i : group) {
    const auto shape = shape_numbers(rows[i].row.point.shape);
    if (rows[i].state == RowState::retired || all[i].superseded_by || !shape) continue;
    present.push_back(i);
    times.push_back({*shape, median(rows[i].row.samples_ns)});
  }
  const std::vector<double> residuals = curve_residuals(times);
  for (std::size_t i = 0; i < present.size(); ++i) {
    if (residuals[i] <= Rules::most_residual) continue;
    predict(all[present[i]], Rules::residual_weight,
            fmt::format("it is {:.1f} standard deviations off the curve through the other shapes",
                        residuals[i]));
  }
}

void judge_neighbours(Rows rows, const std::vector<std::size_t>& group, Judgements& all) {
  std::vector<StoredRow const*> members;
  for (const std::size_t i : group) members.push_back(&rows[i]);
  const std::vector<std::uint32_t> retired = retired_neighbours(members);
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (retired[i] == 0) continue;
    predict(all[group[i]], Rules::neighbour_weight * retired[i],
            fmt::format("{} of the two nearest shapes {} retired", retired[i],
                        retired[i] == 1 ? "was" : "were"));
  }
}

void settle(const StoredRow& stored, RowJudgement& judgement) {
  if (stored.state == RowState::retired) {
    judgement.score = 0;
    judgement.reasons.clear();
    judgement.faults.clear();
    return;
  }
  judgement.unfit = judgement.state == RowState::retired && judgement.faults.empty();
  const bool predicted =
      judgement.score >= Rules::suspect_from || stored.state == RowState::suspect;
  if (judgement.state != RowState::retired && predicted) judgement.state = RowState::suspect;
}

}  // namespace

double usual_canary(Rows rows, const std::map<std::string, std::string>& environment) {
  const std::string identity = identity_of(environment);
  std::vector<std::size_t> group;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (identity_of(rows[i].row.environment) == identity) group.push_back(i);
  }
  return median_since(canaries(rows, group), "");
}

bool median_is_known(const std::vector<double>& samples_ns) {
  const double middle = median(samples_ns);
  const Interval interval = median_interval(samples_ns);
  const double off = std::max(interval.high - middle, middle - interval.low);
  return samples_ns.size() >= ValidityRules::least_samples &&
         off <= ValidityRules::most_uncertain * middle;
}

std::vector<RowJudgement> judge(Rows rows, const Today& today) {
  Judgements all;
  for (const StoredRow& row : rows) {
    all.push_back({.id = row.id,
                   .state = row.state,
                   .elsewhere = !of_one_machine(row.row.environment, today.environment)});
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    judge_alone(rows[i], all[i]);
    if (!all[i].elsewhere) judge_machine(rows[i], today, all[i]);
    judge_age(rows[i], today, all[i]);
  }
  judge_canaries(rows, all);
  const auto newer = newer_rows(rows, today, all);
  for (std::size_t i = 0; i < rows.size(); ++i) all[i].superseded_by = newer[i];
  for (const auto& group : grouped(rows, curve_text)) {
    judge_residuals(rows, group.second, all);
    judge_neighbours(rows, group.second, all);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) settle(rows[i], all[i]);
  return all;
}

}  // namespace penstock
