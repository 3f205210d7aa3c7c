#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/files/output_file.hpp"
#include "experiments/input/formats/traces/piece_text.hpp"
#include "experiments/input/formats/traces/trace_events.hpp"
#include "sim/base/time.hpp"

namespace penstock {
namespace {

bool some_rank_has_several_stages(const Plan& plan) {
  std::vector<std::optional<Stage>> stage(plan.ranks);
  return std::ranges::any_of(plan.classes, [&](const WorkClass& work) {
    if (is_transfer(work.pass)) return false;
    if (!stage[work.resource]) stage[work.resource] = work.stage;
    return *stage[work.resource] != work.stage;
  });
}

/// The tensor of an arrow.
std::string_view tensor_name(Pass transfer) {
  const bool activation = transfer == Pass::send_activation || transfer == Pass::send_evicted ||
                          transfer == Pass::send_loaded;
  return activation ? "activation" : transfer == Pass::gather_weights ? "weights" : "gradient";
}

/// Thread numbers, the same on every rank. The first compute thread is 0; all others are above the
/// rank numbers. Viewers put the thread whose number equals its process's on top, as the main
/// thread.
class ThreadNumbers {
 public:
  ThreadNumbers(std::uint32_t ranks, const TraceEvents& trace) {
    std::array<std::uint32_t, slice_kinds> most{1};
    for (const auto& lanes : trace.lanes()) {
      for (std::size_t kind = 0; kind < slice_kinds; ++kind) {
        most[kind] = std::max(most[kind], lanes[kind]);
      }
    }
    first_.front() = ranks - 1;
    for (std::size_t kind = 1; kind < slice_kinds; ++kind) {
      first_[kind] = first_[kind - 1] + most[kind - 1];
    }
  }

  std::uint32_t of(TraceKind kind, std::uint32_t lane) const {
    if (kind == TraceKind::compute && lane == 0) return 0;
    return first_[static_cast<std::size_t>(kind)] + lane;
  }

 private:
  std::array<std::uint32_t, slice_kinds> first_{};
};

/// Writes the events of a timeline as elements of a list in Chrome's trace format. The text goes to
/// `sink` in large pieces. All arguments must outlive this object.
class TraceWriter {
 public:
  TraceWriter(const Plan& plan, const Costs& costs, const TraceEvents& trace, const TextSink& sink)
      : plan_(plan),
        costs_(costs),
        trace_(trace),
        threads_(plan.ranks, trace),
        several_stages_(some_rank_has_several_stages(plan)),
        out_(sink) {
    out_.add(R"({"comment":")", own_mark, R"(","displayTimeUnit":"ns","traceEvents":[)");
  }

  /// The process of a rank and its threads.
  /// Numbers in names are padded, for viewers that sort by name.
  void write_rank(std::uint32_t rank) {
    const std::size_t digits = std::max<std::size_t>(fmt::formatted_size("{}", plan_.ranks - 1), 2);
    write_metadata("process_name", rank, 0, fmt::format(R"("name":"rank {:0{}}")", rank, digits));
    write_metadata("process_sort_index", rank, 0, fmt::format(R"("sort_index":{})", rank));
    write_lanes(rank, TraceKind::compute, "compute");
    write_lanes(rank, TraceKind::send, "send");
    write_lanes(rank, TraceKind::receive, "recv");
    write_lanes(rank, TraceKind::collective, "collective");
  }

