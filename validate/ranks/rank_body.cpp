#include "validate/ranks/rank_body.hpp"

namespace penstock {
namespace {

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

void RankBody::add_numbers(TrainedNumbers& numbers) const {
  if (const auto* layered = std::get_if<LayeredBody>(&body_)) layered->add_numbers(numbers);
}

void RankBody::add_layer_times(TimesOfLayers& times) const {
  if (const auto* layered = std::get_if<LayeredBody>(&body_)) layered->add_layer_times(times);
}

void RankBody::add_coding(CodingNumbers& coding) const {
  if (const auto* layered = std::get_if<LayeredBody>(&body_)) layered->add_coding(coding);
}

}  // namespace penstock
