#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

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

}  // namespace penstock
