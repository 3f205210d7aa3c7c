#include "validate/backends/nccl/nccl_error.hpp"

#include <fmt/format.h>

namespace penstock {

void check(const NcclCalls& calls, int error, std::string_view doing, NcclComm comm) {
  if (error == 0 || error == nccl_in_progress) return;
  const char* const last = calls.get_last_error(comm);
  const bool has_more = last != nullptr && *last != '\0';
  throw NcclError(fmt::format("{}: {} ({}){}{}", doing, calls.get_error_string(error), error,
                              has_more ? ": " : "", has_more ? last : ""));
}

}  // namespace penstock
