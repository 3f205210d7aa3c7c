#include "sim/costs/chance.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/base/random.hpp"
#include "sim/costs/scaled_time.hpp"

namespace penstock {
namespace {

void check_rank(const Plan& plan, Rank rank, const std::string& where) {
  if (index(rank) < plan.ranks) return;
  throw InputError(where,
                   fmt::format("unknown rank {}; ranks are 0 to {}", index(rank), plan.ranks - 1));
}

void check_ranks(const Plan& plan, const Chance& chance) {
  for (std::size_t i = 0; i < chance.stragglers.size(); ++i) {
    check_rank(plan, chance.stragglers[i].rank, fmt::format("/chance/stragglers/{}/rank", i));
  }
  for (std::size_t i = 0; i < chance.slow_links.size(); ++i) {
    check_rank(plan, chance.slow_links[i].from, fmt::format("/chance/slow_links/{}/from", i));
    check_rank(plan, chance.slow_links[i].to, fmt::format("/chance/slow_links/{}/to", i));
  }
}

/// The duration factor of each task, relative to its class.
class Factors {
 public:
  Factors(const Plan& plan, const Chance& chance, std::uint32_t number)
      : plan_(plan), chance_(chance), number_(number), stragglers_(plan.ranks) {
    for (const Straggler& one : chance.stragglers) {
      if (one.replica.value_or(chance.replica) != chance.replica) continue;
      stragglers_[index(one.rank)].push_back(one);
    }
    std::map<std::pair<Rank, Rank>, double> factor;
    for (const SlowLink& one : chance.slow_links) {
      factor.try_emplace({one.from, one.to}, 1).first->second *= one.factor;
    }
    for (const Link& link : plan.links) {
      const auto found = factor.find({link.from, link.to});
      slow_links_.push_back(found == factor.end() ? 1 : found->second);
    }
  }

  double of(TaskId task) const {
    const WorkClass& work = plan_.class_of(task);
    if (!plan_.is_link(work.resource)) {
      return of_action(task) * slowness(Rank{work.resource}, plan_.microbatch[task]);
    }
    return lognormal(task, chance_.transfer_jitter) * slow_links_[work.resource - plan_.ranks];
  }

 private:
  /// 64 random bits of a task. The counter is the task key and the draw number; the key is the seed
  /// with the data replica above it.
  std::uint64_t bits(TaskId task) const {
    const WorkClass& work = plan_.class_of(task);
    const Rank rank =
        plan_.is_link(work.resource) ? plan_.link(work.resource).from : Rank{work.resource};
    static_assert(pass_count <= 16);
    const std::uint64_t key = chance_.seed ^ (std::uint64_t{chance_.replica} << 53);
    const auto random =
        philox({index(work.stage), index(rank), index(plan_.microbatch[task]),
                number_ << 4 | static_cast<std::uint32_t>(work.pass)},
               {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)});
    return std::uint64_t{random[0]} << 32 | random[1];
  }

  double of_action(TaskId task) const {
    if (chance_.samples.empty()) return lognormal(task, chance_.jitter);
    return chance_.samples[(bits(task) >> 32) * chance_.samples.size() >> 32];
  }

  double slowness(Rank rank, Microbatch microbatch) const {
    double factor = 1;
    for (const Straggler& one : stragglers_[index(rank)]) {
      if (one.from <= microbatch && microbatch < one.until) factor *= one.factor;
    }
    return factor;
  }

  double lognormal(TaskId task, double sigma) const {
    if (sigma == 0) return 1;
    return portable_exp(sigma * normal_quantile(uniform(bits(task))) - sigma * sigma / 2);
  }

  const Plan& plan_;
  const Chance& chance_;
  std::uint32_t number_;
  std::vector<std::vector<Straggler>> stragglers_;  // by rank
  std::vector<double> slow_links_;                  // by link: its factor
};

}  // namespace

Costs draw(const Plan& plan, const Costs& costs, const Chance& chance, std::uint32_t number) {
  check_ranks(plan, chance);
  if (chance.changes_nothing()) return costs;
  const Factors factors(plan, chance, number);
  Costs drawn = costs;
  drawn.task_duration.resize(plan.tasks());
  drawn.task_latency.resize(plan.tasks());
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const double factor = plan.class_of(task).follows_partner ? 1 : factors.of(task);
    drawn.task_duration[task] = scaled(costs.duration_of(plan, task), factor);
    drawn.task_latency[task] = scaled(costs.latency_of(plan, task), factor);
  }
  check_clock(plan, drawn, "/chance");
  return drawn;
}

}  // namespace penstock
