#include "tests/support/kineto_writer.hpp"

#include <fmt/format.h>

#include <iterator>

namespace penstock::testing {
namespace {

constexpr std::int64_t lead_ns = 700;  // how far the host runs ahead
constexpr std::int64_t between_steps_ns = 50'000;
constexpr std::int64_t start_ns = 1'000'000;  // from the base of rank 0 to the first op
constexpr int host = 4711, device = 0, main_thread = 4711, backward_thread = 5000;
constexpr int compute_stream = 7, message_stream = 20;

std::string micros(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  return at == std::string::npos ? text : text.replace(at, what.size(), with);
}

class Writer {
 public:
  Writer(const Plan& plan, std::uint32_t rank, const KinetoStyle& style)
      : plan_(plan), rank_(rank), style_(style) {}

  void write_step(const Timeline& timeline, std::uint32_t number, std::int64_t start);
  std::string finish();

 private:
  template <class... Values>
  void event(fmt::format_string<Values...> text, Values&&... values) {
    out_ += out_.empty() ? "\n  {" : ",\n  {";
    fmt::format_to(std::back_inserter(out_), text, std::forward<Values>(values)...);
    out_ += "}";
  }
  void write_span(const char* category, const std::string& name, int process, int thread,
                  std::int64_t begin, std::int64_t end, const std::string& args);
  void write_op(TaskId task, std::int64_t begin, std::int64_t end);
  void write_kernel(std::int64_t launched, int thread, std::int64_t begin, std::int64_t end);
  void write_message(TaskId task, std::int64_t begin, std::int64_t end);
  void write_comms(const Timeline& timeline, std::uint32_t number, std::int64_t start);

