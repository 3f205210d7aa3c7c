// The table of calls against NCCL's own header, where that and CUDA's are installed: the compiler
// checks. Handles and enumerations have other types here.
#if __has_include(<nccl.h>) && __has_include(<cuda_runtime.h>)
#include <nccl.h>

#include <cstddef>
#include <type_traits>

#include "validate/backends/cuda/nccl_calls.hpp"

namespace penstock {
namespace {

template <class Type>
struct Here {
  using type = Type;
};
template <>
struct Here<ncclResult_t> : Here<int> {};
template <>
struct Here<ncclResult_t*> : Here<int*> {};
template <>
struct Here<ncclDataType_t> : Here<int> {};
template <>
struct Here<ncclRedOp_t> : Here<int> {};
template <>
struct Here<ncclComm_t> : Here<NcclComm> {};
template <>
struct Here<ncclComm_t*> : Here<NcclComm*> {};
template <>
struct Here<ncclUniqueId> : Here<NcclId> {};
template <>
struct Here<ncclUniqueId*> : Here<NcclId*> {};
template <>
struct Here<ncclConfig_t*> : Here<void*> {};
template <>
struct Here<cudaStream_t> : Here<GpuStream> {};

template <class Result, class... Arguments>
auto here(Result (*)(Arguments...)) ->
    typename Here<Result>::type (*)(typename Here<Arguments>::type...);

template <class Theirs, class Ours>
constexpr bool fits(Theirs, Ours NcclCalls::*) {
  return std::is_same_v<decltype(here(Theirs{})), Ours>;
}

static_assert(offsetof(ncclConfig_t, size) == offsetof(NcclConfig, size));
static_assert(offsetof(ncclConfig_t, magic) == offsetof(NcclConfig, magic));
static_assert(offsetof(ncclConfig_t, version) == offsetof(NcclConfig, version));
static_assert(offsetof(ncclConfig_t, blocking) == offsetof(NcclConfig, blocking));
static_assert(offsetof(ncclConfig_t, cgaClusterSize) == offsetof(NcclConfig, cluster_size));
static_assert(offsetof(ncclConfig_t, minCTAs) == offsetof(NcclConfig, least_blocks));
static_assert(offsetof(ncclConfig_t, maxCTAs) == offsetof(NcclConfig, most_blocks));
static_assert(offsetof(ncclConfig_t, netName) == offsetof(NcclConfig, network));
static_assert(offsetof(ncclConfig_t, splitShare) == offsetof(NcclConfig, split_share));
static_assert(sizeof(NcclConfig) <= sizeof(ncclConfig_t));
static_assert(ncclConfig_t(NCCL_CONFIG_INITIALIZER).magic == NcclConfig{}.magic);
static_assert(ncclConfig_t(NCCL_CONFIG_INITIALIZER).minCTAs == NcclConfig::unset);

static_assert(fits(&ncclGetVersion, &NcclCalls::get_version));
static_assert(fits(&ncclGetUniqueId, &NcclCalls::get_unique_id));
static_assert(fits(&ncclGetErrorString, &NcclCalls::get_error_string));
static_assert(fits(&ncclGetLastError, &NcclCalls::get_last_error));
static_assert(fits(&ncclCommInitRankConfig, &NcclCalls::comm_init_rank));
static_assert(fits(&ncclCommSplit, &NcclCalls::comm_split));
static_assert(fits(&ncclCommGetAsyncError, &NcclCalls::comm_get_async_error));
static_assert(fits(&ncclCommDestroy, &NcclCalls::comm_destroy));
static_assert(fits(&ncclCommAbort, &NcclCalls::comm_abort));
static_assert(fits(&ncclGroupStart, &NcclCalls::group_start));
static_assert(fits(&ncclGroupEnd, &NcclCalls::group_end));
static_assert(fits(&ncclSend, &NcclCalls::send));
static_assert(fits(&ncclRecv, &NcclCalls::recv));
static_assert(fits(&ncclAllReduce, &NcclCalls::all_reduce));
static_assert(fits(&ncclReduceScatter, &NcclCalls::reduce_scatter));
static_assert(fits(&ncclAllGather, &NcclCalls::all_gather));

static_assert(sizeof(ncclUniqueId) == sizeof(NcclId));
static_assert(std::is_trivially_copyable_v<NcclId>);  // passed by value as in C
static_assert(ncclUint8 == nccl_uint8 && ncclBfloat16 == nccl_bfloat16 && ncclSum == nccl_sum);
static_assert(NCCL_SPLIT_NOCOLOR == nccl_no_color);
static_assert(ncclInProgress == nccl_in_progress);

}  // namespace
}  // namespace penstock
#endif
