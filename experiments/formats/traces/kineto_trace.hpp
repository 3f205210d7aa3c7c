#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace penstock {

/// The most that is read of a trace. Beyond these it is refused.
struct KinetoLimits {
  static constexpr std::uint64_t file_bytes = std::uint64_t{1} << 33;   // when unpacked
  static constexpr std::uint64_t value_bytes = std::uint64_t{1} << 26;  // of one string or number
  static constexpr std::size_t kept_events = 20'000'000;  // kernels, copies, launches, annotations
  static constexpr std::size_t names = 1'000'000;  // different names of annotations, and threads
  static constexpr std::size_t name_bytes = 256;   // what is kept of a name
  static constexpr std::int64_t time_ns = 4'000'000'000'000'000'000;
};

/// From the begin of something to its end, in nanoseconds.
struct KinetoSpan {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  friend bool operator==(const KinetoSpan&, const KinetoSpan&) = default;
};

/// What a device was busy with, by its name and its collective.
enum class KinetoWorkKind : std::uint8_t {
  compute,
  copy,      // memory copied or set
  send,      // to another rank
  receive,   // from another rank
  exchange,  // one of them or both at once: the trace does not say
  collective,
};
constexpr bool is_point_to_point(KinetoWorkKind kind) {
  return kind == KinetoWorkKind::send || kind == KinetoWorkKind::receive ||
         kind == KinetoWorkKind::exchange;
}

/// A kernel, a copy, a memset.
struct KinetoWork {
  KinetoSpan span;
  std::uint64_t correlation = 0;  // with the launch that has the same; 0: none is known
  std::uint32_t lane = 0;         // a device's stream
  KinetoWorkKind kind = KinetoWorkKind::compute;
};

/// A call of the host that puts work on a device.
struct KinetoLaunch {
  std::int64_t at_ns = 0;
  std::uint64_t correlation = 0;
  std::uint32_t lane = 0;  // a thread
};

/// What a user's program marked with a name (`record_function`): on the host as long as it was
/// inside, on a device from the first kernel to the last that Kineto knows of.
struct KinetoAnnotation {
  KinetoSpan span;
  std::uint32_t name = 0;
  std::uint32_t lane = 0;  // a thread, or a device's stream
  bool on_device = false;
};

/// What a trace of PyTorch's profiler says that runs can be made of: one process, one rank.
/// Everything else in it is passed over. Times count from `base_ns`.
struct KinetoTrace {
  std::string source;                       // its file
  std::optional<std::uint32_t> rank;        // in the whole job
  std::optional<std::uint32_t> world_size;  // ranks of the whole job
  std::string backend;                      // "nccl"; empty: it does not say
  std::string device;                       // the name of its first device
  std::int64_t base_ns = 0;                 // since 1970
  std::vector<KinetoWork> works;
  std::vector<KinetoLaunch> launches;
  std::vector<KinetoAnnotation> annotations;
  std::vector<std::string> names;  // of annotations, each once
  std::uint64_t events = 0;        // in the file, those passed over included
};

}  // namespace penstock
