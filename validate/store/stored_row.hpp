#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// A measured point: a kernel at one shape, under one condition.
struct KernelPoint {
  std::string kernel;     // "gemm", or a kind of layer: "mlp"
  std::string pass;       // "forward", "backward_input", "backward_weight"; empty: none
  std::string shape;      // its sizes, by name in order: "k=64 m=32 n=128"
  std::string condition;  // "solo", or the run around it: "insitu:1f1b"
  friend bool operator==(const KernelPoint&, const KernelPoint&) = default;
};

/// A measurement, with what is needed to check that it is still valid.
struct ProfileRow {
  KernelPoint point;
  std::string build;                               // hash of the kernel's source and flags
  std::map<std::string, std::string> environment;  // where it was measured
  double canary_ns = 0;                            // time of a fixed piece of work at that moment
  std::vector<double> samples_ns;                  // raw, in the order they were taken
  std::string measured_at;                         // UTC, "2026-11-21T18:40:00Z"
};

/// The schema version that this program writes.
constexpr std::int64_t store_schema = 1;

/// The number of a row in its store, from 1.
enum class RowId : std::int64_t {};
constexpr std::int64_t index(RowId id) { return static_cast<std::int64_t>(id); }

/// Whether a row is valid.
enum class RowState : std::uint8_t {
  valid,
  suspect,  // predicted invalid, until measured again
  retired,  // invalid; kept, but never used
};
std::string_view name(RowState state);
std::optional<RowState> row_state(std::string_view name);

/// A row of a store.
struct StoredRow {
  RowId id{};
  ProfileRow row;
  RowState state = RowState::valid;
  std::int64_t environment = 0;   // number of its environment in the store
  std::int64_t schema = 0;        // schema version in which it was written
  std::optional<RowId> origin{};  // the row that it repeats or is taken over from
};

/// Why a row changed its state.
struct RowVerdict {
  std::string at;  // UTC, "2026-11-21T18:40:00Z"
  RowState state = RowState::valid;
  std::string why;
};

/// A change of a row's state.
struct StateChange {
  RowId id{};
  RowState state = RowState::valid;
  std::string why;
  std::optional<RowState> from{};  // applies only in this state; nothing: in any
};

/// A row derived from another: measured again, or taken over into another environment.
struct DerivedRow {
  ProfileRow row;
  RowId origin{};
  std::string why;
};

/// A row that cannot be read: damaged, or written by another program.
struct UnreadableRow {
  RowId id{};
  std::string why;
};

/// The computer prevents a store operation: the disk is full, the medium is read-only, another
/// process has been writing for too long. The previous content is kept.
class StoreError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// SHA-256, in hexadecimal, of the sources of the measured kernels, the compiler and its flags.
/// Measurements are valid for kernels of the same hash.
std::string_view kernels_build();

}  // namespace penstock
