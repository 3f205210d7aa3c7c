#include "experiments/input/formats/traces/kineto_trace.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>

#include "experiments/input/files/byte_stream.hpp"
#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/lenient_json.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/long_work/budget.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

/// The value of a key.
struct KinetoValue {
  enum class Kind : std::uint8_t { number, text, other };
  Kind kind = Kind::other;
  std::string_view text;  // of a number, as written in the file
};

bool is_launch(std::string_view category) {
  return category.ends_with("_runtime") || category.ends_with("_driver");
}

void take_text(const KinetoValue& value, std::string& target) {
  if (value.kind == KinetoValue::Kind::text) {
    target = value.text.substr(0, KinetoLimits::name_bytes);
  }
}

/// Reads events one by one, key by key, and keeps the relevant ones in a trace. Throws InputError
/// for a relevant event that is invalid.
class KinetoEvents {
 public:
  explicit KinetoEvents(KinetoTrace& trace) : trace_(trace) {}

  void begin() {
    // Not `event_ = {}`: the strings keep their memory.
    for (std::string* text : {&event_.phase, &event_.category, &event_.name, &event_.process,
                              &event_.thread, &event_.collective}) {
      text->clear();
    }
    event_.start = event_.duration = {};
    event_.correlation = event_.peer = 0;
    ++trace_.events;
  }

  /// A key of the event itself.
  void field(std::string_view key, const KinetoValue& value) {
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

  /// A key of its "args".
  void argument(std::string_view key, const KinetoValue& value) {
    if (key == "Collective name") return take_text(value, event_.collective);
    if (value.kind != KinetoValue::Kind::number) return;
    const std::uint64_t number = whole_number<std::uint64_t>(value.text).value_or(0);
    if (key == "correlation") event_.correlation = number;
    if (key.ends_with(" Rank")) event_.peer = std::max(event_.peer, number);
  }

  void end() {
    if (event_.phase != "X") return;
    const std::string_view category = event_.category;
    if (category == "kernel") return keep_work(span(), true);
    if (category == "gpu_memcpy" || category == "gpu_memset") return keep_work(span(), false);
    if (category == "user_annotation") return keep_annotation(span(), false);
    if (category == "gpu_user_annotation") return keep_annotation(span(), true);
    if (category == "cpu_op" && trace_.works.empty()) return keep_operator();
    if (is_launch(category) && event_.correlation != 0) keep_launch();
  }

  /// Behind the last event: the base of the times may come after all of them.
  void check_clock() const {
    if (last_ns_ <= KinetoLimits::time_ns - trace_.base_ns) return;
    throw InputError(fmt::format("/traceEvents/{}", last_event_),
                     fmt::format("it ends later than {} ns after 1970; \"ts\" and \"dur\" are "
                                 "microseconds from /baseTimeNanoseconds ({}) on",
                                 KinetoLimits::time_ns, trace_.base_ns));
  }

 private:
  /// A required time of an event.
  struct TimeField {
    bool given = false;
    std::optional<std::int64_t> ns;
  };
  /// The current event, as far as read.
  struct Event {
    std::string phase, category, name, process, thread, collective;
    TimeField start, duration;
    std::uint64_t correlation = 0, peer = 0;
  };

  void keep_work(KinetoSpan span, bool is_kernel) {
    check_room(trace_.works.size());
    if (trace_.works.empty()) trace_.operators = {};  // kernels tell more
    const KinetoWorkKind kind =
        is_kernel ? kernel_kind(event_.name, event_.collective) : KinetoWorkKind::copy;
    if (is_point_to_point(kind)) trace_.peer = std::max(trace_.peer, event_.peer);
    trace_.works.push_back({span, event_.correlation, lane("stream"), kind, work_name()});
  }

  void keep_launch() {
    check_room(trace_.launches.size());
    trace_.launches.push_back({time("ts", event_.start), event_.correlation, lane("thread")});
  }

  void keep_annotation(KinetoSpan span, bool on_device) {
    check_room(trace_.annotations.size());
    // For viewers, Kineto lets these begin one nanosecond early and end one late.
    if (on_device && span.end_ns - span.begin_ns >= 2) {
      ++span.begin_ns;
      --span.end_ns;
    }
    const std::uint32_t name = number_of(names_, event_.name);
    if (name == trace_.names.size()) trace_.names.push_back(event_.name);
    trace_.keep({span, name, lane(on_device ? "stream" : "thread"), on_device});
  }

  void keep_operator() {
    if (is_message_operator(event_.name) || !event_.start.ns || event_.duration.ns.value_or(-1) < 0)
      return;
    check_room(trace_.operators.size());
    trace_.operators.push_back(
        {span(), lane("thread"), event_.name.starts_with("autograd::engine"), work_name()});
  }

  std::int64_t time(std::string_view key, const TimeField& field) const {
    if (!field.given) refuse("", fmt::format("it has no \"{}\"; microseconds are needed", key));
    if (!field.ns) refuse(key, "not a number of microseconds below 4e15");
    return *field.ns;
  }

  KinetoSpan span() {
    const std::int64_t begin = time("ts", event_.start);
    const std::int64_t length = time("dur", event_.duration);
    if (length < 0) refuse("dur", "it is negative; an event ends after it begins");
    if (begin + length > last_ns_) {
      last_ns_ = begin + length;
      last_event_ = trace_.events - 1;
    }
    return {begin, begin + length};
  }

  void check_room(std::size_t kept) const {
    if (kept < KinetoLimits::kept_events) return;
    refuse("", fmt::format("more than {} events of its kind; trace fewer steps",
                           KinetoLimits::kept_events));
  }

  std::uint32_t lane(const char* what) {
    const std::uint32_t lane =
        number_of(lanes_, fmt::format("{}\n{}", event_.process, event_.thread));
    if (lane == trace_.lanes.size())
      trace_.lanes.push_back(fmt::format("{} {}", what, event_.thread));
    return lane;
  }

  std::uint32_t work_name() {
    const std::uint32_t name = number_of(work_names_, event_.name);
    if (name == trace_.work_names.size()) trace_.work_names.push_back(event_.name);
    return name;
  }

  std::uint32_t number_of(std::unordered_map<std::string, std::uint32_t>& numbers,
                          const std::string& name) {
    if (numbers.size() >= KinetoLimits::names && !numbers.contains(name)) {
      refuse("", fmt::format("more than {} different names", KinetoLimits::names));
    }
    return numbers.try_emplace(name, static_cast<std::uint32_t>(numbers.size())).first->second;
  }

  [[noreturn]] void refuse(std::string_view key, const std::string& what) const {
    const std::string step = key.empty() ? "" : pointer_step(key);
    throw InputError(fmt::format("/traceEvents/{}{}", trace_.events - 1, step), what);
  }

  KinetoTrace& trace_;
  Event event_;
  std::int64_t last_ns_ = 0;  // the latest end, and its event
  std::uint64_t last_event_ = 0;
  std::unordered_map<std::string, std::uint32_t> lanes_;
  std::unordered_map<std::string, std::uint32_t> names_;
  std::unordered_map<std::string, std::uint32_t> work_names_;
};

/// The part of the document being read.
enum class Section : std::uint8_t { other, events, distributed, devices };

Section section_of(std::string_view key) {
  if (key == "traceEvents") return Section::events;
  if (key == "distributedInfo") return Section::distributed;
  if (key == "deviceProperties") return Section::devices;
  return Section::other;
}

/// "line 3, column 7: syntax error …" from "[json…] parse error at line 3, column 7: syntax …".
std::string syntax_text(const std::string& what) {
  constexpr std::size_t longest = 240;
  const std::size_t at = what.find(" at line ");
  const std::size_t bracket = what.find("] ");
  const std::size_t start = at != what.npos ? at + 4 : bracket != what.npos ? bracket + 2 : 0;
  return shortened(what.substr(start), longest);
}

/// Takes the events of a JSON parser and fills a trace directly, without a document tree. Levels: 1
/// the document, 2 one of its lists or objects, 3 an event or a device, 4 the "args" of an event.
class Reader {
 public:
  Reader(KinetoTrace& trace, ByteStream& stream) : trace_(trace), stream_(stream), events_(trace) {}

