#include "validate/ranks/rank_body.hpp"

#include <algorithm>
#include <cmath>

#include "validate/machine/busy_kernel.hpp"

namespace penstock {
namespace {

/// Words of each transfer's tensor for busy kernels: those of the job's largest tensor, limited by
/// the space of all boxes. The job states how long a tensor takes, so its size may be smaller.
std::size_t busy_tensor_words(const Job& job) {
  constexpr std::uint64_t most_words = std::uint64_t{1} << 23;
  std::uint64_t bytes = 0;
  const std::size_t classes = job.priced.plan.classes.size();
  for (std::size_t work = 0; work < classes; ++work) {
    bytes = std::max(bytes, job.tensor_bytes(work));
  }
  const std::uint64_t room = most_words / std::max<std::uint64_t>(job.priced.plan.tasks(), 1);
  return std::clamp<std::uint64_t>(bytes / 8, 1,
                                   std::min<std::uint64_t>(job.most_tensor_words, room));
}

std::variant<BusyBody, LayeredBody> body_of(const Job& job, Rank rank, const BusySteps& steps,
                                            const std::vector<std::size_t>& words) {
  if (job.layers) return LayeredBody(job, rank, words);
  return BusyBody(job.priced.plan, steps, busy_tensor_words(job));
}

}  // namespace

std::vector<std::size_t> tensor_words(const Job& job) {
  if (job.layers) return layered_tensor_words(job);
  std::vector<std::size_t> words(job.priced.plan.tasks());
  const std::size_t of_each = busy_tensor_words(job);
  for (TaskId task = 0; task < job.priced.plan.tasks(); ++task) {
    if (is_transfer(job.priced.plan.class_of(task).pass)) words[task] = of_each;
  }
  return words;
}

RankBody::RankBody(const Job& job, Rank rank, const BusySteps& steps,
                   const std::vector<std::size_t>& words)
    : body_(body_of(job, rank, steps, words)) {}

BusySteps busy_steps(const Job& job) {
  const double steps_per_ns = spin_steps_per_ns();
  const auto counted = [&](const std::vector<Time>& times) {
    std::vector<std::uint64_t> steps;
    for (const Time time : times) {
      const double ns = static_cast<double>(std::max<std::int64_t>(to_ns(time), 0));
      steps.push_back(static_cast<std::uint64_t>(std::llround(ns * steps_per_ns)));
    }
    return steps;
  };
  return {counted(job.priced.costs.duration), counted(job.priced.costs.task_duration)};
}

BusyBody::BusyBody(const Plan& plan, const BusySteps& steps, std::size_t words)
    : plan_(&plan), steps_(&steps), received_(words), made_(words) {}

void BusyBody::spin_for(std::uint64_t steps) { seed_ = spin(steps, seed_); }

std::span<const std::uint64_t> BusyBody::made(const Step&, const TensorSend&) {
  std::uint64_t value = seed_;
  for (std::uint64_t& word : made_) word = value += 0x9e37'79b9'7f4a'7c15U;
  return made_;
}

}  // namespace penstock
