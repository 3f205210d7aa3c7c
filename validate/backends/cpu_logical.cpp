#include "validate/backends/registry.hpp"
#include "validate/machine/host.hpp"
#include "validate/ranks/rank_clocks.hpp"
#include "validate/ranks/rank_runner.hpp"
#include "validate/transports/mailboxes.hpp"

namespace penstock::cpu_logical_file {
namespace {

/// One thread per rank on any number of cores, each with a logical clock.
class CpuLogical : public Backend {
 public:
  explicit CpuLogical(const Job& job)
      : own_(std::make_unique<Mailboxes>(boxes_of(job), job.priced.plan.ranks)),
        runner_(job, *own_, std::vector<LogicalClock>(job.priced.plan.ranks)) {}
  CpuLogical(const Job& job, const RunPart& part)
      : runner_(job, part.transport, std::vector<LogicalClock>(job.priced.plan.ranks), part.ranks) {
  }

  std::vector<Time> profile() override { return runner_.profile(); }
  RunOutcome run() override { return runner_.run(); }
  std::optional<TrainedNumbers> numbers() const override { return runner_.numbers(); }
  TimesOfLayers layer_times() const override { return runner_.layer_times(); }
  std::optional<CodingNumbers> coding() const override { return runner_.coding(); }
  std::map<std::string, std::string> environment() const override {
    std::map<std::string, std::string> all = host_environment();
    all["backend"] = "cpu_logical";
    all["clock"] = "thread CPU time, message stamps";
    return all;
  }

 private:
  std::unique_ptr<Transport> own_;  // none when given from outside
  RankRunner<LogicalClock> runner_;
};

std::unique_ptr<Backend> make(const Job& job) { return std::make_unique<CpuLogical>(job); }

std::unique_ptr<Backend> make_part(const Job& job, const RunPart& part) {
  return std::make_unique<CpuLogical>(job, part);
}

}  // namespace

constinit extern const BackendEntry cpu_logical_entry{
    .name = "cpu_logical",
    .summary = "one thread per rank on any number of cores, timed by logical clocks",
    .obstacle = thread_obstacle,
    .runs_layers = true,
    .make = make,
    .make_part = make_part,
};

}  // namespace penstock::cpu_logical_file
