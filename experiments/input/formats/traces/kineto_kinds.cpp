#include <string_view>

#include "experiments/input/formats/traces/kineto_trace.hpp"

namespace penstock {
namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// All-to-all collectives run send and receive kernels.
KinetoWorkKind message_kind(std::string_view collective) {
  if (has(collective, "to_all") || has(collective, "toall")) return KinetoWorkKind::collective;
  const bool sends = has(collective, "send");
  if (sends == has(collective, "recv")) return KinetoWorkKind::exchange;
  return sends ? KinetoWorkKind::send : KinetoWorkKind::receive;
}

}  // namespace

bool is_message_operator(std::string_view name) {
  return name.starts_with("c10d::") || name.starts_with("gloo:") || name.starts_with("nccl:") ||
         name.starts_with("record_param_comms");
}

KinetoWorkKind kernel_kind(std::string_view name, std::string_view collective) {
  if (!name.starts_with("nccl")) return KinetoWorkKind::compute;
  return has(name, "SendRecv") ? message_kind(collective) : KinetoWorkKind::collective;
}

}  // namespace penstock
