#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "validate/backends/cuda/nccl_calls.hpp"

namespace penstock {

/// The oldest version that has all calls: the first with `ncclCommSplit`.
constexpr int oldest_nccl = 21801;
/// The first that lets several ranks share a GPU.
constexpr int first_nccl_of_shared_gpus = 23000;

/// NCCL, loaded for the rest of the program.
struct NcclLibrary {
  NcclCalls calls;
  std::string file;
  int version = 0;
};

/// "2.28.9".
std::string nccl_version_text(int version);

/// Looks up every call. Returns the name of the first symbol that is missing.
std::optional<std::string> fill_calls(const std::function<void*(const char* symbol)>& look_up,
                                      NcclCalls& calls);

/// Why a version does not do; nothing when it does.
std::optional<std::string> why_not_version(int version);

/// Where NCCL may be: only $PENSTOCK_NCCL if set; else $NCCL_HOME/lib and the usual places.
std::vector<std::string> places_of_nccl();

/// Loads the first library that can be loaded, or says why none does.
std::variant<NcclLibrary, std::string> load_nccl(
    const std::vector<std::string>& places = places_of_nccl());

}  // namespace penstock
