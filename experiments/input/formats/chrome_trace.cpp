#include "experiments/input/formats/chrome_trace.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/input/files/base64.hpp"
#include "experiments/input/files/byte_stream.hpp"
#include "experiments/input/files/files.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/formats/registry.hpp"
#include "experiments/input/formats/traces/trace_events.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock {
namespace {

/// In front of the run itself, as a packed `.timeline` file, for those who read it again.
constexpr std::string_view timeline_key = ",\"penstockTimeline\":\"";

/// Replaces invalid UTF-8.
std::string json_text(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// What the run is, as a member of the document.
std::string about_json(const Plan& plan, const Timeline& timeline, std::string_view title) {
  return fmt::format(
      ",\"otherData\":{{\"title\":{},\"schedule\":{},\"plan_hash\":\"{:016x}\",\"makespan_us\":{},"
      "\"iteration\":{},\"environment\":{}}}{}{}\"",
      json_text(title), json_text(plan.schedule), plan_hash(plan),
      text_us(makespan(plan, timeline)), timeline.iteration, json_text(timeline.environment),
      timeline_key, base64(gzip(write_timeline(plan, timeline, title))));
}

}  // namespace

void write_chrome_trace(const Plan& plan, const Costs& costs, const Timeline& timeline,
                        std::string_view title, const TextSink& sink,
                        const OnProgress& on_progress) {
  const TraceEvents trace(plan, timeline);
  write_trace_events(plan, costs, trace, about_json(plan, timeline, title), sink, on_progress);
}

bool is_own_trace(std::string_view beginning) {
  return beginning.starts_with(fmt::format("{{\"comment\":\"{}\"", own_mark)) &&
         beginning.substr(0, 200).find("\"traceEvents\"") != std::string_view::npos;
}

Recording recording_in_trace(std::string_view trace) {
  const std::size_t key = trace.rfind(timeline_key);
  if (key == std::string_view::npos) {
    throw InputError(
        "a trace that Penstock wrote, but without its run; write it again, or open its .timeline");
  }
  std::string_view rest = trace.substr(key + timeline_key.size());
  const auto packed = bytes_of_base64(take_until(rest, '"'));
  if (!packed) throw InputError("/penstockTimeline", "corrupt base64");
  return below("/penstockTimeline",
               [&] { return read_timeline(gunzip(*packed, Limits::input_file_bytes)); });
}

namespace chrome_trace_file {
constinit extern const FormatEntry chrome_trace_entry{
    "chrome-trace", ".json",
    "a timeline as Chrome Trace Event JSON, for Perfetto and chrome://tracing; written"};
}  // namespace chrome_trace_file

}  // namespace penstock
