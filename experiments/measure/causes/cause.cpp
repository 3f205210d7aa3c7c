#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "experiments/input/files/table.hpp"
#include "experiments/measure/causes/causes.hpp"
#include "experiments/show/results/run_summary.hpp"
#include "sim/base/time_sum.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock {
namespace {

std::string length_text(double picoseconds) {
  return short_time_text(Time{std::llrint(picoseconds)});
}
std::string length_text(Time time) { return short_time_text(time); }

/// Finds the op that shows a cause best.
class Proof {
 public:
  Proof(const MeasuredStep& step, const OpModel& model, Cause& cause)
      : step_(step), plan_(*step.plan), model_(model), cause_(cause) {}

  void add();

 private:
  std::string task(TaskId id) const { return task_text(plan_, id); }
  std::string of_class(std::uint32_t work) const {
    const WorkClass& its = plan_.classes[work];
    return fmt::format("{} of stage {}", letters(its.pass), index(its.stage));
  }
  /// The task that `value` finds largest, of those for which it is above 0.
  template <class Value>
  TaskId largest(Value value) const {
    TaskId best = no_task;
    double most = 0;
    for (TaskId task = 0; task < plan_.tasks(); ++task) {
      const double one = value(task);
      if (one > most) most = one, best = task;
    }
    return best;
  }
  TaskId longest_of(std::uint32_t number) const {
    return largest(
        [&](TaskId task) { return plan_.work[task] == number ? to_us(step_.length(task)) : 0; });
  }
  std::optional<std::pair<std::uint32_t, double>> shown_by(std::uint32_t resource,
                                                           double factor) const;
  void slow(const char* what, const std::vector<double>& factors, std::uint32_t first_resource);
  void gaps();
  void replicas();
  void microbatches();
  void stages();
  void jitter();
  void collectives();

