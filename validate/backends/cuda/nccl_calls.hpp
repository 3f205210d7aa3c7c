#pragma once

#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "validate/backends/cuda/gpu_calls.hpp"

namespace penstock {

/// A communicator of NCCL.
using NcclComm = struct NcclCommTag*;

/// What ranks of a communicator share before it exists; made by one of them.
struct NcclId {
  std::array<char, 128> bytes = {};
};

// Numbers of NCCL's interface, the same in all versions 2.
constexpr int nccl_uint8 = 1;
constexpr int nccl_bfloat16 = 9;
constexpr int nccl_sum = 0;
constexpr int nccl_no_color = -1;
constexpr int nccl_in_progress = 7;

/// `ncclConfig_t` as of NCCL 2.18, the oldest version that does. Newer ones read no further than
/// `size`, and take what is newer than `version` as unset.
struct NcclConfig {
  static constexpr int unset = INT_MIN;

  std::size_t size = sizeof(NcclConfig);
  unsigned int magic = 0xcafebeef;
  unsigned int version = 21801;
  int blocking = unset;
  int cluster_size = unset;
  int least_blocks = unset;  // minCTAs
  int most_blocks = unset;   // maxCTAs
  const char* network = nullptr;
  int split_share = unset;
  int newer = unset;  // where later versions have something else
};

/// What a call between ranks does.
enum class CommKind : std::uint8_t { send, receive, all_reduce, reduce_scatter, all_gather };
constexpr bool is_collective(CommKind kind) { return kind >= CommKind::all_reduce; }

/// The calls to NCCL, replaceable in tests. Those that return an int return 0 or an error number.
struct NcclCalls {
  int (*get_version)(int* version);  // 22809 is 2.28.9
  int (*get_unique_id)(NcclId* id);
  const char* (*get_error_string)(int error);
  const char* (*get_last_error)(NcclComm comm);

  /// `config`: an `NcclConfig`.
  int (*comm_init_rank)(NcclComm* comm, int ranks, NcclId id, int rank, void* config);
  /// `config` null: that of `comm`. Called by all ranks of `comm`; `color` -1: not a member.
  int (*comm_split)(NcclComm comm, int color, int key, NcclComm* made, void* config);
  int (*comm_get_async_error)(NcclComm comm, int* error);
  int (*comm_destroy)(NcclComm comm);
  int (*comm_abort)(NcclComm comm);  // also from another thread

  int (*group_start)();
  int (*group_end)();
  int (*send)(const void* from, std::size_t count, int type, int peer, NcclComm comm,
              GpuStream stream);
  int (*recv)(void* to, std::size_t count, int type, int peer, NcclComm comm, GpuStream stream);
  int (*all_reduce)(const void* from, void* to, std::size_t count, int type, int operation,
                    NcclComm comm, GpuStream stream);
  int (*reduce_scatter)(const void* from, void* to, std::size_t count_of_one, int type,
                        int operation, NcclComm comm, GpuStream stream);
  int (*all_gather)(const void* from, void* to, std::size_t count_of_one, int type, NcclComm comm,
                    GpuStream stream);
};

/// A failed NCCL call.
struct NcclError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws NcclError unless a call returned 0, or is still in progress: "splitting a communicator:
/// unhandled cuda error (1): …". `comm` may be null.
void check(const NcclCalls& calls, int error, const char* doing, NcclComm comm);
/// "unhandled cuda error (1): …", with what NCCL says of `comm`.
std::string error_text(const NcclCalls& calls, int error, NcclComm comm);

}  // namespace penstock