  const Plan& plan_;
  std::uint32_t rank_;
  const KinetoStyle& style_;
  std::string out_;
  int correlation_ = 100;
};

void Writer::write_span(const char* category, const std::string& name, int process, int thread,
                        std::int64_t begin, std::int64_t end, const std::string& args) {
  // Each rank has its own base.
  const std::int64_t from = begin - style_.base_step_ns * rank_;
  event(R"("ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {},
    "ts": {}, "dur": {},
    "args": {{{}}})",
        category, name, process, thread, micros(from), micros(end - begin), args);
}

void Writer::write_kernel(std::int64_t launched, int thread, std::int64_t begin, std::int64_t end) {
  const std::string tie = fmt::format(R"("correlation": {}, "External id": {})", correlation_, 3);
  ++correlation_;
  if (style_.launches) {
    write_span("cuda_runtime", "cudaLaunchKernel", host, thread, launched, launched + 5,
               R"("External id": 3, )" + tie);  // twice, as Kineto does
  }
  if (style_.kernels) {
    write_span("kernel", "void gemm<float>(int)", device, compute_stream, begin, end,
               tie + R"(, "grid": [1, 2, 3], "stream": 7)");
  }
}

void Writer::write_op(TaskId task, std::int64_t begin, std::int64_t end) {
  const WorkClass& work = plan_.class_of(task);
  const int thread = work.pass == Pass::forward ? main_thread : backward_thread;
  const std::string name =
      replaced(replaced(replaced(style_.format, "{stage}", fmt::format("{}", index(work.stage))),
                        "{pass}", std::string(letters(work.pass))),
               "{microbatch}", fmt::format("{}", index(plan_.microbatch[task])));
  if (style_.annotations) {
    write_span("user_annotation", name, host, main_thread, begin - lead_ns, end - lead_ns, "");
  }
  if (style_.device_annotations) {
    for (const int stream : {compute_stream, message_stream}) {
      const std::int64_t later = stream == message_stream ? 40 : 0;
      write_span("gpu_user_annotation", name, device, stream, begin - 1, end + 1 + later, "");
    }
  }
  const std::int64_t middle = begin + (end - begin) * 3 / 7;
  write_kernel(begin - lead_ns + 1, thread, begin, middle);
  write_kernel(begin - lead_ns + 2, thread, middle + 1, end);
}

void Writer::write_message(TaskId task, std::int64_t begin, std::int64_t end) {
  const Link& link = plan_.link(plan_.class_of(task).resource);
  const bool sends = index(link.from) == rank_;
  if (!sends && index(link.to) != rank_) return;
  std::string args = R"("stream": 20)";
  if (style_.named_messages) {
    args = fmt::format(R"("Collective name": "{}", "In msg nelems": 8, "Group size": 2, )"
                       R"("Src Rank": {}, "Dst Rank": {})",
                       sends ? "send" : "recv", index(link.from), index(link.to));
  }
  write_span("kernel", "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", device,
             message_stream, begin, end, args);
}

/// Each in the last nanosecond of the op that it follows, since the next may begin as that ends.
void Writer::write_comms(const Timeline& timeline, std::uint32_t number, std::int64_t start) {
  const auto own = style_.comms_of_step.find(number);
  const auto& comms = own == style_.comms_of_step.end() ? style_.comms : own->second;
  std::vector<std::int64_t> issued{start};  // by the actions before
  for (TaskId task = 0; task < plan_.tasks(); ++task) {
    if (plan_.class_of(task).resource != rank_) continue;
    issued.push_back(start + whole_ns(timeline.end[task]));
  }
  for (const CommCell& cell : comms[rank_]) {
    const std::int64_t at = issued[cell.before] - lead_ns - 1;
    write_span("user_annotation", "PP:" + text(cell), host, main_thread, at, at + 1, "");
  }
}

void Writer::write_step(const Timeline& timeline, std::uint32_t number, std::int64_t start) {
  const std::int64_t length = whole_ns(makespan(plan_, timeline));
  if (style_.steps) {
    write_span("user_annotation", fmt::format("ProfilerStep#{}", number), host, main_thread,
               start - 2 * lead_ns, start + length + 2 * lead_ns, "");
    write_span("gpu_user_annotation", fmt::format("ProfilerStep#{}", number), device,
               compute_stream, start - 1, start + 10, "");
  }
  write_span("cpu_op", "aten::mm", host, main_thread, start, start + 5,
             R"("Input Dims": [[2, 3], [3, 4], []], "Concrete Inputs": ["", "NaN"])");
  for (TaskId task = 0; task < plan_.tasks(); ++task) {
    const std::int64_t begin = start + whole_ns(timeline.begin[task]);
    const std::int64_t end = start + whole_ns(timeline.end[task]);
    const std::uint32_t resource = plan_.class_of(task).resource;
    if (resource == rank_) write_op(task, begin, end);
    if (plan_.is_link(resource) && style_.messages && style_.kernels) {
      write_message(task, begin, end);
    }
  }
  if (!style_.comms.empty()) write_comms(timeline, number, start);
  if (style_.optimizer) {
    write_kernel(start + length, main_thread, start + length + 100, start + length + 300);
  }
}

std::string Writer::finish() {
  event(R"("ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {{"name": "python"}})");
  event(R"("ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 1.000)");
  event(R"("ph": "X", "cat": "Trace", "name": "PyTorch Profiler", "pid": "Spans", "tid": "x",
    "ts": 0.001, "dur": 5.000)");
  const std::int64_t base_ns = style_.base_ns + style_.base_step_ns * rank_;
  std::string info = fmt::format("\"baseTimeNanoseconds\": {}", base_ns);
  if (style_.rank_known) {
    info += fmt::format(R"(,
  "distributedInfo": {{"backend": "{}", "rank": {}, "world_size": {}, "pg_count": 1}})",
                        style_.backend, rank_, plan_.ranks);
  }
  const std::string events = fmt::format("\"traceEvents\": [{}\n]", out_);
  return fmt::format(R"({{"schemaVersion": 1,
  "deviceProperties": [{{"id": 0, "name": "Made GPU", "numSms": 132}}],
  "displayTimeUnit": "ms",
  {},
  {},
  "traceName": "x"
}})",
                     style_.info_last ? events : info, style_.info_last ? info : events);
}

}  // namespace

std::int64_t whole_ns(Time time) { return (time.picoseconds + 500) / 1000; }

std::string kineto_text(const Plan& plan, const std::vector<Timeline>& steps, std::uint32_t rank,
                        const KinetoStyle& style) {
  Writer writer(plan, rank, style);
  std::int64_t start = start_ns;
  std::uint32_t number = 3;
  // Far enough from the base that no rank has negative times.
  start += style.base_step_ns * plan.ranks;
  for (const Timeline& timeline : steps) {
    writer.write_step(timeline, number++, start);
    start += whole_ns(makespan(plan, timeline)) + between_steps_ns;
  }
  return writer.finish();
}

}  // namespace penstock::testing
