#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
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
  std::uint32_t name = 0;
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
  std::uint32_t name = 0;
};

/// The parts of a PyTorch profiler trace needed to reconstruct a run: one process, one rank.
/// Everything else is skipped. Times count from `base_ns`.
struct KinetoTrace {
  std::string source;                       // its file
  bool among_others = false;                // a process of several in its file
  std::optional<std::uint32_t> rank;        // in the whole job
  std::optional<std::uint32_t> world_size;  // ranks of the whole job
  std::uint64_t peer = 0;                   // the largest rank that a message states
  std::string backend;                      // "nccl"; empty: not stated
  std::string device;                       // the name of its first device
  std::int64_t base_ns = 0;                 // since 1970
  // Of these there are as many as the file is long: most lie on disk.
  SpilledList<KinetoWork> works;
  SpilledList<KinetoLaunch> launches;
  SpilledList<KinetoOperator> operators;  // in a trace without device work; not of messages
  std::vector<KinetoAnnotation> annotations;
  std::vector<std::string> names;       // of annotations, unique
  std::vector<std::string> work_names;  // of works and operators, unique
  std::vector<std::string> lanes;       // what threads and streams are called
  std::uint64_t events = 0;             // in the file, including skipped ones

  /// Throws OverBudget if the ops of these annotations need too much memory.
  void keep(const KinetoAnnotation& annotation);
};
/// Bytes of memory for an op that an annotation marks, from reading to its report.
constexpr double traced_op_bytes = 300;
constexpr const char* fewer_steps = "trace fewer steps";

/// The kind of a kernel, by its name and, if known, the collective that it is a part of.
KinetoWorkKind kernel_kind(std::string_view name, std::string_view collective);

/// Whether an operator sends, receives or waits: those of c10d and its backends.
bool is_message_operator(std::string_view name);

/// Reads a trace of PyTorch's profiler, plain or gzip-compressed. No document tree is built: memory
/// grows with the annotations alone; the other events that are kept lie on disk. Times keep their
/// nanoseconds. Throws InputError with the file's name in front; the place of a faulty event is
/// "/traceEvents/NUMBER". See `ByteStream::watch` for `on_block`.
KinetoTrace read_kineto(const std::string& path,
                        const std::function<void(double share)>& on_block = {});

}  // namespace penstock
