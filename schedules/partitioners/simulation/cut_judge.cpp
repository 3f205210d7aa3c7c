#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "schedules/partitioners/simulation/cut_search.hpp"
#include "schedules/patterns/alternation.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "sim/costs/scaled_time.hpp"
#include "sim/engines/events.hpp"
#include "sim/plan/lower.hpp"

namespace penstock {
namespace {

/// Whether the problem's order is 1F1B with one stage per rank.
bool asks_for_one_f_one_b(const CutProblem& problem, std::uint32_t stages) {
  if (problem.schedule == nullptr || problem.placement == nullptr) return problem.chunks == 1;
  const Placement plain = Placement::loop(stages, 1);
  if (!(*problem.placement == plain)) return false;
  return *problem.schedule == one_f_one_b_order("1f1b", 1, plain, problem.microbatches);
}

std::vector<double> prefix_us(const CutProblem& problem, double CutLayer::*seconds) {
  std::vector<double> prefix{0};
  for (const CutLayer& layer : problem.layers) {
    prefix.push_back(prefix.back() + layer.*seconds * 1e6);
  }
  return prefix;
}

Plan lowered(const Schedule& schedule, const Placement& placement) {
  auto plan = lower(schedule, placement);
  if (const auto* deadlock = std::get_if<Deadlock>(&plan)) {
    throw InputError("/schedule", text(*deadlock));
  }
  return std::get<Plan>(std::move(plan));
}

Plan plan_of(const CutProblem& problem, std::uint32_t stages) {
  if (problem.schedule != nullptr && problem.placement != nullptr) {
    return lowered(*problem.schedule, *problem.placement);
  }
  const bool loops = problem.chunks > 1;
  const std::string_view name = loops ? "interleaved-1f1b" : "1f1b";
  const ScheduleEntry& rule = *find_named(schedule_entries(), name);
  const Placement placement =
      loops ? rule.place(problem.ranks, stages / problem.ranks) : rule.place(stages, 1);
  const Schedule schedule = make_schedule(rule, placement, {problem.microbatches, {}});
  return lowered(schedule, placement);
}

Time time_of_layers(Pass pass, std::uint32_t begin, std::uint32_t end, const StageTimes& times) {
  if (!runs_layers(pass)) return {};
  return times.of(pass == Pass::recompute ? Pass::forward : pass, begin, end);
}

constexpr double max_picoseconds = 9e18;  // as `check_clock` has it

/// How far each stage is in its order.
struct Progress {
  std::uint32_t forwards = 0;
  std::uint32_t backwards = 0;
};

/// Whether the next action of a stage is a backward: warm-up, then both in turn.
bool backward_is_next(const Progress& of, std::uint32_t warm_up, std::uint32_t microbatches) {
  return of.forwards == microbatches || of.forwards > warm_up + of.backwards;
}

}  // namespace

CutJudge::CutJudge(const CutProblem& problem, const CutChain& chain, const StageTimes& times,
                   std::uint32_t stages)
    : problem_(problem), chain_(chain), stages_(stages), engine_(problem, times, stages) {
  if (asks_for_one_f_one_b(problem, stages)) walk_.emplace(times, stages, problem.microbatches);
}

bool CutJudge::fits(std::uint32_t begin, std::uint32_t end, std::uint32_t stage) const {
  if (!problem_.memory_bytes) return true;
  const double most = problem_.holds.empty() ? *problem_.memory_bytes : problem_.rank_bytes;
  return stage_memory(problem_, chain_, begin, end, stage, stages_) <= most;
}

bool CutJudge::fits(std::span<const std::uint32_t> cuts) const {
  if (!problem_.memory_bytes) return true;
  const auto of = [&](const std::vector<double>& before, std::uint32_t stage) {
    return before[cuts[stage + 1]] - before[cuts[stage]];
  };
  for (const RankHolds& rank : problem_.holds) {
    double state = 0;
    for (std::size_t i = 0; i < rank.stages.size(); ++i) {
      state += of(chain_.state_bytes, rank.stages[i]) +
               rank.older[i] * of(chain_.parameter_bytes, rank.stages[i]);
    }
    for (std::size_t running = 0; running < rank.stages.size(); ++running) {
      const std::uint32_t own = rank.stages[running];
      const double beside = state + pass_memory(chain_, cuts[own], cuts[own + 1]);
      for (const std::vector<std::uint32_t>& moment : rank.most[running]) {
        double all = beside;
        for (std::size_t i = 0; i < moment.size(); ++i) {
          all += moment[i] * of(chain_.stash_bytes, rank.stages[i]);
        }
        if (all > problem_.rank_bytes) return false;
      }
    }
  }
  for (std::uint32_t s = 0; s < stages_ && problem_.holds.empty(); ++s) {
    if (!fits(cuts[s], cuts[s + 1], s)) return false;
  }
  return true;
}

Time CutJudge::time_of(std::span<const std::uint32_t> cuts) {
  if (!fits(cuts)) return max_time;
  const std::optional<Time> walked = walk_ ? (*walk_)(cuts) : std::nullopt;
  return walked ? *walked : engine_(cuts);  // which refuses times that the clock cannot hold
}

bool CutJudge::take(std::span<const std::uint32_t> cuts, bool or_as_good, SimulatedCuts& best) {
  const Time bound = time_of(cuts);
  if (bound > best.time || bound == max_time || (bound == best.time && !or_as_good)) return false;
  const Time time = walk_ ? engine_(cuts) : bound;
  if (time > best.time || (time == best.time && !or_as_good)) return false;
  best = {{cuts.begin(), cuts.end()}, time};
  return true;
}

StageTimes::StageTimes(const CutProblem& problem, const CutChain& chain)
    : us_{prefix_us(problem, &CutLayer::forward_s), prefix_us(problem, &CutLayer::backward_s),
          prefix_us(problem, &CutLayer::input_s), prefix_us(problem, &CutLayer::weight_s)},
      boundary_bytes_(chain.boundary_bytes),
      transfer_(chain.boundary_bytes.size()),
      slowness_(problem.slowness) {
  if (problem.transfers == CutTransfers::none) return;
  links_ = problem.links;
  latency_ = from_us(problem.latency_s * 1e6);
  if (!problem.bandwidth_bytes_per_s) return;
  for (std::size_t i = 0; i < transfer_.size(); ++i) {
    transfer_[i] = from_us(chain.boundary_bytes[i] / *problem.bandwidth_bytes_per_s * 1e6);
  }
}

Time StageTimes::transfer(std::uint32_t position, const CutLink* link) const {
  if (link == nullptr) return transfer_[position];
  if (!link->bandwidth_bytes_per_s) return {};
  return from_us(boundary_bytes_[position] / *link->bandwidth_bytes_per_s * 1e6);
}

Time StageTimes::latency(const CutLink* link) const {
  return link == nullptr ? latency_ : from_us(link->latency_s * 1e6);
}

const CutLink* StageTimes::link(Rank from, Rank to) const {
  const auto found = std::ranges::find_if(
      links_, [&](const CutLink& one) { return one.from == from && one.to == to; });
  return found == links_.end() ? nullptr : &*found;
}

std::vector<LinksOfBoundary> StageTimes::links_of_boundaries(std::uint32_t ranks) const {
  std::vector<LinksOfBoundary> all;
  for (std::uint32_t rank = 1; rank < ranks; ++rank) {
    all.push_back({link(Rank{rank - 1}, Rank{rank}), link(Rank{rank}, Rank{rank - 1})});
  }
  return all;
}

Time StageTimes::on(Rank rank, Time usual) const {
  return slowness_.empty() ? usual : scaled(usual, slowness_[index(rank)]);
}

EngineTimes::EngineTimes(const CutProblem& problem, const StageTimes& times, std::uint32_t stages)
    : times_(times) {
  priced_.plan = plan_of(problem, stages);
  for (const WorkClass& work : priced_.plan.classes) {
    const bool sends = passes_on(work.pass);
    const Link ends = sends ? priced_.plan.link(work.resource) : Link{};
    const CutLink* const link =
        links_.emplace_back(sends ? times.link(ends.from, ends.to) : nullptr);
    priced_.costs.duration.emplace_back();
    priced_.costs.latency.push_back(sends ? times.latency(link) : Time{});
  }
}

Time EngineTimes::duration_of(std::size_t number, std::uint32_t begin, std::uint32_t end) const {
  const WorkClass& work = priced_.plan.classes[number];
  if (passes_on(work.pass)) {
    return times_.transfer(work.pass == Pass::send_activation ? end : begin, links_[number]);
  }
  const Time usual = time_of_layers(work.pass, begin, end, times_);
  return priced_.plan.is_link(work.resource) ? usual : times_.on(Rank{work.resource}, usual);
}

Time EngineTimes::operator()(std::span<const std::uint32_t> cuts) {
  ++runs_;
  const Plan& plan = priced_.plan;
  for (std::size_t work = 0; work < plan.classes.size(); ++work) {
    const std::uint32_t stage = plan.model_stage[index(plan.classes[work].stage)];
    priced_.costs.duration[work] = duration_of(work, cuts[stage], cuts[stage + 1]);
  }
  check_clock(plan, priced_.costs, "/model");
  timeline_ = relax(priced_, std::move(timeline_));
  return makespan(plan, timeline_);
}

OneFOneBTimes::OneFOneBTimes(const StageTimes& times, std::uint32_t stages,
                             std::uint32_t microbatches)
    : times_(times),
      stages_(stages),
      microbatches_(microbatches),
      links_(times.links_of_boundaries(stages)),
      state_(stages),
      arrivals_(std::size_t{stages} * microbatches) {
  std::vector<Progress> progress(stages);
  const std::size_t all = std::size_t{2} * stages * microbatches;
  while (steps_.size() < all) {
    for (std::uint32_t s = 0; s < stages; ++s) {
      Progress& own = progress[s];
      const std::uint32_t warm_up = std::min(microbatches, stages - s - 1);
      while (own.backwards < microbatches) {
        const bool backward = backward_is_next(own, warm_up, microbatches);
        if (backward && s + 1 < stages && progress[s + 1].backwards <= own.backwards) break;
        if (!backward && s > 0 && progress[s - 1].forwards <= own.forwards) break;
        std::uint32_t& count = backward ? own.backwards : own.forwards;
        steps_.push_back({s, count++, backward});
      }
    }
  }
}

void OneFOneBTimes::forward(const Step& step) {
  Stage& own = state_[step.stage];
  std::int64_t& arrived = arrival(step);
  const std::int64_t end = std::max(own.free, arrived) + own.forward;
  own.free = end;
  arrived = end;  // of the last stage: its gradient is there
  if (step.stage + 1 == stages_) return;
  own.forward_link_free = std::max(own.forward_link_free, end) + own.sent;
  arrivals_[(step.stage + 1) * microbatches_ + step.microbatch] =
      own.forward_link_free + times_.latency(links_[step.stage].there).picoseconds;
}

void OneFOneBTimes::backward(const Step& step) {
  Stage& own = state_[step.stage];
  const std::int64_t end = std::max(own.free, arrival(step)) + own.backward;
  own.free = end;
  if (step.stage == 0) return;
  own.backward_link_free = std::max(own.backward_link_free, end) + state_[step.stage - 1].sent_back;
  arrivals_[(step.stage - 1) * microbatches_ + step.microbatch] =
      own.backward_link_free + times_.latency(links_[step.stage - 1].back).picoseconds;
}

std::optional<Time> OneFOneBTimes::operator()(std::span<const std::uint32_t> cuts) {
  const auto number = [](std::int64_t time) { return static_cast<double>(time); };
  double all = 0;  // of a microbatch
  for (std::uint32_t s = 0; s < stages_; ++s) {
    const auto links = s + 1 < stages_ ? links_[s] : LinksOfBoundary{};
    const auto takes = [&](Pass pass) {
      return times_.on(Rank{s}, times_.of(pass, cuts[s], cuts[s + 1])).picoseconds;
    };
    state_[s] = {.forward = takes(Pass::forward),
                 .backward = takes(Pass::backward),
                 .sent = times_.transfer(cuts[s + 1], links.there).picoseconds,
                 .sent_back = times_.transfer(cuts[s + 1], links.back).picoseconds,
                 .free = 0,
                 .forward_link_free = 0,
                 .backward_link_free = 0};
    const Stage& own = state_[s];
    all += number(own.forward) + number(own.backward) + number(own.sent) + number(own.sent_back) +
           number(times_.latency(links.there).picoseconds) +
           number(times_.latency(links.back).picoseconds);
  }
  if (all * microbatches_ > max_picoseconds) return std::nullopt;
  std::fill_n(arrivals_.begin(), microbatches_, 0);
  for (const Step& step : steps_) step.backward ? backward(step) : forward(step);
  std::int64_t last = 0;
  for (const Stage& stage : state_) last = std::max(last, stage.free);
  return Time{last};
}

}  // namespace penstock
