#include "sim/plan/far_readers.hpp"

#include <algorithm>

namespace penstock {

FarReaders::FarReaders(const Plan& plan) {
  const bool updates = std::any_of(plan.classes.begin(), plan.classes.end(),
                                   [](const WorkClass& w) { return w.pass == Pass::update; });
  if (!updates) return;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (work.pass != Pass::update) continue;
    plan.for_each_input(task, [&](TaskId input) {
      const std::uint32_t resource = plan.class_of(input).resource;
      if (!plan.is_link(resource)) return;
      const Link& link = plan.link(resource);
      const Rank reader{work.resource};
      if (link.from != reader && link.to != reader) pairs_.emplace_back(input, work.resource);
    });
  }
  std::sort(pairs_.begin(), pairs_.end());
}

std::vector<FarReaders::Pair>::const_iterator FarReaders::first_of(TaskId transfer) const {
  return std::lower_bound(pairs_.begin(), pairs_.end(), Pair{transfer, 0});
}

}  // namespace penstock
