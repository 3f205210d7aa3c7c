#include "validate/backends/cuda/measuring/gpu_trials.hpp"

#include <algorithm>

namespace penstock {
namespace {

double over(const std::vector<double>& one, const std::vector<double>& other) {
  const double below = middle(other);
  return below > 0 ? middle(one) / below - 1 : 0;
}

}  // namespace

double middle(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::uint64_t makespan_ns(const GpuRun& run) {
  if (run.end_ns.empty()) return 0;
  return *std::max_element(run.end_ns.begin(), run.end_ns.end()) -
         *std::min_element(run.begin_ns.begin(), run.begin_ns.end());
}

std::uint32_t sms_in_several_ranks(const std::vector<std::vector<std::uint32_t>>& seen) {
  std::vector<std::uint32_t> ranks(most_sm_ids);
  for (const std::vector<std::uint32_t>& ids : seen) {
    for (const std::uint32_t id : ids) ++ranks[id];
  }
  return static_cast<std::uint32_t>(
      std::count_if(ranks.begin(), ranks.end(), [](std::uint32_t n) { return n > 1; }));
}

GpuOverheads measure_overheads(const GpuDevice& device, const GpuProgram& program,
                               const GpuRunSetup& setup, std::uint32_t turns) {
  if (program.tasks.empty()) return {};
  GpuRunSetup without = setup;
  without.stamped = false;
  GpuRunSetup other = setup;
  const bool is_graph = setup.ordering == GpuOrdering::graph;
  other.ordering = is_graph ? GpuOrdering::host_issued : GpuOrdering::graph;
  GpuExecutor as_asked(device, program, setup);
  GpuExecutor unstamped(device, program, without);
  std::optional<GpuExecutor> otherwise;
  if (device.why_no_graph().empty()) otherwise.emplace(device, program, other);
  std::vector<double> asked_ns;
  std::vector<double> unstamped_ns;
  std::vector<double> other_ns;
  for (std::uint32_t turn = 0; turn <= turns; ++turn) {
    const double asked = as_asked.run().elapsed_ns;
    const double bare = unstamped.run().elapsed_ns;
    const double beside = otherwise ? otherwise->run().elapsed_ns : 0;
    if (turn == 0) continue;  // warms up
    asked_ns.push_back(asked);
    unstamped_ns.push_back(bare);
    other_ns.push_back(beside);
  }
  GpuOverheads all{.stamps = over(asked_ns, unstamped_ns)};
  if (otherwise) all.host_effect = is_graph ? over(other_ns, asked_ns) : over(asked_ns, other_ns);
  return all;
}

std::vector<std::uint32_t> wrong_transfers(const GpuDevice& device, const GpuProgram& program,
                                           GpuRunSetup setup) {
  setup.checked = true;
  GpuExecutor executor(device, program, setup);
  executor.run();
  const std::vector<std::uint32_t> words = executor.wrong_words();
  std::vector<std::uint32_t> wrong;
  for (std::uint32_t task = 0; task < words.size(); ++task) {
    if (words[task] > 0) wrong.push_back(task);
  }
  return wrong;
}

}  // namespace penstock
