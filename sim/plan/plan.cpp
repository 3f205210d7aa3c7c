#include "sim/plan/plan.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "sim/order/communication.hpp"

namespace penstock {
namespace {

/// What the transfers of one link have waited for so far.
struct Feed {
  std::uint32_t rank = UINT32_MAX;
  std::uint32_t link = UINT32_MAX;
  TaskId last_action = 0;
  TaskId last_transfer = 0;
  bool of_several = false;  // ranks or links

  bool follows(const Feed& last) const {
    return !of_several && !last.of_several && rank == last.rank && link == last.link &&
           last_action >= last.last_action && last_transfer >= last.last_transfer;
  }
};

/// What a transfer waits for. An early reduction becomes ready with the action behind its maker, so
/// transfers that both wait for cannot change its place.
Feed feed_of(const Plan& plan, const std::vector<std::uint32_t>& resource_of_class,
             TaskId transfer) {
  Feed feed;
  const bool early = plan.class_of(transfer).pass == Pass::reduce_early;
  plan.for_each_input(transfer, [&](TaskId input) {
    const std::uint32_t resource = resource_of_class[plan.work[input]];
    const bool from_link = plan.is_link(resource);
    if (early && from_link) return;
    std::uint32_t& seen = from_link ? feed.link : feed.rank;
    feed.of_several = feed.of_several || (seen != UINT32_MAX && seen != resource);
    seen = resource;
    (from_link ? feed.last_transfer : feed.last_action) = input;
  });
  return feed;
}

}  // namespace

std::string_view name(BufferKind kind) {
  constexpr std::array<std::string_view, buffer_kinds> names{
      "parameters", "stash",       "receive",        "gradient",  "gradients",
      "optimizer",  "versions",    "pending weight", "workspace", "recomputed",
      "context",    "stash for I", "gathered"};
  return names[static_cast<std::size_t>(kind)];
}

std::string text(const Link& link) { return end_text(link.from) + ">" + end_text(link.to); }

ResourceOrders resource_orders(const Plan& plan) {
  ResourceOrders orders;
  orders.first.assign(std::size_t{plan.resources()} + 1, 0);
  for (const std::uint32_t work : plan.work) ++orders.first[plan.classes[work].resource + 1];
  for (std::size_t r = 1; r < orders.first.size(); ++r) orders.first[r] += orders.first[r - 1];
  std::vector<std::uint32_t> next(orders.first.begin(), orders.first.end() - 1);
  orders.tasks.resize(plan.tasks());
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    orders.tasks[next[plan.class_of(task).resource]++] = task;
  }
  return orders;
}

Schedule order_of(const Plan& plan) {
  Schedule order(plan.ranks);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (plan.is_link(work.resource) || work.pass == Pass::update) continue;
    std::vector<Action>& row = order.on(Rank{work.resource});
    if (work.follows_partner) row.back().with_next = true;
    row.emplace_back(work.pass, work.stage, plan.microbatch[task]);
  }
  return order;
}

std::string end_text(Rank end) {
  if (end == host_memory) return "host";
  return end == data_replicas ? "data" : std::to_string(index(end));
}

std::string end_phrase(Rank end) {
  if (end == host_memory) return "host memory";
  if (end == data_replicas) return "the data replicas";
  return "rank " + std::to_string(index(end));
}

std::vector<bool> links_in_one_order(const Plan& plan) {
  // Contiguous resources of the classes; the classes themselves are large.
  std::vector<std::uint32_t> resource_of_class;
  for (const WorkClass& work : plan.classes) resource_of_class.push_back(work.resource);
  std::vector<Feed> feeds(plan.links.size());
  std::vector<std::uint8_t> fed(plan.links.size());
  std::vector<bool> one_order(plan.links.size(), true);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t resource = resource_of_class[plan.work[task]];
    if (!plan.is_link(resource)) continue;
    const std::uint32_t link = resource - plan.ranks;
    const Feed next = feed_of(plan, resource_of_class, task);
    if (fed[link] != 0 && !next.follows(feeds[link])) one_order[link] = false;
    feeds[link] = next;
    fed[link] = 1;
  }
  return one_order;
}

bool waits_beyond_makers(const Plan& plan) {
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (!passes_on(plan.class_of(task).pass)) continue;
    const TaskId input = plan.input[task];
    if (input == no_task) continue;
    if (input >= Plan::several || plan.is_link(plan.class_of(input).resource)) return true;
  }
  return false;
}

bool is_exchange(const Plan& plan, const WorkClass& work) {
  if (!passes_on(work.pass)) return false;
  const Link& link = plan.link(work.resource);
  return link.from == link.to;
}

bool has_exchanges(const Plan& plan) {
  return std::ranges::any_of(plan.classes,
                             [&](const WorkClass& work) { return is_exchange(plan, work); });
}

std::string_view word_of(const Plan& plan, const WorkClass& work) {
  if (!is_exchange(plan, work)) return letters(work.pass);
  return comm_words[static_cast<std::size_t>(
      work.pass == Pass::send_gradient ? Comm::exchange_backward : Comm::exchange_forward)];
}

std::string task_text(const Plan& plan, TaskId task) {
  if (!plan.class_names.empty()) return plan.class_names[plan.work[task]];
  const WorkClass& work = plan.class_of(task);
  const std::string action = std::to_string(index(work.stage)).append(word_of(plan, work)) +
                             std::to_string(index(plan.microbatch[task]));
  if (plan.modules.empty() || plan.modules[index(work.stage)].empty()) return action;
  return plan.modules[index(work.stage)] + ":" + action;
}

PlanHash::PlanHash(const Plan& plan) {
  add(plan.ranks);
  add(plan.microbatches);
  for (const Link& link : plan.links) {
    add(index(link.from));
    add(index(link.to));
  }
  for (const WorkClass& work : plan.classes) {
    add(static_cast<std::uint32_t>(work.pass) + (work.recomputes ? 0x100U : 0U));
    add(index(work.stage));
    add(work.resource);
    add(work.buffer);
    add(work.partner);
    for (const MemoryEffect& effect : work.effects) {
      add(effect.buffer);
      add((effect.at_end ? 2U : 0U) + (effect.takes ? 1U : 0U));
    }
  }
  for (const BufferClass& buffer : plan.buffers) {
    add(static_cast<std::uint32_t>(buffer.kind));
    add(index(buffer.stage));
    add(index(buffer.rank));
  }
  add_all(plan.model_stage);
}

std::uint64_t plan_hash(const Plan& plan) {
  PlanHash hash(plan);
  hash.add_all(plan.work);
  hash.add_all(plan.microbatch);
  hash.add_all(plan.input);
  hash.add_all(plan.inputs);
  return hash.value();
}

}  // namespace penstock
