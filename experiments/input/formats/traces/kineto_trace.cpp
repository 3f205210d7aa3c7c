#include "experiments/input/formats/traces/kineto_trace.hpp"

#include <fmt/format.h>

#include <charconv>

#include "experiments/input/files/plain_text.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_launch(std::string_view category) {
  return category.ends_with("_runtime") || category.ends_with("_driver");
}

/// All-to-all collectives run send and receive kernels.
KinetoWorkKind message_kind(std::string_view collective) {
  if (has(collective, "to_all") || has(collective, "toall")) return KinetoWorkKind::collective;
  const bool sends = has(collective, "send");
  if (sends == has(collective, "recv")) return KinetoWorkKind::exchange;
  return sends ? KinetoWorkKind::send : KinetoWorkKind::receive;
}

KinetoWorkKind kernel_kind(std::string_view name, std::string_view collective) {
  if (!name.starts_with("nccl")) return KinetoWorkKind::compute;
  return has(name, "SendRecv") ? message_kind(collective) : KinetoWorkKind::collective;
}

/// Operators that send, receive or wait: of c10d and its backends.
bool is_message(std::string_view name) {
  return name.starts_with("c10d::") || name.starts_with("gloo:") || name.starts_with("nccl:") ||
         name.starts_with("record_param_comms");
}

void take_text(const KinetoValue& value, std::string& target) {
  if (value.kind == KinetoValue::Kind::text) {
    target = value.text.substr(0, KinetoLimits::name_bytes);
  }
}

}  // namespace

void KinetoEvents::begin() {
  // Not `event_ = {}`: the strings keep their memory.
  for (std::string* text : {&event_.phase, &event_.category, &event_.name, &event_.process,
                            &event_.thread, &event_.collective}) {
    text->clear();
  }
  event_.start = event_.duration = {};
  event_.correlation = 0;
  ++trace_.events;
}

void KinetoEvents::field(std::string_view key, const KinetoValue& value) {
  const auto take_time = [&](TimeField& target) {
    target = {.given = true, .ns = {}};
    if (value.kind == KinetoValue::Kind::number) {
      target.ns = nanoseconds_of(value.text, KinetoLimits::time_ns);
    }
  };
  // Processes and threads are numbers or strings.
  const auto take_place = [&](std::string& target) {
    target = value.text.substr(0, KinetoLimits::name_bytes);
  };
  if (key == "ph") return take_text(value, event_.phase);
  if (key == "cat") return take_text(value, event_.category);
  if (key == "name") return take_text(value, event_.name);
  if (key == "pid") return take_place(event_.process);
  if (key == "tid") return take_place(event_.thread);
  if (key == "ts") return take_time(event_.start);
  if (key == "dur") return take_time(event_.duration);
}

void KinetoEvents::argument(std::string_view key, const KinetoValue& value) {
  if (key == "Collective name") return take_text(value, event_.collective);
  if (key != "correlation" || value.kind != KinetoValue::Kind::number) return;
  const char* const end = value.text.data() + value.text.size();
  std::uint64_t number = 0;
  const auto [rest, error] = std::from_chars(value.text.data(), end, number);
  if (error == std::errc{} && rest == end) event_.correlation = number;
}

void KinetoEvents::end() {
  if (event_.phase != "X") return;
  const std::string_view category = event_.category;
  if (category == "kernel") return keep_work(span(), true);
  if (category == "gpu_memcpy" || category == "gpu_memset") return keep_work(span(), false);
  if (category == "user_annotation") return keep_annotation(span(), false);
  if (category == "gpu_user_annotation") return keep_annotation(span(), true);
  if (category == "cpu_op" && trace_.works.empty()) return keep_operator();
  if (is_launch(category) && event_.correlation != 0) keep_launch(span());
}

void KinetoEvents::keep_work(KinetoSpan span, bool is_kernel) {
  check_room(trace_.works.size());
  if (trace_.works.empty()) trace_.operators = {};  // kernels tell more
  const KinetoWorkKind kind =
      is_kernel ? kernel_kind(event_.name, event_.collective) : KinetoWorkKind::copy;
  trace_.works.push_back({span, event_.correlation, lane(), kind});
}

void KinetoEvents::keep_launch(KinetoSpan span) {
  check_room(trace_.launches.size());
  trace_.launches.push_back({span.begin_ns, event_.correlation, lane()});
}

void KinetoEvents::keep_annotation(KinetoSpan span, bool on_device) {
  check_room(trace_.annotations.size());
  // For viewers, Kineto lets these begin one nanosecond early and end one late.
  if (on_device && span.end_ns - span.begin_ns >= 2) {
    ++span.begin_ns;
    --span.end_ns;
  }
  const std::uint32_t name = number_of(names_, event_.name);
  if (name == trace_.names.size()) trace_.names.push_back(event_.name);
  trace_.annotations.push_back({span, name, lane(), on_device});
}

void KinetoEvents::keep_operator() {
  if (is_message(event_.name) || !event_.start.ns || event_.duration.ns.value_or(-1) < 0) return;
  check_room(trace_.operators.size());
  trace_.operators.push_back({span(), lane(), event_.name.starts_with("autograd::engine")});
}

KinetoSpan KinetoEvents::span() const {
  const auto time = [this](std::string_view key, const TimeField& field) {
    if (!field.given) refuse("", fmt::format("it has no \"{}\"; microseconds are needed", key));
    if (!field.ns) refuse(key, "not a number of microseconds below 4e15");
    return *field.ns;
  };
  const std::int64_t begin = time("ts", event_.start);
  const std::int64_t length = time("dur", event_.duration);
  if (length < 0) refuse("dur", "it is negative; an event ends after it begins");
  return {begin, begin + length};
}

void KinetoEvents::check_room(std::size_t kept) const {
  if (kept < KinetoLimits::kept_events) return;
  refuse("", fmt::format("more than {} events of its kind; trace fewer steps",
                         KinetoLimits::kept_events));
}

std::uint32_t KinetoEvents::lane() {
  return number_of(lanes_, fmt::format("{}\n{}", event_.process, event_.thread));
}

std::uint32_t KinetoEvents::number_of(std::unordered_map<std::string, std::uint32_t>& numbers,
                                      const std::string& name) {
  if (numbers.size() >= KinetoLimits::names && !numbers.contains(name)) {
    refuse("", fmt::format("more than {} different names", KinetoLimits::names));
  }
  return numbers.try_emplace(name, static_cast<std::uint32_t>(numbers.size())).first->second;
}

void KinetoEvents::refuse(std::string_view key, const std::string& what) const {
  const std::string step = key.empty() ? "" : pointer_step(key);
  throw InputError(fmt::format("/traceEvents/{}{}", trace_.events - 1, step), what);
}

}  // namespace penstock
