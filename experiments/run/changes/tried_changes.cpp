#include "experiments/run/changes/tried_changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/long_work/parallel.hpp"
#include "experiments/run/chain.hpp"
#include "experiments/run/layout/training.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

bool same_pipeline(const Layout& one, const Layout& other) {
  return one.placement.ranks() == other.placement.ranks() && one.microbatches == other.microbatches;
}

bool trains_alike(const Layout& one, const Layout& other) {
  return devices_of(one) == devices_of(other) && global_batch_of(one) == global_batch_of(other) &&
         one.schedule.has_backward() == other.schedule.has_backward();
}

/// Degrees and ZeRO level decide which share of its layers a device holds.
auto shares_of(const Layout& layout) {
  const Degrees& degrees = layout.degrees;
  const Degrees of_module = layout.module ? layout.module->degrees : Degrees{};
  return std::tuple(layout.placement.ranks(), degrees.tensor, degrees.data, degrees.context,
                    degrees.expert, degrees.expert_tensor, layout.memory.zero,
                    layout.module.has_value(), of_module.tensor, of_module.data);
}

/// The layers of each rank, by chain and stage.
std::vector<std::vector<LayerIndex>> layers_by_rank(const Layout& layout) {
  std::vector<std::vector<LayerIndex>> layers(layout.placement.ranks());
  for (const std::vector<Stage>& chain : layout.placement.chains()) {
    for (std::size_t stage = 0; stage < chain.size(); ++stage) {
      std::vector<LayerIndex>& own = layers[index(layout.placement.rank_of(chain[stage]))];
      const auto& cut = layout.partition.stages[stage];
      own.insert(own.end(), cut.begin(), cut.end());
    }
  }
  for (auto& own : layers) std::ranges::sort(own);
  return layers;
}

ChangeEffort effort_of(const Layout& layout, const Layout& present) {
  if (shares_of(layout) != shares_of(present)) return ChangeEffort::reshards;
  const bool stay = layers_by_rank(layout) == layers_by_rank(present);
  return stay ? ChangeEffort::flag : ChangeEffort::moves_layers;
}

/// A finished run as a change: with documents its draws, else its first.
TriedChange change_of(const RunResult& result) {
  const BatchPeak peak = highest_peak(*result.report, result.batch);
  TriedChange one{.worst = peak.rank,
                  .peak_bytes = peak.bytes,
                  .word = worst_memory(result).word,
                  .makespan = result.report->makespan,
                  .tasks = result.plan->tasks()};
  if (!result.layout.documents || !result.repeated) return one;
  one.makespan = step_of(result);
  one.tasks *= judged_draws;
  if (!all_draws_end(result)) return one;
  for (const auto& draw : result.repeated->makespans) one.draws.push_back(*draw);
  return one;
}

RunOptions trial_of(const Layout& layout, bool over_draws) {
  return {.repeat = over_draws && layout.documents ? judged_draws : 0,
          .splits_losses = false,
          .settled = true};
}

/// Runs the scenario with the change, as a user would; nothing if it is refused or the run
/// deadlocks.
std::optional<TriedChange> simulated(const Scenario& scenario, const ScenarioChange& wanted,
                                     const Layout& present, bool over_draws, Chain& chain) {
  try {
    Layout layout = chain.layout(chain.changed(scenario, wanted.settings, wanted.left_out));
    if (wanted.keeps_pipeline && !same_pipeline(layout, present)) return {};
    if (is_proposed(present) && !is_proposed(layout)) return {};
    const RunOptions options = trial_of(layout, over_draws);
    const RunResult result = run(chain, std::move(layout), options);
    if (!result.report || !all_draws_end(result)) return {};
    if (!trains_alike(result.layout, present)) return {};
    TriedChange tried = change_of(result);
    tried.change = wanted;
    tried.effort = effort_of(result.layout, present);
    return tried;
  } catch (const InputError&) {
    return {};
  } catch (const RuleError&) {
    return {};
  }
}

/// Chains that are not in use: each thread needs its own.
class Chains {
 public:
  template <class Work>
  void lend(Work work) {
    std::unique_ptr<Chain> chain = take();
    work(*chain);
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(chain));
  }

 private:
  std::unique_ptr<Chain> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<Chain>(&catalogue_);
    std::unique_ptr<Chain> chain = std::move(idle_.back());
    idle_.pop_back();
    return chain;
  }

  Catalogue catalogue_ = read_catalogue();
  std::mutex mutex_;
  std::vector<std::unique_ptr<Chain>> idle_;
};

/// Changes that are tried together: of a large run few, so that few are beyond the limit.
std::size_t batch_of(std::uint64_t tasks, std::uint64_t most_tasks) {
  return std::clamp<std::size_t>(most_tasks / (std::max<std::uint64_t>(tasks, 1) * 8), 4, 64);
}

/// The changes of a scenario. With documents, what loses clearly in the first draw is left out: to
/// run it over all of them would take most of the time, and it hardly ever gains.
std::vector<ScenarioChange> hopeful_changes(const Scenario& scenario, const RunResult& result,
                                            const TriedChange& now) {
  constexpr double most_loss = 0.05;
  std::vector<ScenarioChange> all = changes_of(scenario, result);
  if (now.draws.empty()) return all;
  std::vector<ScenarioChange> hopeful;
  for (TriedChange& one : try_changes(scenario, result, all, {.over_draws = false}).changes) {
    const bool loses = to_us(one.makespan) > (1 + most_loss) * to_us(now.draws.front());
    if (!loses) hopeful.push_back(std::move(one.change));
  }
  return hopeful;
}

