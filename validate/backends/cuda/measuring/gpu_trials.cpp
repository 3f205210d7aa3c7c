#include "validate/backends/cuda/measuring/gpu_trials.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "validate/backends/cuda/gpu_owners.hpp"

namespace penstock {
namespace {

double over(const std::vector<double>& one, const std::vector<double>& other) {
  const double below = middle(other);
  return below > 0 ? middle(one) / below - 1 : 0;
}

/// Some milliseconds on any GPU and any part of it.
std::uint64_t trial_amount(GpuWork work) {
  if (work == GpuWork::products) return 16;
  return work == GpuWork::flops ? std::uint64_t{1} << 20 : std::uint64_t{1} << 24;
}

/// The program of some bodies of a rank, each once.
GpuProgram alone(const GpuProgram& whole, std::uint32_t rank, std::vector<GpuBody> bodies) {
  GpuProgram program{rank + 1, 0, {}, std::move(bodies), whole.sizes};
  for (std::uint32_t body = 0; body < program.bodies.size(); ++body) {
    program.tasks.push_back({.lane = rank, .body = body});
  }
  return program;
}

/// The time of each task of a program, in nanoseconds.
std::vector<double> task_times(const GpuDevice& device, GpuProgram program) {
  GpuExecutor executor(device, std::move(program), {.ordering = GpuOrdering::host_issued});
  std::vector<double> medians;
  for (const auto& of_task : task_samples_ns(executor, 5)) medians.push_back(middle(of_task));
  return medians;
}

/// The bodies of a rank that are passes of stages, with the times that their tasks ask for.
struct AskedPasses {
  std::vector<std::uint32_t> bodies;
  std::map<std::uint32_t, double> ns;  // by body
};

AskedPasses passes_of(const GpuProgram& program, std::uint32_t rank) {
  AskedPasses asked;
  for (const GpuTask& task : program.tasks) {
    if (task.lane != rank || task.duration_ns == 0) continue;
    if (program.body_of(task).pass == GpuPass::none) continue;
    const auto own = static_cast<double>(task.duration_ns);
    if (asked.ns.try_emplace(task.body, own).second) asked.bodies.push_back(task.body);
  }
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    return program.bodies[a].pass < program.bodies[b].pass;
  };
  std::stable_sort(asked.bodies.begin(), asked.bodies.end(), before);
  return asked;
}

std::vector<GpuBody> picked(const GpuProgram& program, const std::vector<std::uint32_t>& bodies) {
  std::vector<GpuBody> all;
  for (const std::uint32_t body : bodies) all.push_back(program.bodies[body]);
  return all;
}

/// From the first begin to the last end, of the second run.
double trial_ns(const GpuDevice& device, const GpuProgram& program) {
  GpuExecutor executor(device, program, {.ordering = GpuOrdering::host_issued});
  executor.run();
  return static_cast<double>(makespan_ns(executor.run()));
}

constexpr std::uint64_t most_layers = 256;  // of a stage

/// As many layers as take the time that all passes of a stage ask for.
void find_layers_of_rank(const GpuDevice& device, std::uint32_t rank, const AskedPasses& asked,
                         GpuProgram& program) {
  for (const std::uint32_t body : asked.bodies) program.bodies[body].amount = 1;
  const std::vector<double> of_layer =
      task_times(device, alone(program, rank, picked(program, asked.bodies)));
  std::map<std::uint32_t, std::pair<double, double>> stages;  // asked for, and of a layer
  for (std::size_t i = 0; i < asked.bodies.size(); ++i) {
    auto& [wanted, own] = stages[program.bodies[asked.bodies[i]].stage];
    wanted += asked.ns.at(asked.bodies[i]);
    own += of_layer[i];
  }
  for (const std::uint32_t body : asked.bodies) {
    const auto& [wanted, own] = stages.at(program.bodies[body].stage);
    const std::uint64_t layers = std::llround(wanted / own);
    program.bodies[body].amount = std::clamp<std::uint64_t>(layers, 1, most_layers);
  }
}

/// The layers that stages state, or as many as take the time that all passes of a stage ask for.
void give_layers_of_rank(const GpuDevice& device, GpuWork work, std::uint32_t rank,
                         GpuProgram& program) {
  const AskedPasses asked = passes_of(program, rank);
  if (asked.bodies.empty()) return;
  bool stated = true;
  for (const std::uint32_t body : asked.bodies) {
    program.bodies[body].work = work;
    stated = stated && program.bodies[body].amount > 0;
  }
  if (!stated) find_layers_of_rank(device, rank, asked, program);
  const std::vector<double> taken =
      task_times(device, alone(program, rank, picked(program, asked.bodies)));
  for (GpuTask& task : program.tasks) {
    if (task.lane != rank || !asked.ns.contains(task.body)) continue;
    const auto at = std::find(asked.bodies.begin(), asked.bodies.end(), task.body);
    task.duration_ns = static_cast<std::uint64_t>(std::llround(taken[at - asked.bodies.begin()]));
  }
}

}  // namespace

