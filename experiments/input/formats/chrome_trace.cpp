#include "experiments/input/formats/chrome_trace.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/input/formats/registry.hpp"
#include "experiments/input/formats/traces/trace_events.hpp"

namespace penstock {
namespace {

/// Replaces invalid UTF-8.
std::string json_text(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// What the run is, as a member of the document.
std::string about_json(const Plan& plan, const Timeline& timeline, std::string_view title) {
  return fmt::format(
      ",\"otherData\":{{\"title\":{},\"schedule\":{},\"plan_hash\":\"{:016x}\",\"makespan_us\":{},"
      "\"iteration\":{},\"environment\":{}}}",
      json_text(title), json_text(plan.schedule), plan_hash(plan),
      text_us(makespan(plan, timeline)), timeline.iteration, json_text(timeline.environment));
}

}  // namespace

void write_chrome_trace(const Plan& plan, const Costs& costs, const Timeline& timeline,
                        std::string_view title, const TextSink& sink,
                        const OnProgress& on_progress) {
  const TraceEvents trace(plan, timeline);
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
  writer.finish(about_json(plan, timeline, title));
}

namespace chrome_trace_file {
constinit extern const FormatEntry chrome_trace_entry{
    "chrome-trace", ".json",
    "a timeline as Chrome Trace Event JSON, for Perfetto and chrome://tracing; written"};
}  // namespace chrome_trace_file

}  // namespace penstock