MemoryWord word_of(const TriedChange& change) { return change.word.value_or(MemoryWord::fits); }

}  // namespace

std::string_view text(ChangeEffort effort) {
  switch (effort) {
    case ChangeEffort::flag:
      return "a flag";
    case ChangeEffort::moves_layers:
      return "layers move";
    case ChangeEffort::reshards:
      break;
  }
  return "reshard";
}

std::optional<bool> TriedChange::fits() const {
  return word ? std::optional(*word == MemoryWord::fits) : std::nullopt;
}

TriedChange without_change(const Scenario& scenario, const RunResult& result) {
  if (!result.layout.documents) return change_of(result);
  return change_of(run(scenario, trial_of(result.layout, true)));
}

TriedChanges try_changes(const Scenario& scenario, const RunResult& result,
                         const std::vector<ScenarioChange>& changes, const TryOptions& options) {
  TriedChanges all;
  Chains chains;
  std::uint64_t tasks = 0;
  const std::size_t batch = batch_of(result.plan->tasks(), options.most_tasks);
  for (std::size_t begin = 0; begin < changes.size(); begin += batch) {
    if (tasks >= options.most_tasks) {
      all.not_tried = static_cast<std::uint32_t>(changes.size() - begin);
      break;
    }
    std::vector<std::optional<TriedChange>> tried(std::min(batch, changes.size() - begin));
    const auto try_one = [&](std::size_t i) {
      chains.lend([&](Chain& chain) {
        tried[i] =
            simulated(scenario, changes[begin + i], result.layout, options.over_draws, chain);
      });
    };
    const auto on_done = [&](std::size_t done) {
      if (options.on_progress) options.on_progress("changes", begin + done, changes.size());
    };
    in_parallel(tried.size(), try_one, on_done, options.jobs);
    for (std::size_t i = 0; i < tried.size(); ++i) {
      if (!tried[i]) continue;
      tasks += tried[i]->tasks;
      tried[i]->number = begin + i;
      all.changes.push_back(std::move(*tried[i]));
    }
  }
  return all;
}

double gain_of(const TriedChange& change, const TriedChange& now) {
  return now.makespan == Time{} ? 0 : 1 - to_us(change.makespan) / to_us(now.makespan);
}

std::optional<std::pair<double, double>> gain_within(const TriedChange& change,
                                                     const TriedChange& now) {
  if (change.draws.size() < 2 || change.draws.size() != now.draws.size()) return std::nullopt;
  std::vector<std::optional<Time>> differences;
  for (std::size_t i = 0; i < now.draws.size(); ++i) {
    differences.emplace_back(now.draws[i] - change.draws[i]);
  }
  const auto within = *distribution_of(std::move(differences)).mean_within;
  return std::pair(within.first / to_us(now.makespan), within.second / to_us(now.makespan));
}

bool is_faster(const TriedChange& change, const TriedChange& now) {
  const auto within = gain_within(change, now);
  return gain_of(change, now) >= least_gain && (!within || within->first > 0);
}

bool is_worth(const TriedChange& change, const TriedChange& now) {
  constexpr double most_loss = 1;  // a choice: nobody runs twice as long to save memory
  if (word_of(change) < word_of(now)) return gain_of(change, now) >= -most_loss;
  const bool lacks_more = now.fits() == false && change.peak_bytes > now.peak_bytes;
  return word_of(change) == word_of(now) && !lacks_more && is_faster(change, now);
}

bool is_before(const TriedChange& one, const TriedChange& other) {
  return std::tuple(word_of(one), one.makespan, one.peak_bytes) <
         std::tuple(word_of(other), other.makespan, other.peak_bytes);
}

void leave_out_repeats(std::vector<TriedChange>& changes, const TriedChange& now) {
  const auto outcome = [](const TriedChange& one) {
    return std::tuple(one.makespan, one.peak_bytes, word_of(one));
  };
  std::set known{outcome(now)};
  std::erase_if(changes,
                [&](const TriedChange& one) { return !known.insert(outcome(one)).second; });
}

std::vector<TriedChange> best_of_families(std::vector<TriedChange> changes) {
  std::set<std::pair<ChangeEffort, std::string>> known;
  std::ranges::stable_sort(changes, is_before);
  std::erase_if(changes, [&](const TriedChange& one) {
    return !known.emplace(one.effort, family_of(one.change)).second;
  });
  return changes;
}

std::string gain_text(const TriedChange& change, const TriedChange& now) {
  const std::string text = signed_percent_text(-gain_of(change, now));
  const auto within = gain_within(change, now);
  return within ? text + fmt::format(" ± {:.1f}", 50 * (within->second - within->first)) : text;
}

FasterChanges faster_changes(const Scenario& scenario, const RunResult& result) {
  constexpr std::size_t most = 10;
  FasterChanges faster{.now = without_change(scenario, result)};
  TriedChanges tried = try_changes(scenario, result, hopeful_changes(scenario, result, faster.now));
  std::erase_if(tried.changes, [&](const TriedChange& change) {
    return change.fits() == false || !is_faster(change, faster.now);
  });
  leave_out_repeats(tried.changes, faster.now);
  faster.changes = best_of_families(std::move(tried.changes));
  if (faster.changes.size() > most) faster.changes.resize(most);
  return faster;
}

}  // namespace penstock
