#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime.h>

#include <cstring>

#include "validate/backends/cuda/cuda_kernels.hpp"

namespace penstock {
namespace {

constexpr CUdevice green_device = 0;

struct EntryPoints {
  PFN_cuDeviceGetDevResource_v12040 get_resource = nullptr;
  PFN_cuDevSmResourceSplitByCount_v12040 split = nullptr;
  PFN_cuDevResourceGenerateDesc_v12040 describe = nullptr;
  PFN_cuGreenCtxCreate_v12040 create = nullptr;
  PFN_cuGreenCtxDestroy_v12040 destroy = nullptr;
  PFN_cuCtxFromGreenCtx_v12040 as_context = nullptr;
  PFN_cuCtxPushCurrent_v4000 push = nullptr;
  PFN_cuCtxPopCurrent_v4000 pop = nullptr;
  PFN_cuEventCreate_v2000 create_event = nullptr;
  PFN_cuGreenCtxStreamCreate_v12050 create_stream = nullptr;
};

template <class Function>
bool found(Function& function, const char* name, unsigned version) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult result{};
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &address, version, cudaEnableDefault, &result);
  cudaGetLastError();  // a missing function is not an error of a later call
  function = reinterpret_cast<Function>(address);
  return error == cudaSuccess && result == cudaDriverEntryPointSuccess && address != nullptr;
}

/// The driver's functions; `create_stream` is null unless all of them exist.
const EntryPoints& driver() {
  static const EntryPoints table = [] {
    EntryPoints all;
    const bool complete = found(all.get_resource, "cuDeviceGetDevResource", 12040) &&
                          found(all.split, "cuDevSmResourceSplitByCount", 12040) &&
                          found(all.describe, "cuDevResourceGenerateDesc", 12040) &&
                          found(all.create, "cuGreenCtxCreate", 12040) &&
                          found(all.destroy, "cuGreenCtxDestroy", 12040) &&
                          found(all.as_context, "cuCtxFromGreenCtx", 12040) &&
                          found(all.push, "cuCtxPushCurrent", 4000) &&
                          found(all.pop, "cuCtxPopCurrent", 4000) &&
                          found(all.create_event, "cuEventCreate", 2000) &&
                          found(all.create_stream, "cuGreenCtxStreamCreate", 12050);
    return complete ? all : EntryPoints{};
  }();
  return table;
}

static_assert(sizeof(CUdevResource) <= sizeof(SmGroup::of_driver));

SmGroup group_of(const CUdevResource& resource) {
  SmGroup group;
  std::memcpy(group.of_driver.data(), &resource, sizeof resource);
  if (resource.type != CU_DEV_RESOURCE_TYPE_SM) return group;
  group.sms = resource.sm.smCount;
  group.least = resource.sm.minSmPartitionSize;
  group.alignment = resource.sm.smCoscheduledAlignment;
  return group;
}

CUdevResource resource_of(const SmGroup& group) {
  CUdevResource resource{};
  std::memcpy(&resource, group.of_driver.data(), sizeof resource);
  return resource;
}

int all_sms(SmGroup* all) {
  CUdevResource resource{};
  const CUresult error = driver().get_resource(green_device, &resource, CU_DEV_RESOURCE_TYPE_SM);
  *all = group_of(resource);
  return error;
}

int split_sms(SmGroup* groups, std::uint32_t* count, const SmGroup& all, SmGroup* left,
              std::uint32_t sms) {
  const CUdevResource whole = resource_of(all);
  CUdevResource parts[most_sm_ids] = {};
  CUdevResource rest{};
  const std::uint32_t wanted = *count;
  if (wanted > most_sm_ids) return CUDA_ERROR_INVALID_VALUE;
  const CUresult error = driver().split(parts, count, &whole, &rest, 0, sms);
  if (error != CUDA_SUCCESS) return error;
  for (std::uint32_t i = 0; i < wanted && i < *count; ++i) groups[i] = group_of(parts[i]);
  *left = group_of(rest);
  return CUDA_SUCCESS;
}

int make_context(GpuContext* context, const SmGroup* groups, std::uint32_t count) {
  CUdevResource resources[most_sm_ids] = {};
  if (count > most_sm_ids) return CUDA_ERROR_INVALID_VALUE;
  for (std::uint32_t i = 0; i < count; ++i) resources[i] = resource_of(groups[i]);
  CUdevResourceDesc description = nullptr;
  if (const CUresult error = driver().describe(&description, resources, count)) return error;
  CUgreenCtx made = nullptr;
  const CUresult error =
      driver().create(&made, description, green_device, CU_GREEN_CTX_DEFAULT_STREAM);
  *context = reinterpret_cast<GpuContext>(made);
  return error;
}

int free_context(GpuContext context) {
  return driver().destroy(reinterpret_cast<CUgreenCtx>(context));
}

int make_stream_on(GpuStream* stream, GpuContext context) {
  return driver().create_stream(reinterpret_cast<CUstream*>(stream),
                                reinterpret_cast<CUgreenCtx>(context), CU_STREAM_NON_BLOCKING, 0);
}

/// An event belongs to the current context: sets it, then restores the previous one.
int make_event_on(GpuEvent* event, GpuContext context) {
  CUcontext own = nullptr;
  if (const CUresult error = driver().as_context(&own, reinterpret_cast<CUgreenCtx>(context))) {
    return error;
  }
  if (const CUresult error = driver().push(own)) return error;
  const CUresult error =
      driver().create_event(reinterpret_cast<CUevent*>(event), CU_EVENT_DISABLE_TIMING);
  const CUresult restored = driver().pop(&own);
  return error != CUDA_SUCCESS ? error : restored;
}

}  // namespace

void add_green_contexts(GpuCalls& calls) {
  if (driver().create_stream == nullptr) return;
  calls.all_sms = all_sms;
  calls.split_sms = split_sms;
  calls.make_context = make_context;
  calls.free_context = free_context;
  calls.make_stream_on = make_stream_on;
  calls.make_event_on = make_event_on;
}

}  // namespace penstock
