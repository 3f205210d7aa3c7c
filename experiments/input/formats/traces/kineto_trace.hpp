#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "experiments/input/files/spilled_list.hpp"

namespace penstock {

/// Limits; larger traces are refused.
struct KinetoLimits {
  static constexpr std::uint64_t file_bytes = std::uint64_t{1} << 33;   // uncompressed
  static constexpr std::uint64_t value_bytes = std::uint64_t{1} << 26;  // of one string or number
  static constexpr std::size_t kept_events = 20'000'000;  // kernels, copies, launches, annotations
  static constexpr std::size_t names = 1'000'000;         // distinct annotation names, and threads
  static constexpr std::size_t name_bytes = 256;          // of a name; the rest is dropped
  static constexpr std::int64_t time_ns = 4'000'000'000'000'000'000;
};

/// A time span in nanoseconds.
struct KinetoSpan {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  friend bool operator==(const KinetoSpan&, const KinetoSpan&) = default;
};

/// The kind of device work, by its name and its collective.
enum class KinetoWorkKind : std::uint8_t {
  compute,
  copy,      // memory copy or memset
  send,      // to another rank
  receive,   // from another rank
  exchange,  // send, receive or both: the trace does not say
  collective,
};
constexpr bool is_point_to_point(KinetoWorkKind kind) {
  return kind == KinetoWorkKind::send || kind == KinetoWorkKind::receive ||
         kind == KinetoWorkKind::exchange;
}
constexpr bool is_own_work(KinetoWorkKind kind) {
  return kind == KinetoWorkKind::compute || kind == KinetoWorkKind::copy;
}

/// A kernel, a copy, a memset.
struct KinetoWork {
  KinetoSpan span;
  std::uint64_t correlation = 0;  // equals that of its launch; 0: unknown
  std::uint32_t lane = 0;         // a device's stream
  KinetoWorkKind kind = KinetoWorkKind::compute;
};

/// A host call that puts work on a device.
struct KinetoLaunch {
  std::int64_t at_ns = 0;
  std::uint64_t correlation = 0;
  std::uint32_t lane = 0;  // a thread
};

/// A range that a program has marked with a name (`record_function`): on the host from begin to
/// end, on a device from the first to the last kernel that Kineto attributes to it.
struct KinetoAnnotation {
  KinetoSpan span;
  std::uint32_t name = 0;
  std::uint32_t lane = 0;  // a thread, or a device's stream
  bool on_device = false;
};

/// An operator that ran on the host.
struct KinetoOperator {
  KinetoSpan span;
  std::uint32_t lane = 0;  // a thread
  bool backward = false;   // a step of autograd's backward
};

/// The parts of a PyTorch profiler trace needed to reconstruct a run: one process, one rank.
/// Everything else is skipped. Times count from `base_ns`.
struct KinetoTrace {
  std::string source;                       // its file
  std::optional<std::uint32_t> rank;        // in the whole job
  std::optional<std::uint32_t> world_size;  // ranks of the whole job
  std::string backend;                      // "nccl"; empty: not stated
  std::string device;                       // the name of its first device
  std::int64_t base_ns = 0;                 // since 1970
  // Of these there are as many as the file is long: most lie on disk.
  SpilledList<KinetoWork> works;
  SpilledList<KinetoLaunch> launches;
  SpilledList<KinetoOperator> operators;  // in a trace without device work; not of messages
  std::vector<KinetoAnnotation> annotations;
  std::vector<std::string> names;  // of annotations, unique
  std::uint64_t events = 0;        // in the file, including skipped ones
};

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
