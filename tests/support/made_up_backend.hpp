#pragma once

#include <functional>

#include "validate/job/backend.hpp"
#include "validate/job/job.hpp"

namespace penstock::testing {

/// What an action takes in a run, of its pass and what it takes alone, in nanoseconds.
using ActionRule = std::function<double(Pass, double)>;

/// A machine on which each action takes what a rule says, exactly, and waiting follows the rules of
/// the simulator.
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
