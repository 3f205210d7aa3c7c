#include "experiments/formats/chrome_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "experiments/formats/registry.hpp"
#include "experiments/formats/traces/trace_events.hpp"

namespace penstock {
namespace {

bool some_rank_has_several_stages(const Plan& plan) {
  std::vector<std::optional<Stage>> stage(plan.ranks);
  return std::any_of(plan.classes.begin(), plan.classes.end(), [&](const WorkClass& work) {
    if (is_transfer(work.pass)) return false;
    if (!stage[work.resource]) stage[work.resource] = work.stage;
    return *stage[work.resource] != work.stage;
  });
}

/// Thread numbers, the same on every rank. The first compute thread is 0; all others are above the
/// rank numbers. Viewers put the thread whose number equals its process's on top, as the main
/// thread.
class ThreadNumbers {
 public:
  ThreadNumbers(std::uint32_t ranks, const TraceEvents& trace) {
    std::array<std::uint32_t, slice_kinds> most{1, 0, 0};
    for (const auto& lanes : trace.lanes()) {
      for (std::size_t kind = 0; kind < slice_kinds; ++kind) {
        most[kind] = std::max(most[kind], lanes[kind]);
      }
    }
    first_ = {ranks - 1, ranks - 1 + most[0], ranks - 1 + most[0] + most[1]};
  }
  std::uint32_t of(TraceKind kind, std::uint32_t lane) const {
    if (kind == TraceKind::compute && lane == 0) return 0;
    return first_[static_cast<std::size_t>(kind)] + lane;
  }

