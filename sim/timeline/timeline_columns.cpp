#include "sim/timeline/timeline_columns.hpp"

#include <fmt/format.h>

#include <initializer_list>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

void take_apart_classes(const Plan& plan, TimelineColumns& columns) {
  for (const WorkClass& work : plan.classes) {
    columns.class_pass.push_back(static_cast<std::uint8_t>(work.pass));
    columns.class_stage.push_back(index(work.stage));
    columns.class_resource.push_back(work.resource);
    columns.class_buffer.push_back(work.buffer);
    columns.class_partner.push_back(work.partner);
    columns.class_follows.push_back(work.follows_partner ? 1 : 0);
    columns.class_recomputes.push_back(work.recomputes ? 1 : 0);
    columns.class_effects.push_back(static_cast<std::uint32_t>(work.effects.size()));
    for (const MemoryEffect& effect : work.effects) {
      columns.effect_buffer.push_back(effect.buffer);
      columns.effect_at_end.push_back(effect.at_end ? 1 : 0);
      columns.effect_takes.push_back(effect.takes ? 1 : 0);
    }
  }
}

template <class... Values>
[[noreturn]] void refuse_column(std::string_view section, fmt::format_string<Values...> text,
                                Values&&... values) {
  refuse_section(section, fmt::format(text, std::forward<Values>(values)...));
}

std::uint64_t only(std::string_view section, const auto& column) {
  if (column.size() != 1) refuse_column(section, "it has {} elements; must have 1", column.size());
  return column.front();
}

void check_equal(std::string_view section, std::initializer_list<std::size_t> counts) {
  for (const std::size_t count : counts) {
    if (count == *counts.begin()) continue;
    refuse_column(section, "it has {} elements and a parallel column {}", *counts.begin(), count);
  }
}

bool flag(std::string_view section, std::uint8_t value) {
  if (value > 1) refuse_column(section, "{} is neither 0 nor 1", value);
  return value == 1;
}

std::vector<MemoryEffect> effects_from(const TimelineColumns& columns, std::size_t first,
                                       std::size_t end) {
  std::vector<MemoryEffect> effects;
  for (std::size_t e = first; e < end; ++e) {
    effects.push_back({columns.effect_buffer[e], flag("effect_at_end", columns.effect_at_end[e]),
                       flag("effect_takes", columns.effect_takes[e])});
  }
  return effects;
}

std::vector<WorkClass> classes_from(const TimelineColumns& columns) {
  const std::size_t effects = columns.effect_buffer.size();
  check_equal("class_pass", {columns.class_pass.size(), columns.class_stage.size(),
                             columns.class_resource.size(), columns.class_buffer.size(),
                             columns.class_partner.size(), columns.class_follows.size(),
                             columns.class_recomputes.size(), columns.class_effects.size()});
  check_equal("effect_buffer",
              {effects, columns.effect_at_end.size(), columns.effect_takes.size()});
  std::vector<WorkClass> classes;
  std::size_t effect = 0;
  for (std::size_t c = 0; c < columns.class_pass.size(); ++c) {
    const std::size_t first = effect;
    effect += columns.class_effects[c];
    if (effect > effects) break;
    classes.push_back({.pass = Pass{columns.class_pass[c]},
                       .stage = Stage{columns.class_stage[c]},
                       .resource = columns.class_resource[c],
                       .buffer = columns.class_buffer[c],
                       .partner = columns.class_partner[c],
                       .follows_partner = flag("class_follows", columns.class_follows[c]),
                       .recomputes = flag("class_recomputes", columns.class_recomputes[c]),
                       .effects = effects_from(columns, first, effect)});
  }
  if (effect != effects)
    refuse_column("class_effects", "its sum is not the number of effects, {}", effects);
  return classes;
}