double middle(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::vector<std::vector<double>> task_samples_ns(GpuExecutor& executor, std::uint32_t turns) {
  std::vector<std::vector<double>> times(executor.program().tasks.size());
  for (std::uint32_t turn = 0; turn <= turns; ++turn) {
    const GpuRun run = executor.run();
    for (std::size_t task = 0; turn > 0 && task < times.size(); ++task) {
      times[task].push_back(static_cast<double>(run.end_ns[task] - run.begin_ns[task]));
    }
  }
  return times;
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

bool may_be_renumbered(const std::vector<std::vector<std::uint32_t>>& seen) {
  const auto fewer = [](const auto& one, const auto& other) { return one.size() < other.size(); };
  const auto most = std::max_element(seen.begin(), seen.end(), fewer);
  return seen.size() > 1 && std::all_of(seen.begin(), seen.end(), [&](const auto& ids) {
           return !ids.empty() && std::includes(most->begin(), most->end(), ids.begin(), ids.end());
         });
}

bool ranks_share_sms(const GpuDevice& device, const GpuProgram& program) {
  constexpr double most_slow_down = 1.5;  // by clock and memory alone
  GpuProgram one{program.ranks, program.links, {{.lane = 0}}, {{GpuWork::flops, 1 << 18}}};
  GpuProgram all = one;
  for (std::uint32_t rank = 1; rank < program.ranks; ++rank) all.tasks.push_back({.lane = rank});
  return trial_ns(device, all) > most_slow_down * trial_ns(device, one);
}

bool lanes_share_queues(const GpuDevice& device, const GpuProgram& program) {
  constexpr std::uint64_t task_ns = 2'000'000;  // the host issues all tasks in less
  GpuProgram all{program.ranks, program.links, {}, {}};
  for (std::uint32_t lane = 0; lane < program.lanes(); ++lane) {
    all.tasks.push_back({.lane = lane, .duration_ns = task_ns});
  }
  return trial_ns(device, all) > 1.5 * task_ns;
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
  GpuOverheads all{.why_no_effect = device.why_no_graph()};
  std::optional<GpuExecutor> otherwise;
  if (setup.ordering != GpuOrdering::one_by_one && all.why_no_effect.empty()) {
    try {
      otherwise.emplace(device, program, other);
    } catch (const GpuError& error) {  // it is only for comparison
      all.why_no_effect = error.what();
    }
  }
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
  all.stamps = over(asked_ns, unstamped_ns);
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

double ns_per_amount(const GpuDevice& device, GpuWork work, std::uint32_t rank) {
  if (work == GpuWork::spin) return 0;
  const GpuProgram program{rank + 1, 0, {{.lane = rank}}, {{work, trial_amount(work)}}};
  return task_times(device, program).front() / static_cast<double>(trial_amount(work));
}

void give_amounts(const GpuDevice& device, GpuWork work, GpuProgram& program) {
  if (work == GpuWork::spin) return;
  if (layer_kind_of(work) != nullptr) {
    for (std::uint32_t rank = 0; rank < program.ranks; ++rank) {
      give_layers_of_rank(device, work, rank, program);
    }
    return;
  }
  std::vector<double> ns;
  for (std::uint32_t rank = 0; rank < program.ranks; ++rank) {
    ns.push_back(ns_per_amount(device, work, rank));
  }
  for (const GpuTask& task : program.tasks) {
    if (program.is_transfer(task)) continue;
    if (program.bodies.size() <= task.body) program.bodies.resize(task.body + 1);
    if (task.duration_ns == 0) continue;
    const double amount = static_cast<double>(task.duration_ns) / ns[task.lane];
    program.bodies[task.body].work = work;
    program.bodies[task.body].amount = std::max<std::uint64_t>(std::llround(amount), 1);
  }
}

}  // namespace penstock
