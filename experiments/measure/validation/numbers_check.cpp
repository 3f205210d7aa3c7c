#include "experiments/measure/validation/numbers_check.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "schedules/registry.hpp"
#include "validate/training/plan_cells.hpp"
#include "validate/training/reference_numbers.hpp"

namespace penstock {
namespace {

using Stated = std::vector<StatedVersions>;

/// PipeDream: replicas of a stage update after each of their microbatches. When one starts a
/// microbatch, it has (ranks from its stage on - 1) / replicas others under way.
Stated pipedream_versions(const Placement& placement) {
  const std::vector<Stage>& chain = placement.chains().front();
  Stated stated(chain.size());
  std::uint32_t ranks = 0;
  for (std::size_t stage = chain.size(); stage-- > 0;) {
    const std::uint32_t replicas = placement.replicas(chain[stage]);
    ranks += replicas;
    stated[stage] = {.replicas = replicas, .group = 1, .delay = (ranks - 1) / replicas};
  }
  return stated;
}

/// PipeDream-2BW: a group sees weights delayed by (versions - 1) groups.
Stated two_bw_versions(const Layout& layout) {
  const ScheduleOptions& options = layout.options;
  const std::uint32_t stages = layout.placement.stage_count();
  return {stages,
          {.replicas = 1,
           .group = options.number("group", stages),
           .delay = options.number("versions", 2) - 1}};
}

/// Empty: weights do not change. Nothing: the schedule does not state a rule.
std::optional<Stated> stated_versions(const Layout& layout, const Schedule& order) {
  if (!order.has(Pass::update)) return Stated{};
  const std::string_view rule = layout.rule != nullptr ? layout.rule->name : "";
  if (rule == "pipedream") return pipedream_versions(layout.placement);
  if (rule == "pipedream-2bw") return two_bw_versions(layout);
  return std::nullopt;
}

std::vector<std::uint32_t> whole_microbatches(const Plan& plan, std::uint32_t slices) {
  std::set<std::uint32_t> numbers;
  for (const Microbatch microbatch : plan.microbatch) numbers.insert(index(microbatch) / slices);
  return {numbers.begin(), numbers.end()};
}

/// Codecs change what cells are made again from.
RemadeCells remade_cells(const Job& job) {
  RemadeCells remade;
  if (job.layers->codecs.empty()) return remade;
  for (const CellKey& cell : recomputed_cells(job.priced.plan)) {
    remade.emplace(job.priced.plan.model_stage[index(cell.stage)], index(cell.microbatch));
  }
  return remade;
}

/// Whether an iteration ends in an optimizer step, which the order does not list.
bool updates_at_end(const Schedule& order, const Plan& plan) {
  const auto updates = [](const WorkClass& work) { return work.pass == Pass::update; };
  return !order.has(Pass::update) && std::any_of(plan.classes.begin(), plan.classes.end(), updates);
}

}  // namespace

NumbersCheck check_numbers(const Layout& layout, const Schedule& order, const Job& job,
                           const std::optional<TrainedNumbers>& numbers) {
  if (!numbers) return {.error = {}, .why_not = "they were not collected"};
  const auto stated = stated_versions(layout, order);
  if (!stated) return {.error = {}, .why_not = "no rule states which weights this order uses"};
  TrainedNumbers right =
      reference_numbers(*job.layers, whole_microbatches(job.priced.plan, layout.slices),
                        has_backward(job.priced.plan), *stated, remade_cells(job));
  const bool steps = updates_at_end(order, job.priced.plan);
  if (steps) add_step(*job.layers, right);
  return {.error = largest_error(*numbers, right),
          .why_not = "",
          .of_loss_alone = !has_backward(job.priced.plan),
          .of_weights = steps,
          .by_versions = !stated->empty()};
}

}  // namespace penstock