 private:
  std::array<std::uint32_t, slice_kinds> first_{};
};

/// Replaces invalid UTF-8.
std::string json_text(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// The tensor of an arrow.
std::string_view tensor_name(Pass transfer) {
  const bool activation = transfer == Pass::send_activation || transfer == Pass::send_evicted ||
                          transfer == Pass::send_loaded;
  return activation ? "activation" : transfer == Pass::gather_weights ? "weights" : "gradient";
}

/// Size of the write buffer.
constexpr std::size_t piece_bytes = std::size_t{1} << 18;

class Writer {
 public:
  Writer(const Plan& plan, const Costs& costs, const TraceEvents& trace, const TextSink& sink);

  void write_rank(std::uint32_t rank);
  void write(const TraceEvent& event);
  void finish(const Timeline& timeline, std::string_view title);

 private:
  template <class... Values>
  void append(fmt::format_string<Values...> text, Values&&... values) {
    fmt::format_to(std::back_inserter(out_), text, std::forward<Values>(values)...);
  }
  void open(std::string_view phase, std::uint32_t rank, std::uint32_t thread);
  void write_metadata(std::string_view name, std::uint32_t rank, std::uint32_t thread,
                      std::string_view argument);
  void write_lanes(std::uint32_t rank, TraceKind kind, std::string_view name);
  void write_slice(const TraceEvent& event);
  void write_arrow(const TraceEvent& event, std::string_view phase, std::string_view binding);
  void write_counter(const TraceEvent& event, std::string_view name, std::string_view unit);

  const Plan& plan_;
  const Costs& costs_;
  const TraceEvents& trace_;
  ThreadNumbers threads_;
  bool several_stages_;
  const TextSink& sink_;
  bool first_ = true;
  std::string out_ = R"({"displayTimeUnit":"ns","traceEvents":[)";
};

Writer::Writer(const Plan& plan, const Costs& costs, const TraceEvents& trace, const TextSink& sink)
    : plan_(plan),
      costs_(costs),
      trace_(trace),
      threads_(plan.ranks, trace),
      several_stages_(some_rank_has_several_stages(plan)),
      sink_(sink) {}

void Writer::open(std::string_view phase, std::uint32_t rank, std::uint32_t thread) {
  if (out_.size() > piece_bytes) {
    sink_(out_);
    out_.clear();
  }
  append("{}\n{{\"ph\":\"{}\",\"pid\":{},\"tid\":{}", first_ ? "" : ",", phase, rank, thread);
  first_ = false;
}

/// Metadata has no time: viewers refuse negative times and would count others as part of the run.
void Writer::write_metadata(std::string_view name, std::uint32_t rank, std::uint32_t thread,
                            std::string_view argument) {
  open("M", rank, thread);
  append(R"(,"cat":"__metadata","name":"{}","args":{{{}}}}})", name, argument);
}

void Writer::write_lanes(std::uint32_t rank, TraceKind kind, std::string_view name) {
  std::uint32_t count = trace_.lanes()[rank][static_cast<std::size_t>(kind)];
  if (kind == TraceKind::compute) count = std::max(count, 1U);
  for (std::uint32_t lane = 0; lane < count; ++lane) {
    const std::uint32_t thread = threads_.of(kind, lane);
    const std::string number = lane == 0 ? "" : fmt::format(" {}", lane + 1);
    write_metadata("thread_name", rank, thread, fmt::format(R"("name":"{}{}")", name, number));
    write_metadata("thread_sort_index", rank, thread, fmt::format(R"("sort_index":{})", thread));
  }
}

/// The process of a rank and its threads. Numbers in names are padded, for viewers that sort by
/// name.
void Writer::write_rank(std::uint32_t rank) {
  const std::size_t digits = std::max<std::size_t>(fmt::formatted_size("{}", plan_.ranks - 1), 2);
  write_metadata("process_name", rank, 0, fmt::format(R"("name":"rank {:0{}}")", rank, digits));
  write_metadata("process_sort_index", rank, 0, fmt::format(R"("sort_index":{})", rank));
  write_lanes(rank, TraceKind::compute, "compute");
  write_lanes(rank, TraceKind::send, "send");
  write_lanes(rank, TraceKind::receive, "recv");
}

void Writer::write(const TraceEvent& event) {
  switch (event.kind) {
    case TraceKind::arrow_start:
      return write_arrow(event, "s", "");
    // "e": bound to the enclosing slice, not to the next one.
    case TraceKind::arrow_end:
      return write_arrow(event, "f", R"(,"bp":"e")");
    case TraceKind::memory:
      return write_counter(event, "memory", "bytes");
    case TraceKind::activations:
      return write_counter(event, "activations", "held");
    default:
      return write_slice(event);
  }
}

/// The number of a rank, or the name of any other end, as JSON.
std::string end_json(Rank end) {
  return is_rank(end) ? end_text(end) : fmt::format("\"{}\"", end_text(end));
}

/// Viewers colour a slice by its name without numbers, so all forward passes get one colour.
void Writer::write_slice(const TraceEvent& event) {
  const WorkClass& work = plan_.class_of(event.task);
  const std::uint32_t microbatch = index(plan_.microbatch[event.task]);
  std::string name(letters(work.pass));
  if (event.kind == TraceKind::receive && name.starts_with("SEND")) name.replace(0, 4, "RECV");
  if (several_stages_) {
    name += fmt::format(" {} s{}", microbatch, index(work.stage));
  } else {
    name += fmt::format(" {}", microbatch);
  }
  open("X", event.rank, threads_.of(event.kind, event.lane));
  append(R"(,"ts":{},"dur":{},"cat":"{}","name":"{}","args":{{"stage":{},"microbatch":{})",
         text_us(event.at), text_us(event.length),
         event.kind == TraceKind::compute ? "compute" : "transfer", name, index(work.stage),
         microbatch);
  if (event.kind != TraceKind::compute) {
    const Link& link = plan_.link(work.resource);
    append(R"(,"from":{},"to":{},"bytes":{})", end_json(link.from), end_json(link.to),
           costs_.bytes[work.buffer]);
  }
  out_ += "}}";
}

void Writer::write_arrow(const TraceEvent& event, std::string_view phase,
                         std::string_view binding) {
  open(phase, event.rank, threads_.of(TraceKind::compute, event.lane));
  append(R"(,"ts":{},"cat":"transfer","name":"{}","id":{}{}}})", text_us(event.at),
         tensor_name(plan_.class_of(event.task).pass), event.value, binding);
}

void Writer::write_counter(const TraceEvent& event, std::string_view name, std::string_view unit) {
  open("C", event.rank, 0);
  append(R"(,"ts":{},"cat":"counter","name":"{}","args":{{"{}":{}}}}})", text_us(event.at), name,
         unit, event.value);
}

void Writer::finish(const Timeline& timeline, std::string_view title) {
  append("\n],\"otherData\":{{\"title\":{},\"schedule\":{},\"plan_hash\":\"{:016x}\"",
         json_text(title), json_text(plan_.schedule), plan_hash(plan_));
  append(",\"makespan_us\":{},\"iteration\":{},\"environment\":{}}}}}\n",
         text_us(makespan(plan_, timeline)), timeline.iteration, json_text(timeline.environment));
  sink_(out_);
}

}  // namespace

void write_chrome_trace(const Plan& plan, const Costs& costs, const Timeline& timeline,
                        std::string_view title, const TextSink& sink,
                        const OnProgress& on_progress) {
  const TraceEvents trace(plan, timeline);
  Writer writer(plan, costs, trace, sink);
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) writer.write_rank(rank);
  std::uint64_t written = 0;
  trace.for_each([&](const TraceEvent& event) {
    constexpr std::uint64_t reported = 4096;
    if (++written % reported == 0 && on_progress) {
      on_progress("events", written, trace.about_events());
    }
    writer.write(event);
  });
  writer.finish(timeline, title);
}

constinit extern const FormatEntry chrome_trace_entry{
    "chrome-trace", ".json",
    "a timeline as Chrome Trace Event JSON, for Perfetto and chrome://tracing; written"};

}  // namespace penstock
