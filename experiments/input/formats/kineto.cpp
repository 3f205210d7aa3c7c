#include "experiments/input/formats/kineto.hpp"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "experiments/input/files/byte_stream.hpp"
#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/formats/registry.hpp"
#include "experiments/input/formats/traces/kineto_trace.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

/// The part of the document being read.
enum class Section : std::uint8_t { other, events, distributed, devices };

Section section_of(std::string_view key) {
  if (key == "traceEvents") return Section::events;
  if (key == "distributedInfo") return Section::distributed;
  if (key == "deviceProperties") return Section::devices;
  return Section::other;
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
  bool key(const std::string& key);
  bool start_object(std::size_t /*size*/) { return enter(true); }
  bool start_array(std::size_t /*size*/) { return enter(false); }
  bool end_object() { return leave(); }
  bool end_array() { return leave(); }
  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception& error);

  bool has_events() const { return has_events_; }

 private:
  bool enter(bool is_object);
  bool leave();
  bool take(const KinetoValue& value);
  template <class Whole>
  bool take_whole(Whole number) {
    return wants_number() ? take({KinetoValue::Kind::number, fmt::to_string(number)}) : take({});
  }
  bool wants_number() const { return depth_ <= 3 || key_ == "correlation"; }
  void take_base(const KinetoValue& value);
  void take_distributed(const KinetoValue& value);

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

bool Reader::enter(bool is_object) {
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

bool Reader::leave() {
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

bool Reader::key(const std::string& key) {
  stream_.mark();
  key_ = key.substr(0, KinetoLimits::name_bytes);
  return true;
}

bool Reader::take(const KinetoValue& value) {
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

void Reader::take_base(const KinetoValue& value) {
  std::int64_t base = -1;
  const char* const end = value.text.data() + value.text.size();
  const auto [rest, error] = std::from_chars(value.text.data(), end, base);
  if (value.kind != KinetoValue::Kind::number || error != std::errc{} || rest != end || base < 0 ||
      base > KinetoLimits::time_ns) {
    throw InputError("/baseTimeNanoseconds",
                     fmt::format("a whole number from 0 to {} is needed", KinetoLimits::time_ns));
  }
  trace_.base_ns = base;
}

void Reader::take_distributed(const KinetoValue& value) {
  if (key_ == "backend") trace_.backend = shortened(value.text);
  if (key_ != "rank" && key_ != "world_size") return;
  std::uint32_t number = 0;
  const char* const end = value.text.data() + value.text.size();
  const auto [rest, error] = std::from_chars(value.text.data(), end, number);
  // Some versions of Kineto write the rank of on-demand traces as a string.
  if (value.kind == KinetoValue::Kind::other || error != std::errc{} || rest != end) {
    throw InputError("/distributedInfo/" + key_, "a whole number from 0 is needed");
  }
  (key_ == "rank" ? trace_.rank : trace_.world_size) = number;
}

/// "line 3, column 7: syntax error …" from "[json…] parse error at line 3, column 7: syntax …".
std::string syntax_text(const std::string& what) {
  constexpr std::size_t longest = 240;
  constexpr std::string_view in_front = " at line ";
  const std::size_t at = what.find(in_front);
  if (at != std::string::npos) return shortened(what.substr(at + 4), longest);
  const std::size_t bracket = what.find("] ");
  return shortened(what.substr(bracket == std::string::npos ? 0 : bracket + 2), longest);
}

bool Reader::parse_error(std::size_t /*position*/, const std::string& /*token*/,
                         const nlohmann::detail::exception& error) {
  std::string where;
  if (in_event_) where = fmt::format("/traceEvents/{}", trace_.events - 1);
  throw InputError(where, syntax_text(error.what()));
}

}  // namespace

KinetoTrace read_kineto(const std::string& path, const std::function<void(double)>& on_block) {
  KinetoTrace trace;
  trace.source = path;
  try {
    ByteStream stream(path, KinetoLimits::file_bytes, KinetoLimits::value_bytes);
    if (on_block) stream.watch(on_block);
    if (stream.ended()) throw InputError("the file is empty; a JSON document is needed");
    Reader reader(trace, stream);
    json::sax_parse(ByteIterator(stream), ByteIterator(), &reader);
    if (!reader.has_events()) {
      throw InputError("it has no \"traceEvents\"; a trace of PyTorch's profiler is needed");
    }
  } catch (const InputError& error) {
    throw in_file(path, error);
  }
  return trace;
}

namespace kineto_file {
constinit extern const FormatEntry kineto_entry{
    "kineto", ".json",
    "a run as PyTorch's profiler traced it, a file a rank, plain or .gz; read by penstock trace"};
}  // namespace kineto_file

}  // namespace penstock
