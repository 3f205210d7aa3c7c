#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "experiments/measure/causes/op_model.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock {
namespace {

constexpr double least_slow = 0.05;
constexpr double unmeasurable = 1e6;  // picoseconds: the usual length where peers take no time

using Values = std::vector<double>;

/// The transfers of a step by class.
class Transfers {
 public:
  Transfers(const MeasuredStep& step, const ExpectedOps* expected)
      : plan_(*step.plan), expected_(expected), lengths_(plan_.classes.size()) {
    for (TaskId task = 0; task < plan_.tasks(); ++task) {
      const std::uint32_t number = plan_.work[task];
      if (!plan_.is_link(plan_.classes[number].resource)) continue;
      lengths_[number].push_back(static_cast<double>(step.length(task).picoseconds));
    }
    for (const Values& lengths : lengths_) medians_.push_back(median(lengths));
  }

  void judge(OpModel& model) const;

 private:
  template <class Visit>
  void each_class(Visit visit) const {
    for (std::uint32_t number = 0; number < lengths_.size(); ++number) {
      if (!lengths_[number].empty()) visit(number, plan_.classes[number]);
    }
  }
  std::uint32_t stage_of(const WorkClass& work) const {
    return plan_.model_stage.empty() ? 0 : plan_.model_stage[index(work.stage)];
  }
  std::uint32_t link_of(const WorkClass& work) const { return work.resource - plan_.ranks; }
  double expected_of(const WorkClass& work) const;
  double pace() const;
  std::vector<Values> ratios(OpModel& model) const;
  std::vector<Values> deviations() const;

  const Plan& plan_;
  const ExpectedOps* expected_;
  std::vector<Values> lengths_;  // by class
  Values medians_;               // by class
};

double Transfers::expected_of(const WorkClass& work) const {
  return expected_ == nullptr ? 0 : expected_->of(stage_of(work), kind_of(plan_, work));
}

/// How long transfers take over what is expected of them. Ops have a pace of their own: their
/// documents may differ from those of the expected run.
double Transfers::pace() const {
  Values paces;
  each_class([&](std::uint32_t number, const WorkClass& work) {
    const double stated = expected_of(work);
    if (stated > 0) paces.push_back(medians_[number] / stated);
  });
  return lower_median(std::move(paces));
}

/// By link: what its transfers take over what they take elsewhere. Activations and gradients count
/// as equal, since a short pipeline has few of each.
std::vector<Values> Transfers::ratios(OpModel& model) const {
  const auto like = [](Pass pass) { return passes_on(pass) ? Pass::send_activation : pass; };
  std::map<Pass, Values> of_pass;
  std::map<std::pair<Pass, std::uint32_t>, Values> of_stage;
  each_class([&](std::uint32_t number, const WorkClass& work) {
    of_pass[like(work.pass)].push_back(medians_[number]);
    of_stage[{work.pass, stage_of(work)}].push_back(medians_[number]);
  });
  std::map<Pass, double> of_passes;
  for (const auto& [pass, values] : of_pass) of_passes[pass] = lower_median(values);
  std::vector<Values> ratios(plan_.links.size());
  const double own_pace = pace();
  each_class([&](std::uint32_t number, const WorkClass& work) {
    const Values& same = of_stage.at({work.pass, stage_of(work)});
    const bool alike = passes_on(work.pass) && of_pass.at(like(work.pass)).size() > 2;
    const double stated = expected_of(work) * own_pace;
    if (stated <= 0 && same.size() < 3 && !alike) return;
    const double peers = stated > 0        ? stated
                         : same.size() > 2 ? lower_median(same)
                                           : of_passes.at(like(work.pass));
    const double usual = peers > 0 ? peers : std::min(unmeasurable, medians_[number]);
    model.peers[number] = usual;
    if (usual > 0) ratios[link_of(work)].push_back(medians_[number] / usual);
  });
  return ratios;
}

/// By link: how far transfers are from the median of their class.
std::vector<Values> Transfers::deviations() const {
  std::vector<Values> deviations(plan_.links.size());
  each_class([&](std::uint32_t number, const WorkClass& work) {
    for (const double one : lengths_[number]) {
      if (one <= 0 || medians_[number] <= 0) continue;
      deviations[link_of(work)].push_back(std::abs(std::log(one / medians_[number])));
    }
  });
  return deviations;
}

void Transfers::judge(OpModel& model) const {
  const std::vector<Values> slower = ratios(model), off = deviations();
  for (std::size_t link = 0; link < slower.size(); ++link) {
    const double ratio = lower_median(slower[link]);
    model.measured_link[link] = ratio;
    const double noise = 1.4826 * median(off[link]) * error_of_median;
    const auto ops = static_cast<double>(std::max<std::size_t>(off[link].size(), 1));
    if (ratio > 1 + std::max(least_slow, sure * noise / std::sqrt(ops))) model.link[link] = ratio;
  }
  each_class([&](std::uint32_t number, const WorkClass& work) {
    model.usual[number] = model.even[number] = medians_[number] / model.link[link_of(work)];
  });
}

}  // namespace

void compare_links(const MeasuredStep& step, const ExpectedOps* expected, OpModel& model) {
  Transfers(step, expected).judge(model);
}

}  // namespace penstock
