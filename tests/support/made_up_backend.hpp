#pragma once

#include <functional>

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
  RunOutcome run() override;
  std::map<std::string, std::string> environment() const override { return {{"made", "up"}}; }

 private:
  const Job& job_;
  ActionRule rule_;
};

}  // namespace penstock::testing
