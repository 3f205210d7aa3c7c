#include <map>
#include <utility>
#include <vector>

#include "experiments/measure/causes/op_model.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock {

OpKind kind_of(const Plan& plan, const WorkClass& work) {
  OpKind kind{work.pass, work.recomputes};
  if (work.partner != UINT32_MAX && work.partner < plan.classes.size()) {
    kind.beside = static_cast<std::uint8_t>(plan.classes[work.partner].pass);
  }
  return kind;
}

ExpectedOps expected_ops(const Recording& run) {
  std::map<std::pair<std::uint32_t, OpKind>, std::vector<double>> lengths;
  const Plan& plan = run.plan;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (work.follows_partner || plan.model_stage.empty()) continue;
    const Time length = run.timeline.end[task] - run.timeline.begin[task];
    lengths[{plan.model_stage[index(work.stage)], kind_of(plan, work)}].push_back(
        static_cast<double>(length.picoseconds));
  }
  ExpectedOps expected;
  for (auto& [key, values] : lengths) expected.of_stage[key] = median(std::move(values));
  return expected;
}

}  // namespace penstock
