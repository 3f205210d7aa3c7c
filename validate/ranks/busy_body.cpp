#include "validate/ranks/busy_body.hpp"

#include <algorithm>
#include <cmath>

#include "validate/machine/busy_kernel.hpp"

namespace penstock {

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
