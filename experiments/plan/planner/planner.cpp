#include "experiments/plan/planner/planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <variant>

#include "experiments/input/long_work/budget.hpp"
#include "experiments/input/orders/memory_need.hpp"
#include "experiments/run/batch_report.hpp"
#include "experiments/run/layout/layout.hpp"
#include "experiments/run/repeat.hpp"
#include "experiments/run/run.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/run/stage_formats.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "sim/model/model_graph.hpp"
#include "sim/report/memory.hpp"

namespace penstock {
namespace {

Trial refused(std::string why) {
  Trial trial;
  trial.refusal = std::move(why);
  return trial;
}

std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xbf58'476d'1ce4'e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d0'49bb'1331'11ebU;
  return value ^ (value >> 31U);
}

/// Of all tasks that take time, whatever their numbers are.
std::uint64_t hash_of(const Plan& plan, const Timeline& timeline) {
  std::uint64_t sum = 0;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const Time begin = timeline.begin[task], end = timeline.end[task];
    if (begin == end) continue;
    const WorkClass& work = plan.class_of(task);
    std::uint64_t hash = static_cast<std::uint64_t>(work.pass);
    const Link link = plan.is_link(work.resource) ? plan.link(work.resource)
                                                  : Link{Rank{work.resource}, Rank{work.resource}};
    for (const std::uint64_t part :
         {std::uint64_t{index(work.stage)} << 32U | index(plan.microbatch[task]),
          std::uint64_t{index(link.from)} << 32U | index(link.to),
          static_cast<std::uint64_t>(begin.picoseconds),
          static_cast<std::uint64_t>(end.picoseconds)}) {
      hash = mixed(hash + part);
    }
    sum += hash;
  }
  return sum;
}

/// `others`: peaks of data replicas that the run does not show.
Trial measured(const Layout& layout, const Simulated& run, Time step,
               const std::vector<MemoryPeak>& others = {}) {
  const auto& [priced, timeline, peak_flops, batch, replica] = run;
  Trial trial;
  trial.makespan = step;
  trial.capacity_bytes = layout.memory.capacity_bytes;
  trial.timeline_hash = hash_of(priced.plan, timeline);
  auto peaks = memory_peaks(priced.plan, priced.costs, timeline);
  peaks.insert(peaks.end(), others.begin(), others.end());
  for (const MemoryPeak& peak : peaks) trial.peak_bytes = std::max(trial.peak_bytes, peak.bytes);
  const MemoryJudge judge = judge_of(layout);
  trial.interval = judge.interval(peaks);
  trial.word = judge.word(trial.interval);
  if (layout.hardware.confidence) trial.spread = spread_of(layout);
  const Throughput throughput =
      throughput_of(layout, batch, priced.plan, trial.makespan, peak_flops);
  trial.samples_per_s = throughput.samples_per_s;
  trial.tokens_per_s = throughput.tokens_per_s;
  trial.watts = watts_of(layout);
  return trial;
}

/// The mean step and the tokens of a plan over draws of documents; refused where one does not end.
Trial drawn(const Layout& layout, const Simulation& simulation, const PricedPlan& priced,
            const Simulated& first) {
  const double full = double(*layout.documents->tokens) * layout.microbatches;
  double tokens = 0, first_tokens = 0;
  std::vector<std::optional<Time>> draws;
  const std::uint32_t count = varies(layout) ? judged_draws : 1;
  for (std::uint32_t draw = 0; draw < count; ++draw) {
    draws.push_back(simulation.makespan_of_draw(priced, draw));
    if (!draws.back()) return refused("a draw of documents does not come to its end");
    const auto batch = simulation.microbatches_of(draw);
    const double own = batch ? batch->sum().tokens / double(batch->replicas.size()) : full;
    tokens += own / count;
    if (draw == 0) first_tokens = own;
  }
  const Distribution steps = distribution_of(std::move(draws));
  std::vector<MemoryPeak> peaks;
  if (first.batch) peaks = peaks_of_replicas(layout, simulation, priced, *first.batch);
  Trial trial = measured(layout, first, from_us(*steps.mean), peaks);
  trial.mean_within = steps.mean_within;
  trial.filled = tokens / full;
  if (trial.tokens_per_s) *trial.tokens_per_s *= tokens / first_tokens;
  return trial;
}

Trial trial_of(const Layout& layout, const Simulation& simulation) {
  auto order = simulation.priced_order();
  if (const auto* finding = std::get_if<Finding>(&order)) return refused(finding->text);
  PricedPlan& priced = std::get<PricedPlan>(order);
  const auto run =
      layout.documents ? simulation.simulate(priced) : simulation.simulate(std::move(priced));
  if (const auto* finding = std::get_if<Finding>(&run)) return refused(finding->text);
  const Simulated& first = std::get<Simulated>(run);
  if (layout.documents) return drawn(layout, simulation, priced, first);
  return measured(layout, first, makespan(first.priced.plan, first.timeline));
}