  // Callbacks of the JSON library; each returns whether to continue.
  bool null() { return take({}); }
  bool boolean(bool /*value*/) { return take({}); }
  bool number_integer(json::number_integer_t number) { return take_whole(number); }
  bool number_unsigned(json::number_unsigned_t number) { return take_whole(number); }
  bool number_float(json::number_float_t /*number*/, const std::string& text) {
    return take({KinetoValue::Kind::number, text});
  }

  bool string(const std::string& text) { return take({KinetoValue::Kind::text, text}); }
  bool binary(const json::binary_t& /*bytes*/) { return take({}); }
  bool key(const std::string& key) {
    stream_.mark();
    key_ = key.substr(0, KinetoLimits::name_bytes);
    return true;
  }

  bool start_object(std::size_t /*size*/) { return enter(true); }
  bool start_array(std::size_t /*size*/) { return enter(false); }
  bool end_object() { return leave(); }
  bool end_array() { return leave(); }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) {
    const std::string text = syntax_text(error.what());
    if (depth_ == 0) {
      throw InputError(text.substr(0, text.find(": ")),
                       "no JSON; a trace of PyTorch's profiler is needed, plain or .gz, or an "
                       "SQLite export of Nsight Systems");
    }
    throw InputError(in_event_ ? fmt::format("/traceEvents/{}", trace_.events - 1) : "", text);
  }

  bool has_events() const { return has_events_; }
  void check_clock() const { events_.check_clock(); }

