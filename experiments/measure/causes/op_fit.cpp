#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "experiments/measure/causes/op_classes.hpp"
#include "experiments/measure/causes/op_model.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock {
namespace {

using Values = std::vector<double>;

double mean(const Values& values) {
  return values.empty() ? 0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

/// Finds the factors one after the other.
class Fit {
 public:
  Fit(const MeasuredStep& step, const ExpectedOps* expected)
      : step_(step), expected_(expected), classes_(step, expected), plan_(*step.plan) {
    model_.groups = rank_groups_of(plan_);
    model_.link.assign(plan_.links.size(), 1);
    model_.rank.assign(plan_.ranks, 1);
    model_.measured_rank.assign(plan_.ranks, 0);
    model_.measured_link.assign(plan_.links.size(), 0);
    model_.replica.assign(model_.groups.pipelines, 1);
    find_shares();
  }

  OpModel fitted() {
    find_microbatches();
    compare_ranks(classes_, model_);
    find_stages();
    split_microbatches();
    compare_links(step_, expected_, model_);
    return std::move(model_);
  }

 private:
  std::uint32_t pipeline_of(std::uint32_t rank) const { return model_.groups.ranks[rank].pipeline; }
  double error(double ops, double others) const {
    return error_of(model_, ops, others, model_.jitter);
  }

  void find_shares();
  void find_microbatches();
  void set_medians();
  Values shares_from_ops() const;
  void find_jitter(std::size_t fitted);
  void find_stages();
  std::map<std::uint32_t, double> replicas_of_stages() const;
  void even_out();
  void split_microbatches();

  const MeasuredStep& step_;
  const ExpectedOps* expected_;
  OpClasses classes_;
  const Plan& plan_;
  std::vector<std::uint32_t> pipeline_of_share_;
  OpModel model_;
};

void Fit::find_shares() {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers;
  model_.share_of.resize(plan_.tasks());
  for (TaskId task = 0; task < plan_.tasks(); ++task) {
    if (!classes_.is_action(plan_.work[task])) continue;
    const std::uint32_t pipeline = pipeline_of(plan_.class_of(task).resource);
    const auto next = static_cast<std::uint32_t>(numbers.size());
    const auto [found, is_new] =
        numbers.try_emplace({pipeline, index(plan_.microbatch[task])}, next);
    if (is_new) pipeline_of_share_.push_back(pipeline);
    model_.share_of[task] = found->second;
  }
  model_.microbatch.assign(numbers.size(), 1);
}

/// By class: the median of its ops, were their microbatches alike.
void Fit::set_medians() {
  model_.usual.assign(plan_.classes.size(), 0);
  for (std::uint32_t number = 0; number < classes_.count(); ++number) {
    if (!classes_.is_action(number) || classes_.tasks(number).empty()) continue;
    Values values;
    for (const TaskId task : classes_.tasks(number)) {
      values.push_back(classes_.length(task) /
                       (classes_.varies(number) ? model_.microbatch[model_.share_of[task]] : 1));
    }
    model_.usual[number] = median(std::move(values));
  }
}

/// By share: the median of its ops over those of their classes; 0 without ops.
Values Fit::shares_from_ops() const {
  std::vector<Values> ratios(model_.microbatch.size());
  for (std::uint32_t number = 0; number < classes_.count(); ++number) {
    if (!classes_.varies(number) || model_.usual[number] <= 0) continue;
    for (const TaskId task : classes_.tasks(number)) {
      ratios[model_.share_of[task]].push_back(classes_.length(task) / model_.usual[number]);
    }
  }
  Values shares;
  for (Values& of_share : ratios) shares.push_back(median(std::move(of_share)));
  return shares;
}

/// `fitted`: numbers that fit the ops beside the medians of their classes.
void Fit::find_jitter(std::size_t fitted) {
  Values all;
  for (std::uint32_t number = 0; number < classes_.count(); ++number) {
    if (!classes_.varies(number) || model_.usual[number] <= 0 || classes_.tasks(number).size() < 2)
      continue;
    ++fitted;
    const Values own = classes_.distances(number, model_);
    all.insert(all.end(), own.begin(), own.end());
  }
  model_.jitter = scatter_of(std::move(all), fitted);
}

void Fit::find_microbatches() {
  set_medians();
  for (int round = 0; round < 3; ++round) {
    model_.microbatch = shares_from_ops();
    for (double& share : model_.microbatch) {
      if (share <= 0) share = 1;
    }
    set_medians();
  }
  find_jitter(model_.microbatch.size());
  Values ops(model_.microbatch.size()), of_pipeline(model_.groups.pipelines);
  for (std::uint32_t number = 0; number < classes_.count(); ++number) {
    if (!classes_.varies(number)) continue;
    for (const TaskId task : classes_.tasks(number)) ++ops[model_.share_of[task]];
    of_pipeline[pipeline_of(classes_.work(number).resource)] += classes_.ops(number);
  }
  bool differ = false;
  for (std::size_t share = 0; share < ops.size(); ++share) {
    const double off = std::abs(std::log(model_.microbatch[share]));
    const double others = of_pipeline[pipeline_of_share_[share]];
    differ = differ || off > std::max(least_uneven, sure * error(ops[share], others));
  }
  if (differ) return;
  std::ranges::fill(model_.microbatch, 1);
  set_medians();
  find_jitter(0);
}

/// What stages take without the factors of ranks and replicas.
void Fit::find_stages() {
  std::map<std::pair<std::uint32_t, OpKind>, Values> values;
  const auto factor = [&](std::uint32_t number) {
    const std::uint32_t rank = classes_.work(number).resource;
    return classes_.varies(number) ? model_.rank[rank] * model_.replica[pipeline_of(rank)] : 1;
  };
  const auto each = [&](auto visit) {
    for (std::uint32_t number = 0; number < classes_.count(); ++number) {
      if (classes_.is_action(number) && !classes_.tasks(number).empty()) {
        visit(number, classes_.key(number));
      }
    }
  };
  each([&](std::uint32_t number, const auto& key) {
    values[key].push_back(model_.usual[number] / factor(number));
  });
  each([&](std::uint32_t number, const auto& key) { model_.usual[number] = median(values[key]); });
  even_out();
}

/// By model stage: the ranks that share its microbatches.
std::map<std::uint32_t, double> Fit::replicas_of_stages() const {
  std::map<std::uint32_t, std::set<std::uint32_t>> ranks;
  for (std::uint32_t number = 0; number < classes_.count(); ++number) {
    if (!classes_.varies(number)) continue;
    ranks[classes_.stage(number)].insert(classes_.work(number).resource);
  }
  std::map<std::uint32_t, double> replicas;
  for (const auto& [stage, own] : ranks) replicas[stage] = static_cast<double>(own.size());
  return replicas;
}

void Fit::even_out() {
  const std::map<std::uint32_t, double> replicas = replicas_of_stages();
  const auto sharing = [&](const OpKind& kind, std::uint32_t stage) {
    const auto found = replicas.find(stage);
    return OpModel::varies(kind.pass) && found != replicas.end() ? found->second : 1;
  };
  std::map<OpKind, std::map<std::uint32_t, std::pair<double, double>>> of_kind;  // usual, ops
  for (std::uint32_t number = 0; number < classes_.count(); ++number) {
    if (!classes_.is_action(number) || model_.usual[number] <= 0) continue;
    auto& [usual, ops] = of_kind[classes_.kind(number)][classes_.stage(number)];
    usual = model_.usual[number];
    ops += classes_.ops(number);
  }
  std::map<OpKind, double> even;  // on each rank
  std::set<OpKind> differ;
  for (const auto& [kind, stages] : of_kind) {
    double& sum = even[kind];
    double ops = 0, ranks = 0;
    for (const auto& [stage, usual] : stages) {
      sum += usual.first;
      ops += usual.second;
      ranks += sharing(kind, stage);
    }
    sum /= ranks;
    for (const auto& [stage, usual] : stages) {
      const double sure_off = sure * error(usual.second, ops - usual.second);
      const double off = std::abs(std::log(usual.first / (sum * sharing(kind, stage))));
      if (off > std::max(least_uneven, sure_off)) differ.insert(kind);
    }
  }
  model_.even = model_.usual;
  const bool passes_differ =
      std::ranges::any_of(differ, [](const OpKind& kind) { return OpModel::varies(kind.pass); });
  for (std::uint32_t number = 0; number < classes_.count(); ++number) {
    if (!classes_.is_action(number) || model_.usual[number] <= 0) continue;
    const OpKind& kind = classes_.kind(number);
    model_.even[number] = even.at(kind) * sharing(kind, classes_.stage(number));
    const bool differs = classes_.varies(number) ? passes_differ : differ.contains(kind);
    if (!differs) model_.usual[number] = model_.even[number];
  }
}

/// The mean share of a pipeline belongs to the pipeline, and the mean of all of these to the
/// stages: evening out moves work, it takes none away.
void Fit::split_microbatches() {
  std::vector<Values> shares(model_.groups.pipelines);
  for (std::size_t share = 0; share < model_.microbatch.size(); ++share) {
    shares[pipeline_of_share_[share]].push_back(model_.microbatch[share]);
  }
  Values means;
  for (std::size_t pipeline = 0; pipeline < shares.size(); ++pipeline) {
    const double own = mean(shares[pipeline]);
    means.push_back(own > 0 ? own : 1);
    model_.replica[pipeline] *= means.back();
  }
  for (std::size_t share = 0; share < model_.microbatch.size(); ++share) {
    model_.microbatch[share] /= means[pipeline_of_share_[share]];
  }
  const double all = mean(model_.replica);
  for (double& replica : model_.replica) replica /= all;
  for (std::uint32_t number = 0; number < classes_.count(); ++number) {
    if (!classes_.varies(number)) continue;
    model_.usual[number] *= all;
    model_.even[number] *= all;
  }
}

}  // namespace

OpModel op_model(const MeasuredStep& step, const ExpectedOps* expected) {
  return Fit(step, expected).fitted();
}

}  // namespace penstock