/// Fills in what a plan has besides the columns read into it.
void complete_plan(const TimelineColumns& columns, Plan& plan) {
  plan.ranks = static_cast<std::uint32_t>(only("ranks", columns.ranks));
  plan.microbatches = static_cast<std::uint32_t>(only("microbatches", columns.microbatches));
  check_equal("link_from", {columns.link_from.size(), columns.link_to.size()});
  for (std::size_t l = 0; l < columns.link_from.size(); ++l) {
    plan.links.push_back({Rank{columns.link_from[l]}, Rank{columns.link_to[l]}});
  }
  plan.classes = classes_from(columns);
  check_equal("buffer_kind", {columns.buffer_kind.size(), columns.buffer_stage.size(),
                              columns.buffer_rank.size()});
  for (std::size_t b = 0; b < columns.buffer_kind.size(); ++b) {
    plan.buffers.push_back({BufferKind{columns.buffer_kind[b]}, Stage{columns.buffer_stage[b]},
                            Rank{columns.buffer_rank[b]}});
  }
}

std::map<std::string, std::string> environment_from(const TimelineColumns& columns) {
  const std::vector<std::uint32_t>& lengths = columns.environment_lengths;
  std::string_view rest = columns.environment_text;
  const auto take = [&](std::size_t length) {
    if (length > rest.size()) refuse_column("environment_text", "it is too short for its lengths");
    std::string taken(rest.substr(0, length));
    rest.remove_prefix(length);
    return taken;
  };
  if (lengths.size() % 2 != 0) refuse_column("environment_lengths", "a key has no value");
  std::map<std::string, std::string> environment;
  for (std::size_t i = 0; i < lengths.size(); i += 2) {
    const std::string key = take(lengths[i]);
    const bool is_new = environment.emplace(key, take(lengths[i + 1])).second;
    if (!is_new) refuse_column("environment_text", "the key {} occurs twice", key);
  }
  if (!rest.empty()) refuse_column("environment_text", "it is longer than its lengths say");
  return environment;
}

void complete_timeline(const TimelineColumns& columns, Timeline& timeline) {
  timeline.iteration = static_cast<std::uint32_t>(only("iteration", columns.iteration));
  timeline.environment = environment_from(columns);
  check_equal("memory_rank", {columns.memory_rank.size(), columns.memory_time.size(),
                              columns.memory_bytes.size()});
  timeline.memory.reserve(columns.memory_rank.size());
  for (std::size_t i = 0; i < columns.memory_rank.size(); ++i) {
    timeline.memory.push_back(
        {Rank{columns.memory_rank[i]}, columns.memory_time[i], columns.memory_bytes[i]});
  }
}

}  // namespace

TimelineColumns take_apart(const Plan& plan, const Timeline& timeline, std::string_view title) {
  TimelineColumns columns;
  columns.title = title;
  for (const auto& [key, value] : timeline.environment) {
    columns.environment_lengths.push_back(static_cast<std::uint32_t>(key.size()));
    columns.environment_lengths.push_back(static_cast<std::uint32_t>(value.size()));
    columns.environment_text += key + value;
  }
  columns.plan_hash = {plan_hash(plan)};
  columns.ranks = {plan.ranks};
  columns.microbatches = {plan.microbatches};
  columns.iteration = {timeline.iteration};
  for (const Link& link : plan.links) {
    columns.link_from.push_back(index(link.from));
    columns.link_to.push_back(index(link.to));
  }
  take_apart_classes(plan, columns);
  for (const BufferClass& buffer : plan.buffers) {
    columns.buffer_kind.push_back(static_cast<std::uint8_t>(buffer.kind));
    columns.buffer_stage.push_back(index(buffer.stage));
    columns.buffer_rank.push_back(index(buffer.rank));
  }
  for (const MemorySample& sample : timeline.memory) {
    columns.memory_rank.push_back(index(sample.rank));
    columns.memory_time.push_back(sample.time);
    columns.memory_bytes.push_back(sample.bytes);
  }
  return columns;
}

void put_head_together(const TimelineColumns& columns, Plan& plan, Timeline& timeline) {
  complete_plan(columns, plan);
  complete_timeline(columns, timeline);
}

void put_together(const TimelineColumns& columns, Plan& plan, Timeline& timeline) {
  put_head_together(columns, plan, timeline);
  if (only("plan_hash", columns.plan_hash) != plan_hash(plan)) {
    refuse_column("plan_hash", "the hash belongs to another plan");
  }
}

void refuse_section(std::string_view section, const std::string& what) {
  throw InputError(fmt::format("section {}", section), what);
}

}  // namespace penstock
