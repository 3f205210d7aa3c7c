#include "sim/plan/by_microbatch.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace penstock {
namespace {

constexpr std::uint32_t none = UINT32_MAX;

bool shared_by_all(const WorkClass& work) {
  return is_tail(work.pass) || work.pass == Pass::update;
}

/// Copies classes and buffers of a plan at their first use by a microbatch.
class Copies {
 public:
  explicit Copies(const Plan& plain) : plain_(plain) {
    for (const Microbatch m : plain.microbatch) rows_ = std::max(rows_, index(m) + 1);
    made_.plan = plain;
    made_.plan.classes.clear();
    made_.plan.buffers.clear();
    classes_.assign(plain.classes.size() * rows_, none);
    buffers_.assign(plain.buffers.size() * rows_, none);
    for (std::uint32_t b = 0; b < plain.buffers.size(); ++b) {
      if (for_whole_run(plain.buffers[b].kind)) buffer(b, Microbatch{0});
    }
  }

  MicrobatchPlan all() {
    std::vector<std::uint32_t>& work = made_.plan.work;
    for (TaskId task = 0; task < plain_.tasks(); ++task) {
      const WorkClass& own = plain_.class_of(task);
      if (own.partner == UINT32_MAX) {
        work[task] = class_of(plain_.work[task], plain_.microbatch[task]);
      } else if (!own.follows_partner) {
        std::tie(work[task], work[task + 1]) = cell(task);
      }
    }
    return std::move(made_);
  }

 private:
  std::uint32_t class_of(std::uint32_t plain, Microbatch microbatch) {
    const bool shared = shared_by_all(plain_.classes[plain]);
    std::uint32_t& known = classes_[plain * std::size_t{rows_} + (shared ? 0 : index(microbatch))];
    if (known == none) {
      known = add(plain, microbatch);
      if (shared) made_.classes.back().microbatch.reset();
    }
    return known;
  }

  /// The two classes of a fused cell, which hold for this pair of microbatches.
  std::pair<std::uint32_t, std::uint32_t> cell(TaskId first) {
    const std::uint32_t plain = plain_.work[first];
    const Microbatch one = plain_.microbatch[first], two = plain_.microbatch[first + 1];
    const auto [known, is_new] = cells_.try_emplace({plain, index(one), index(two)});
    if (!is_new) return known->second;
    const std::uint32_t leads = add(plain, one);
    const std::uint32_t follows = add(plain_.work[first + 1], two);
    made_.plan.classes[leads].partner = follows;
    made_.plan.classes[follows].partner = leads;
    made_.classes[leads].partner = two;
    made_.classes[follows].partner = one;
    return known->second = {leads, follows};
  }

  std::uint32_t add(std::uint32_t plain, Microbatch microbatch) {
    WorkClass work = plain_.classes[plain];
    if (work.buffer != UINT32_MAX) work.buffer = buffer(work.buffer, microbatch);
    for (MemoryEffect& effect : work.effects) effect.buffer = buffer(effect.buffer, microbatch);
    made_.plan.classes.push_back(std::move(work));
    made_.classes.push_back({.plain = plain, .microbatch = microbatch, .partner = {}});
    return static_cast<std::uint32_t>(made_.plan.classes.size() - 1);
  }

  std::uint32_t buffer(std::uint32_t plain, Microbatch microbatch) {
    const bool shared = of_all_microbatches(plain_.buffers[plain].kind);
    std::uint32_t& known = buffers_[plain * std::size_t{rows_} + (shared ? 0 : index(microbatch))];
    if (known != none) return known;
    known = static_cast<std::uint32_t>(made_.plan.buffers.size());
    made_.plan.buffers.push_back(plain_.buffers[plain]);
    made_.buffers.push_back(
        {plain, shared ? std::nullopt : std::optional(microbatch), std::nullopt});
    return known;
  }

  const Plan& plain_;
  std::uint32_t rows_ = 1;  // microbatches
  MicrobatchPlan made_;
  std::vector<std::uint32_t> classes_, buffers_;  // by class or buffer of `plain_`, microbatch
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>,
           std::pair<std::uint32_t, std::uint32_t>>
      cells_;  // by class of the first part, both microbatches
};

Plan classes_alone(const Plan& plan) {
  Plan alone;
  alone.schedule = plan.schedule;
  alone.ranks = plan.ranks;
  alone.microbatches = plan.microbatches;
  alone.links = plan.links;
  alone.classes = plan.classes;
  alone.buffers = plan.buffers;
  alone.model_stage = plan.model_stage;
  for (WorkClass& work : alone.classes) {
    work.partner = UINT32_MAX;
    work.follows_partner = false;
  }
  return alone;
}

}  // namespace

MicrobatchPlan by_microbatch(const Plan& plain) {
  MicrobatchPlan made = Copies(plain).all();
  made.plain = classes_alone(plain);
  return made;
}

}  // namespace penstock
