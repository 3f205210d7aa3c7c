#include "validate/backends/cuda/gpu_error.hpp"

namespace penstock {
namespace {

/// A path relative to the repository root, wherever this was compiled.
std::string in_tree(const std::string& file) {
  const std::size_t at = file.rfind("validate/backends/");
  return at == std::string::npos ? file : file.substr(at);
}

}  // namespace

std::string error_text(const GpuCalls& calls, int error) {
  return std::string(calls.error_name(error)) + " (" + std::to_string(error) + ")";
}

void check(const GpuCalls& calls, int error, const char* doing, std::optional<std::uint32_t> number,
           const char* file, int line) {
  if (error == 0) return;
  std::string text = doing;
  if (number) text += " " + std::to_string(*number);
  throw GpuError(text + ": " + error_text(calls, error) + ", at " + in_tree(file) + ":" +
                 std::to_string(line));
}

}  // namespace penstock