  void write(const TraceEvent& event) {
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

  /// Ends the list.
  void finish(std::string_view more) {
    out_.add("\n]", more, "}\n");
    out_.flush();
  }

 private:
  void open(std::string_view phase, std::uint32_t rank, std::uint32_t thread) {
    out_.add(first_ ? "\n" : ",\n", R"({"ph":")", phase, R"(","pid":)", rank, R"(,"tid":)", thread);
    first_ = false;
  }

  /// Metadata has no time: viewers refuse negative times and would count others as part of the run.
  void write_metadata(std::string_view name, std::uint32_t rank, std::uint32_t thread,
                      std::string_view argument) {
    open("M", rank, thread);
    out_.add(R"(,"cat":"__metadata","name":")", name, R"(","args":{)", argument, "}}");
  }

  void write_lanes(std::uint32_t rank, TraceKind kind, std::string_view name) {
    std::uint32_t count = trace_.lanes()[rank][static_cast<std::size_t>(kind)];
    if (kind == TraceKind::compute) count = std::max(count, 1U);
    for (std::uint32_t lane = 0; lane < count; ++lane) {
      const std::uint32_t thread = threads_.of(kind, lane);
      const std::string number = lane == 0 ? "" : fmt::format(" {}", lane + 1);
      write_metadata("thread_name", rank, thread, fmt::format(R"("name":"{}{}")", name, number));
      write_metadata("thread_sort_index", rank, thread, fmt::format(R"("sort_index":{})", thread));
    }
  }

  /// Viewers colour a slice by its name without numbers, so all forward passes get one colour.
  void write_slice(const TraceEvent& event) {
    const WorkClass& work = plan_.class_of(event.task);
    const std::uint32_t microbatch = index(plan_.microbatch[event.task]);
    const bool computes = event.kind == TraceKind::compute;
    open("X", event.rank, threads_.of(event.kind, event.lane));
    out_.add(R"(,"ts":)", event.at, R"(,"dur":)", event.length, R"(,"cat":")",
             computes      ? "compute"
             : event.waits ? "wait"
                           : "transfer",
             R"(","name":")");
    std::string_view name = word_of(plan_, work);
    if (event.kind == TraceKind::receive && name.starts_with("SEND")) {
      out_.add("RECV");
      name.remove_prefix(4);
    }
    out_.add(name, event.waits ? " waits " : " ", microbatch);
    if (several_stages_) out_.add(" s", index(work.stage));
    out_.add(R"(","args":{"stage":)", index(work.stage), R"(,"microbatch":)", microbatch);
    if (!plan_.modules.empty() && !plan_.modules[index(work.stage)].empty()) {
      out_.add(R"(,"module":)", nlohmann::json(plan_.modules[index(work.stage)]).dump());
    }
    if (!computes) {
      const Link& link = plan_.link(work.resource);
      out_.add(R"(,"from":)", end_json(link.from), R"(,"to":)", end_json(link.to));
      if (!costs_.bytes.empty()) out_.add(R"(,"bytes":)", costs_.bytes[work.buffer]);
    }
    out_.add("}}");
  }

  void write_arrow(const TraceEvent& event, std::string_view phase, std::string_view binding) {
    open(phase, event.rank, threads_.of(TraceKind::compute, event.lane));
    out_.add(R"(,"ts":)", event.at, R"(,"cat":"transfer","name":")",
             tensor_name(plan_.class_of(event.task).pass), R"(","id":)", event.value, binding, '}');
  }

  void write_counter(const TraceEvent& event, std::string_view name, std::string_view unit) {
    open("C", event.rank, 0);
    out_.add(R"(,"ts":)", event.at, R"(,"cat":"counter","name":")", name, R"(","args":{")", unit,
             R"(":)", event.value, "}}");
  }

  const Plan& plan_;
  const Costs& costs_;
  const TraceEvents& trace_;
  ThreadNumbers threads_;
  bool several_stages_;
  bool first_ = true;
  PieceText out_;
};

}  // namespace

void write_trace_events(const Plan& plan, const Costs& costs, const TraceEvents& trace,
                        std::string_view more, const TextSink& sink,
                        const OnProgress& on_progress) {
  TraceWriter writer(plan, costs, trace, sink);
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) writer.write_rank(rank);
  std::uint64_t written = 0;
  trace.for_each([&](const TraceEvent& event) {
    constexpr std::uint64_t reported = 4096;
    if (++written % reported == 0 && on_progress) {
      on_progress("events", written, trace.about_events());
    }
    writer.write(event);
  });
  writer.finish(more);
}

}  // namespace penstock