 private:
  bool enter(bool is_object) {
    stream_.mark();
    if (++depth_ > JsonLimits::levels) {
      throw InputError(fmt::format("it is nested more than {} levels deep", JsonLimits::levels));
    }
    if (depth_ == 1 && !is_object) {
      throw InputError(
          "it is a list; a trace of PyTorch's profiler is an object with \"traceEvents\"");
    }
    if (depth_ == 2) {
      section_ = section_of(key_);
      if (section_ == Section::events && is_object) {
        throw InputError("/traceEvents", "it is an object; a list of events is needed");
      }
      has_events_ = has_events_ || section_ == Section::events;
    }
    if (depth_ == 3 && section_ == Section::events) {
      events_.begin();
      in_event_ = is_object;
    }
    if (depth_ == 4) in_args_ = in_event_ && is_object && key_ == "args";
    return true;
  }

  bool leave() {
    stream_.mark();
    if (depth_ == 4) in_args_ = false;
    if (depth_ == 3 && in_event_) {
      events_.end();
      in_event_ = false;
    }
    if (depth_ == 2) section_ = Section::other;
    --depth_;
    return true;
  }

  bool take(const KinetoValue& value) {
    stream_.mark();
    if (depth_ == 0) throw InputError("it is no trace; an object with \"traceEvents\" is needed");
    if (depth_ == 1 && key_ == "baseTimeNanoseconds") take_base(value);
    if (depth_ == 1 && key_ == "traceEvents") {
      throw InputError("/traceEvents", "a list of events is needed");
    }
    if (depth_ == 2 && section_ == Section::events) ++trace_.events;
    if (depth_ == 2 && section_ == Section::distributed) take_distributed(value);
    if (depth_ == 3 && section_ == Section::devices && key_ == "name" && trace_.device.empty()) {
      trace_.device = shortened(value.text, KinetoLimits::name_bytes);
    }
    if (depth_ == 3 && in_event_) events_.field(key_, value);
    if (depth_ == 4 && in_args_) events_.argument(key_, value);
    return true;
  }

  template <class Whole>
  bool take_whole(Whole number) {
    return wants_number() ? take({KinetoValue::Kind::number, fmt::to_string(number)}) : take({});
  }

  bool wants_number() const {
    return depth_ <= 3 || key_ == "correlation" || key_.ends_with(" Rank");
  }
  void take_base(const KinetoValue& value) {
    const std::int64_t base = whole_number<std::int64_t>(value.text).value_or(-1);
    if (value.kind != KinetoValue::Kind::number || base < 0 || base > KinetoLimits::time_ns) {
      throw InputError("/baseTimeNanoseconds",
                       fmt::format("a whole number from 0 to {} is needed", KinetoLimits::time_ns));
    }
    trace_.base_ns = base;
  }

  void take_distributed(const KinetoValue& value) {
    if (key_ == "backend") trace_.backend = shortened(value.text);
    if (key_ != "rank" && key_ != "world_size") return;
    const auto number = whole_number<std::uint32_t>(value.text);
    // Some versions of Kineto write the rank of on-demand traces as a string.
    if (value.kind == KinetoValue::Kind::other || !number) {
      throw InputError("/distributedInfo/" + key_, "a whole number from 0 is needed");
    }
    (key_ == "rank" ? trace_.rank : trace_.world_size) = number;
  }

  KinetoTrace& trace_;
  ByteStream& stream_;
  KinetoEvents events_;
  Section section_ = Section::other;
  std::size_t depth_ = 0;
  std::string key_;        // the latest, on any level
  bool in_event_ = false;  // on level 3 or deeper, in an event that is an object
  bool in_args_ = false;   // on level 4 or deeper, in its "args"
  bool has_events_ = false;
};

}  // namespace

void KinetoTrace::keep(const KinetoAnnotation& annotation) {
  constexpr std::size_t between = 65'536;  // annotations from one question to the next
  annotations.push_back(annotation);
  if (annotations.size() % between != 0) return;
  need_memory(traced_op_bytes * static_cast<double>(annotations.size()),
              fmt::format("{} of at least {} annotations", source, annotations.size()),
              fewer_steps);
}

KinetoTrace read_kineto(const std::string& path, const std::function<void(double)>& on_block) {
  KinetoTrace trace{.source = path};
  about_file(path, [&] {
    ByteStream stream(path, KinetoLimits::file_bytes, KinetoLimits::value_bytes);
    if (on_block) stream.watch(on_block);
    if (stream.ended()) throw InputError("the file is empty; a JSON document is needed");
    Reader reader(trace, stream);
    LenientJson bytes(stream);
    json::sax_parse(ByteIterator(bytes), ByteIterator(), &reader);
    if (!reader.has_events()) {
      throw InputError("it has no \"traceEvents\"; a trace of PyTorch's profiler is needed");
    }
    reader.check_clock();
  });
  return trace;
}

}  // namespace penstock
