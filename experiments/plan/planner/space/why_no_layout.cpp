#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>

#include "experiments/input/files/table.hpp"
#include "experiments/plan/planner/space/layout_space.hpp"

namespace penstock {
namespace {

using Degree = std::uint32_t LayoutChoice::*;

const std::map<std::string, Degree, std::less<>>& degrees_by_pointer() {
  static const std::map<std::string, Degree, std::less<>> degrees{
      {"/parallel/pipeline", &LayoutChoice::pipeline},
      {"/parallel/tensor", &LayoutChoice::tensor},
      {"/parallel/data", &LayoutChoice::data},
      {"/parallel/context", &LayoutChoice::context},
      {"/parallel/expert", &LayoutChoice::expert},
      {"/model/microbatch", &LayoutChoice::microbatch},
      {"/schedule/microbatches", &LayoutChoice::microbatches}};
  return degrees;
}

/// The numbers or names that layouts of a space have at a pointer.
std::vector<std::string> values_in(const LayoutSpace& space, const std::string& pointer) {
  if (pointer == "/partition/name") return space.partitions;
  std::vector<std::string> names;
  if (pointer == "/schedule/name") {
    for (const OrderChoice& order : space.orders) {
      if (order.why_not == nullptr) names.emplace_back(order.rule->name);
    }
  }
  if (pointer == "/codec/link") {
    for (const auto& link : space.links) names.push_back(link ? link->name : "none");
  }
  std::vector<std::uint32_t> numbers;
  if (const auto degree = degrees_by_pointer().find(pointer);
      degree != degrees_by_pointer().end()) {
    for (const LayoutChoice& one : space.degrees) numbers.push_back(one.*degree->second);
  }
  if (pointer == "/parallel/expert_tensor") {
    for (const LayoutChoice& one : space.degrees) {
      numbers.push_back(one.expert_tensor.value_or(one.tensor));
    }
  }
  if (pointer == "/parallel/chunks") {
    for (const OrderChoice& order : space.orders) numbers.push_back(order.chunks);
  }
  if (pointer == "/memory/zero") numbers = space.zeros;
  std::sort(numbers.begin(), numbers.end());
  for (const std::uint32_t number : numbers) names.push_back(std::to_string(number));
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

/// The layouts under other restrictions.
LayoutSpace space_with(const TrainingTask& task, SpaceOptions options, const Restrictions& only) {
  options.only = only;
  return space_of(task, options);
}

std::string of_one(const TrainingTask& task, const SpaceOptions& options,
                   const Restrictions& restriction) {
  const std::string pointer = restriction.pointers().front();
  auto values = values_in(space_with(task, options, {}), pointer);
  std::erase_if(values, [&](const std::string& value) {
    return space_with(task, options, Restrictions({pointer + "=" + value})).legal == 0;
  });
  std::string text = fmt::format("{} leaves none", restriction.text());
  if (!values.empty()) text += fmt::format("; legal: {}", fmt::join(values, ", "));
  return text + (pointer == "/partition/name" ? "; --partitions adds others" : "");
}

}  // namespace

std::string why_no_layout(const TrainingTask& task, const SpaceOptions& options) {
  const std::vector<Restrictions> each = options.only.each();
  if (each.empty() || space_with(task, options, {}).legal == 0) {
    const LayoutSpace space = space_with(task, options, {});
    return space.excluded.empty() ? "no degrees multiply to the devices"
                                  : space.excluded.front().rule;
  }
  for (const Restrictions& one : each) {
    if (space_with(task, options, one).legal == 0) return of_one(task, options, one);
  }
  std::vector<std::string> without;
  const std::vector<Restrictions> rest = options.only.all_but_each();
  for (std::size_t i = 0; i < each.size(); ++i) {
    const std::uint64_t legal = space_with(task, options, rest[i]).legal;
    if (legal == 0) continue;
    without.push_back(fmt::format("without {}: {}", each[i].text(), counted(legal, "layout")));
  }
  return fmt::format("{} leave none together{}{}", options.only.text(), without.empty() ? "" : "; ",
                     fmt::join(without, ", "));
}

}  // namespace penstock
