#include "validate/backends/registry.hpp"
#include "validate/machine/host.hpp"
#include "validate/ranks/rank_clocks.hpp"
#include "validate/ranks/rank_runner.hpp"
#include "validate/transports/mailboxes.hpp"

namespace penstock::cpu_logical_file {
namespace {

/// One thread per rank on any number of cores, each with a logical clock.
class CpuLogical : public RankRunner<LogicalClock> {
 public:
  explicit CpuLogical(const Job& job)
      : RankRunner(job, std::make_unique<Mailboxes>(boxes_of(job), job.priced.plan.ranks),
                   std::vector<LogicalClock>(job.priced.plan.ranks)) {}
  CpuLogical(const Job& job, const RunPart& part)
      : RankRunner(job, part.transport, std::vector<LogicalClock>(job.priced.plan.ranks),
                   part.ranks) {}

  std::map<std::string, std::string> environment() const override {
    std::map<std::string, std::string> all = host_environment();
    all["backend"] = "cpu_logical";
    all["clock"] = "thread CPU time, message stamps";
    return all;
  }
};

}  // namespace

constinit extern const BackendEntry cpu_logical_entry{
    .name = "cpu_logical",
    .summary = "one thread per rank on any number of cores, timed by logical clocks",
    .obstacle = thread_obstacle,
    .runs_layers = true,
    .make = made<CpuLogical>,
    .make_part = made<CpuLogical>,
};

}  // namespace penstock::cpu_logical_file