  const MeasuredStep& step_;
  const Plan& plan_;
  const OpModel& model_;
  Cause& cause_;
};

/// The class of a rank or link whose median over that of its peers is nearest to `factor`, the
/// longest of equal ones, with that median.
std::optional<std::pair<std::uint32_t, double>> Proof::shown_by(std::uint32_t resource,
                                                                double factor) const {
  std::map<std::uint32_t, std::vector<double>> lengths;
  for (TaskId task = 0; task < plan_.tasks(); ++task) {
    const WorkClass& work = plan_.class_of(task);
    if (work.resource != resource || work.follows_partner) continue;
    lengths[plan_.work[task]].push_back(static_cast<double>(step_.length(task).picoseconds));
  }
  std::map<std::pair<double, double>, std::uint32_t> classes;  // by distance, then by length
  for (auto& [number, all] : lengths) {
    const double peers = model_.peers[number];
    const double length = median(std::move(all));
    if (peers <= 0 || length <= 0) continue;
    const double distance = std::round(1e3 * std::abs(length / peers - factor));
    classes.try_emplace({distance, -length}, number);
  }
  if (classes.empty()) return std::nullopt;
  return std::pair(classes.begin()->second, -classes.begin()->first.second);
}

void Proof::slow(const char* what, const std::vector<double>& factors,
                 std::uint32_t first_resource) {
  const std::uint32_t worst =
      *std::ranges::max_element(cause_.who, {}, [&](std::uint32_t one) { return factors[one]; });
  const std::uint32_t resource = first_resource + worst;
  const bool alone = cause_.who.size() == 1;
  const std::string place = place_text(plan_, resource);
  cause_.name = alone ? "slow " + place : fmt::format("{} slow {}s", cause_.who.size(), what);
  const auto shown = shown_by(resource, factors[worst]);
  if (!shown) return;
  const auto [number, length] = *shown;
  cause_.op = longest_of(number);
  cause_.rank = rank_of_task(plan_, cause_.op);
  cause_.proof = fmt::format(
      "{}{:.3g}× its peers: {} takes {}, elsewhere {}", alone ? "" : "the slowest, " + place + ", ",
      factors[worst], of_class(number), length_text(length), length_text(model_.peers[number]));
}

void Proof::gaps() {
  cause_.name = "host gaps";
  cause_.op = largest([&](TaskId task) { return to_us(step_.gap[task]); });
  if (cause_.op == no_task) return;
  cause_.rank = rank_of_task(plan_, cause_.op);
  TimeSum all, own;
  for (TaskId task = 0; task < plan_.tasks(); ++task) {
    all += step_.gap[task];
    if (rank_of_task(plan_, task) == *cause_.rank) own += step_.gap[task];
  }
  cause_.proof = fmt::format("{} on {} began {} after it could; rank {} has {} of all gaps",
                             task(cause_.op), place_text(plan_, plan_.class_of(cause_.op).resource),
                             length_text(step_.gap[cause_.op]), *cause_.rank,
                             percent_text(us_of(own) / us_of(all)));
}

void Proof::replicas() {
  cause_.name = "uneven replicas";
  const auto most = std::ranges::max_element(model_.replica);
  const auto number = static_cast<std::uint32_t>(most - model_.replica.begin());
  for (std::uint32_t rank = 0; rank < plan_.ranks && !cause_.rank; ++rank) {
    if (model_.groups.ranks[rank].pipeline == number) cause_.rank = rank;
  }
  cause_.proof = fmt::format("replica {}, from rank {} on, works {:.3g}× the mean", number,
                             cause_.rank.value_or(0), *most);
}

void Proof::microbatches() {
  cause_.name = "uneven microbatches";
  const auto share = [&](TaskId task) {
    const WorkClass& work = plan_.class_of(task);
    const bool counts = !plan_.is_link(work.resource) && OpModel::varies(work.pass);
    return counts ? model_.microbatch[model_.share_of[task]] : 0;
  };
  cause_.op = largest(share);
  if (cause_.op == no_task) return;
  cause_.rank = rank_of_task(plan_, cause_.op);
  cause_.proof = fmt::format("microbatch {} works {:.3g}× the mean, as {} shows",
                             index(plan_.microbatch[cause_.op]), share(cause_.op), task(cause_.op));
}

void Proof::stages() {
  cause_.name = "uneven stages";
  cause_.op = largest([&](TaskId task) {
    const std::uint32_t work = plan_.work[task];
    return plan_.is_link(plan_.classes[work].resource) ? 0 : model_.usual[work] - model_.even[work];
  });
  if (cause_.op == no_task) return;
  const std::uint32_t work = plan_.work[cause_.op];
  cause_.rank = rank_of_task(plan_, cause_.op);
  cause_.proof =
      fmt::format("{} on rank {} takes {}, {} on even stages", of_class(work), *cause_.rank,
                  length_text(model_.usual[work]), length_text(model_.even[work]));
}

void Proof::jitter() {
  cause_.name = "jitter";
  const auto usual = [&](TaskId task) {
    const std::uint32_t work = plan_.work[task], resource = plan_.classes[work].resource;
    if (plan_.is_link(resource)) return model_.usual[work] * model_.link[resource - plan_.ranks];
    if (!OpModel::varies(plan_.classes[work].pass)) return model_.usual[work];
    return model_.usual[work] * model_.rank[resource] *
           model_.replica[model_.groups.ranks[resource].pipeline] *
           model_.microbatch[model_.share_of[task]];
  };
  cause_.op = largest([&](TaskId task) {
    const double length = static_cast<double>(step_.length(task).picoseconds);
    return usual(task) > 0 ? length - usual(task) : 0;
  });
  cause_.proof = fmt::format("actions vary by {:.2g} %", 100 * model_.jitter);
  if (cause_.op == no_task) return;
  cause_.rank = rank_of_task(plan_, cause_.op);
  cause_.proof += fmt::format("; {} on {} takes {}, usually {}", task(cause_.op),
                              place_text(plan_, plan_.class_of(cause_.op).resource),
                              length_text(step_.length(cause_.op)), length_text(usual(cause_.op)));
}

void Proof::collectives() {
  cause_.name = "exposed collectives";
  cause_.op = largest([&](TaskId task) {
    return is_tail(plan_.class_of(task).pass) ? to_us(step_.length(task)) : 0;
  });
  if (cause_.op == no_task) return;
  cause_.rank = rank_of_task(plan_, cause_.op);
  cause_.proof = fmt::format("{} on {} takes {}", task(cause_.op),
                             place_text(plan_, plan_.class_of(cause_.op).resource),
                             length_text(step_.length(cause_.op)));
}

void Proof::add() {
  switch (cause_.kind) {
    case CauseKind::rank:
      return slow("rank", model_.rank, 0);
    case CauseKind::link:
      return slow("link", model_.link, plan_.ranks);
    case CauseKind::gaps:
      return gaps();
    case CauseKind::replicas:
      return replicas();
    case CauseKind::microbatches:
      return microbatches();
    case CauseKind::stages:
      return stages();
    case CauseKind::jitter:
      return jitter();
    case CauseKind::collectives:
      return collectives();
  }
}

}  // namespace

void add_proof(const MeasuredStep& step, const OpModel& model, Cause& cause) {
  Proof(step, model, cause).add();
}

}  // namespace penstock
