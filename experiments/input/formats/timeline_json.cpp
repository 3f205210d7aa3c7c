#include "experiments/input/formats/timeline_json.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/formats/registry.hpp"
#include "experiments/input/formats/traces/piece_text.hpp"

namespace penstock {
namespace {

/// A member that is a list; `write` adds the text of an entry.
template <class Write>
void add_list(PieceText& out, std::string_view key, std::size_t size, Write write) {
  out.add('"', key, "\":[");
  for (std::size_t i = 0; i < size; ++i) {
    if (i > 0) out.add(",");
    write(i);
  }
  out.add("]");
}

void add_number_or_null(PieceText& out, bool known, std::uint32_t number) {
  if (known) {
    out.add(number);
  } else {
    out.add("null");
  }
}

/// Everything that is said once, without the last brace.
std::string head_of(const Plan& plan, const Timeline& timeline, std::string_view title) {
  const ordered_json head{{"comment", own_mark},
                          {"penstock", 1},
                          {"kind", "timeline"},
                          {"title", title},
                          {"schedule", plan.schedule},
                          {"plan_hash", fmt::format("{:016x}", plan_hash(plan))},
                          {"iteration", timeline.iteration},
                          {"environment", timeline.environment},
                          {"ranks", plan.ranks},
                          {"microbatches", plan.microbatches},
                          {"makespan_ps", makespan(plan, timeline).picoseconds}};
  std::string text = head.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  text.pop_back();
  return text;
}

void add_spans(const Plan& plan, const Timeline& timeline, PieceText& out) {
  const auto list = [&](std::string_view key, auto write) {
    add_list(out, key, plan.tasks(), [&](std::size_t i) { write(static_cast<TaskId>(i)); });
  };
  const auto times = [&](std::string_view key, const std::vector<Time>& column) {
    if (column.empty()) return;
    out.add(",");
    list(key, [&](TaskId task) { out.add(column[task].picoseconds); });
  };
  const auto resource = [&](TaskId task) { return plan.class_of(task).resource; };
  list("pass", [&](TaskId task) { out.add('"', letters(plan.class_of(task).pass), '"'); });
  out.add(",");
  list("stage", [&](TaskId task) { out.add(index(plan.class_of(task).stage)); });
  out.add(",");
  list("microbatch", [&](TaskId task) { out.add(index(plan.microbatch[task])); });
  out.add(",");
  list("rank", [&](TaskId task) {
    add_number_or_null(out, !plan.is_link(resource(task)), resource(task));
  });
  out.add(",");
  list("link", [&](TaskId task) {
    add_number_or_null(out, plan.is_link(resource(task)), resource(task) - plan.ranks);
  });
  times("begin_ps", timeline.begin);
  times("end_ps", timeline.end);
  out.add(",");
  list("last_input", [&](TaskId task) {
    add_number_or_null(out, timeline.last_input[task] != no_task, timeline.last_input[task]);
  });
  times("slowed_ps", timeline.slowed);
  times("memory_wait_ps", timeline.memory_wait);
}

void add_memory(const std::vector<MemorySample>& samples, PieceText& out) {
  const auto list = [&](std::string_view key, auto value) {
    add_list(out, key, samples.size(), [&](std::size_t i) { out.add(value(samples[i])); });
  };
  list("rank", [](const MemorySample& one) { return index(one.rank); });
  out.add(",");
  list("time_ps", [](const MemorySample& one) { return one.time.picoseconds; });
  out.add(",");
  list("bytes", [](const MemorySample& one) { return one.bytes; });
}

}  // namespace

void write_timeline_json(const Plan& plan, const Timeline& timeline, std::string_view title,
                         const TextSink& sink) {
  PieceText out(sink);
  out.add(head_of(plan, timeline, title), ",");
  add_list(out, "links", plan.links.size(), [&](std::size_t i) {
    const Link& link = plan.links[i];
    out.add(R"({"from":)", end_json(link.from), R"(,"to":)", end_json(link.to), '}');
  });
  out.add(R"(,"spans":{)");
  add_spans(plan, timeline, out);
  out.add(R"(},"memory":{)");
  add_memory(timeline.memory, out);
  out.add("}}\n");
  out.flush();
}

namespace timeline_json_file {
constinit extern const FormatEntry timeline_json_entry{
    "timeline-json", ".json",
    "a timeline with all spans and memory samples as one JSON document; written"};
}  // namespace timeline_json_file

}  // namespace penstock