/// A roofline that prices layers that cost alike once. Only one thread may ask it.
class EqualLayers final : public HardwareModel {
 public:
  explicit EqualLayers(std::shared_ptr<const HardwareModel> own) : own_(std::move(own)) {}

  std::optional<double> compute_us(const Layer& layer, Pass pass) const override {
    auto& us = known(layer).us[static_cast<std::size_t>(pass)];
    if (!us) us = own_->compute_us(layer, pass);
    return *us;
  }
  std::optional<DeviceUse> use(const Layer& layer, Pass pass) const override {
    return own_->use(layer, pass);
  }
  TransferTime transfer(double bytes, Rank from, Rank to) const override {
    return own_->transfer(bytes, from, to);
  }
  std::optional<TransferTime> collective(CollectiveKind kind, double bytes,
                                         const Holders& holders) const override {
    return own_->collective(kind, bytes, holders);
  }
  std::optional<double> peak_flops() const override { return own_->peak_flops(); }
  Network network() const override { return own_->network(); }
  Route route(const Link& link) const override { return own_->route(link); }

 private:
  struct Known {
    const Layer* layer;
    std::array<std::optional<std::optional<double>>, pass_count> us;
  };
  Known& known(const Layer& layer) const {
    const auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& one) {
      return one.layer == &layer || cost_alike(*one.layer, layer);
    });
    if (found != known_.end()) return *found;
    return known_.emplace_back(Known{&layer, {}});
  }

  std::shared_ptr<const HardwareModel> own_;
  mutable std::vector<Known> known_;
};

}  // namespace

Trial try_layout(const Scenario& scenario, const Catalogue& catalogue,
                 std::shared_ptr<Clusters> clusters, bool draws) {
  try {
    Layout layout =
        with_codecs(settle(scenario, {.catalogue = &catalogue, .clusters = std::move(clusters)}));
    if (!draws) layout.documents.reset();
    auto hardware = hardware_of(layout);
    // Each microbatch of documents has layers of its own, which do not last.
    if (layout.hardware.cost_model == "roofline" && !layout.documents) {
      hardware = std::make_shared<EqualLayers>(std::move(hardware));
    }
    return trial_of(layout, Simulation(layout, std::move(hardware)));
  } catch (const InputError& error) {
    return refused(error.text());
  } catch (const OverBudget&) {
    return refused(too_large_to_simulate);
  }
}

double simulation_bytes(const LayoutChoice& choice, bool draws) {
  const ScheduleEntry& rule = *find_named(schedule_entries(), choice.schedule);
  const double stages = double(choice.pipeline) * choice.chunks / rule.copies;
  const double slices = rule.slices_for == nullptr ? 1 : rule.slices_for({1, choice.options});
  const double of_cell = CellBytes::run + (draws ? CellBytes::documents(choice.data) : 0);
  return stages * slices * choice.microbatches * of_cell;
}

const JudgedLayout* LayoutPlan::best() const {
  if (!fitting.empty()) return &fitting.front();
  return tight.empty() ? nullptr : &tight.front();
}

std::optional<TrainingCost> cost_of(const TrainingTask& task, const Trial& trial) {
  return cost_of(task.training,
                 {.samples_per_s = trial.samples_per_s, .tokens_per_s = trial.tokens_per_s},
                 task.devices, trial.watts);
}

bool lacks_memory(const LayoutPlan& plan) {
  const std::uint64_t refused = plan.refused.empty() ? 0 : plan.refused.front().layouts;
  return !plan.too_large.empty() || plan.without_memory > refused;
}

bool is_better(const JudgedLayout& one, const JudgedLayout& other) {
  return std::tuple(one.trial.pace(), one.trial.peak_bytes, one.number) <
         std::tuple(other.trial.pace(), other.trial.peak_bytes, other.number);
}

bool are_equal(const JudgedLayout& one, const JudgedLayout& other) {
  return one.trial.timeline_hash == other.trial.timeline_hash &&
         one.trial.makespan == other.trial.makespan &&
         one.trial.peak_bytes == other.trial.peak_bytes && one.trial.word == other.trial.word &&
         one.choice.microbatch == other.choice.microbatch &&
         degrees_of(one.choice) == degrees_of(other.choice);
}

void check_bounds(const JudgedLayout& layout) {
  const double us = to_us(layout.trial.makespan);
  if (layout.bound_us > us) {
    throw std::logic_error(
        fmt::format("fault of the planner: the bound of {:.9g} us is above the step time of {:.9g} "
                    "us of {}; please report it",
                    layout.bound_us, us, text_of(layout.choice)));
  }
  const auto bytes = static_cast<double>(layout.trial.peak_bytes);
  if (layout.least_bytes > bytes + 1) {
    throw std::logic_error(
        fmt::format("fault of the planner: the bound of {:.0f} bytes is above the {:.0f} bytes of "
                    "the fullest rank of {}; please report it",
                    layout.least_bytes, bytes, text_of(layout.choice)));
  }
}

}  // namespace penstock
