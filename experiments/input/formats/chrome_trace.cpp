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
  write_trace_events(plan, costs, trace, about_json(plan, timeline, title), sink, on_progress);
}

namespace chrome_trace_file {
constinit extern const FormatEntry chrome_trace_entry{
    "chrome-trace", ".json",
    "a timeline as Chrome Trace Event JSON, for Perfetto and chrome://tracing; written"};
}  // namespace chrome_trace_file

}  // namespace penstock
