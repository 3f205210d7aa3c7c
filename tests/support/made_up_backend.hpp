#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/engines/events.hpp"
#include "validate/job/backend.hpp"
#include "validate/job/job.hpp"

namespace penstock::testing {

/// The duration of an action in a run, from its pass and its isolated duration, in nanoseconds.
using ActionRule = std::function<double(Pass, double)>;

/// A backend on which each action takes exactly the time of a rule, and waits follow the simulator.
class MadeUpBackend : public Backend {
 public:
  MadeUpBackend(const Job& job, ActionRule rule) : job_(job), rule_(std::move(rule)) {}

  std::vector<Time> profile() override { return job_.priced.costs.duration; }
  RunOutcome run() override {
    const Plan& plan = job_.priced.plan;
    std::vector<Time> taken = job_.priced.costs.duration;
    for (std::size_t work = 0; work < taken.size(); ++work) {
      const WorkClass& kind = plan.classes[work];
      if (plan.is_link(kind.resource)) continue;
      const auto ns = static_cast<double>(to_ns(taken[work]));
      taken[work] = from_ns(std::llround(rule_(kind.pass, ns)));
    }
    return relax(profiled(job_, std::move(taken)));
  }
  std::map<std::string, std::string> environment() const override { return {{"made", "up"}}; }

 private:
  const Job& job_;
  ActionRule rule_;
};

}  // namespace penstock::testing
