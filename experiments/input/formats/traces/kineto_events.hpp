#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "experiments/input/formats/traces/kineto_trace.hpp"

namespace penstock {

/// The value of a key.
struct KinetoValue {
  enum class Kind : std::uint8_t { number, text, other };
  Kind kind = Kind::other;
  std::string_view text;  // of a number, as written in the file
};

/// Reads events one by one, key by key, and keeps the relevant ones in a trace. Throws InputError
/// for a relevant event that is invalid.
class KinetoEvents {
 public:
  explicit KinetoEvents(KinetoTrace& trace) : trace_(trace) {}

  void begin();
  /// A key of the event itself.
  void field(std::string_view key, const KinetoValue& value);
  /// A key of its "args".
  void argument(std::string_view key, const KinetoValue& value);
  void end();

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
    std::uint64_t correlation = 0;
  };

  void keep_work(KinetoSpan span, bool is_kernel);
  void keep_launch(KinetoSpan span);
  void keep_annotation(KinetoSpan span, bool on_device);
  void keep_operator();
  KinetoSpan span() const;
  void check_room(std::size_t kept) const;
  std::uint32_t lane();
  std::uint32_t number_of(std::unordered_map<std::string, std::uint32_t>& numbers,
                          const std::string& name);
  [[noreturn]] void refuse(std::string_view key, const std::string& what) const;

  KinetoTrace& trace_;
  Event event_;
  std::unordered_map<std::string, std::uint32_t> lanes_;
  std::unordered_map<std::string, std::uint32_t> names_;
};

}  // namespace penstock
