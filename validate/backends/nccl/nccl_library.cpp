#include "validate/backends/nccl/nccl_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "validate/backends/cuda/gpu_libraries.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr const char* soname = "libnccl.so.2";

std::variant<NcclLibrary, std::string> checked(const GpuLibrary& found) {
  NcclLibrary library{};
  const auto missing =
      fill_calls([&](const char* symbol) { return dlsym(found.handle, symbol); }, library.calls);
  library.file = found.file;
  if (missing) return fmt::format("{} has no {}", library.file, *missing);
  if (library.calls.get_version(&library.version) != 0) {
    return fmt::format("{} does not tell its version", library.file);
  }
  if (const auto reason = why_not_version(library.version)) {
    return fmt::format("{}: {}", library.file, *reason);
  }
  return library;
}

}  // namespace

std::string nccl_version_text(int version) {
  // Until 2.8 the minor number had one digit less.
  const int unit = version < 10'000 ? 1'000 : 10'000;
  return fmt::format("{}.{}.{}", version / unit, version % unit / 100, version % 100);
}

std::optional<std::string> why_not_version(int version) {
  const int major = version < 10'000 ? version / 1'000 : version / 10'000;
  if (version >= oldest_nccl && major == 2) return std::nullopt;
  return fmt::format("NCCL {}; needs version 2, from {} on", nccl_version_text(version),
                     nccl_version_text(oldest_nccl));
}

std::optional<std::string> fill_calls(const std::function<void*(const char*)>& look_up,
                                      NcclCalls& calls) {
  std::optional<std::string> missing;
  const auto fill = [&]<class Call>(Call*& call, const char* symbol) {
    if (missing) return;
    call = reinterpret_cast<Call*>(look_up(symbol));
    if (call == nullptr) missing = symbol;
  };
  fill(calls.get_version, "ncclGetVersion");
  fill(calls.get_unique_id, "ncclGetUniqueId");
  fill(calls.get_error_string, "ncclGetErrorString");
  fill(calls.get_last_error, "ncclGetLastError");
  fill(calls.comm_init_rank, "ncclCommInitRankConfig");
  fill(calls.comm_split, "ncclCommSplit");
  fill(calls.comm_get_async_error, "ncclCommGetAsyncError");
  fill(calls.comm_destroy, "ncclCommDestroy");
  fill(calls.comm_abort, "ncclCommAbort");
  fill(calls.group_start, "ncclGroupStart");
  fill(calls.group_end, "ncclGroupEnd");
  fill(calls.send, "ncclSend");
  fill(calls.recv, "ncclRecv");
  fill(calls.all_reduce, "ncclAllReduce");
  fill(calls.reduce_scatter, "ncclReduceScatter");
  fill(calls.all_gather, "ncclAllGather");
  return missing;
}

std::vector<std::string> places_of_nccl() {
  const char* const own = std::getenv("PENSTOCK_NCCL");
  if (own != nullptr && *own != '\0') return {own};
  std::vector<std::string> places;
  if (const char* const home = std::getenv("NCCL_HOME")) {
    places.push_back(fs::path(home) / "lib" / soname);
  }
  const std::vector<std::string> usual = places_of_library(soname);
  places.insert(places.end(), usual.begin(), usual.end());
  return places;
}

std::variant<NcclLibrary, std::string> load_nccl(const std::vector<std::string>& places) {
  const GpuLibrary found = load_library(places, "ncclGetVersion");
  if (found.handle != nullptr) return checked(found);  // never unloaded: NCCL does not support that
  return fmt::format("no NCCL: {}; PENSTOCK_NCCL names the file", found.why_not);
}

}  // namespace penstock
