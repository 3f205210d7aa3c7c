#include "validate/backends/multi/gpu_count.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <vector>

#include "validate/backends/cuda/gpu_device.hpp"
#include "validate/wire/bytes.hpp"
#include "validate/wire/sockets.hpp"

namespace penstock {
namespace {

GpuCount counted(const GpuCalls& calls) {
  if (const auto reason = why_no_gpu(calls)) return {0, *reason};
  int count = 0;
  if (calls.count_devices(&count) != 0) return {0, "no GPU: they cannot be counted"};
  return {static_cast<std::uint32_t>(count), ""};
}

/// In the other process.
[[noreturn]] void answer(const GpuCalls* (*calls)(), const Descriptor& parent) {
  constexpr std::chrono::seconds limit{10};
  const GpuCount count = counted(*calls());
  ByteWriter out;
  out.u32(count.gpus);
  out.text(count.why_none);
  ByteWriter size;
  size.u32(static_cast<std::uint32_t>(out.bytes().size()));
  try {
    send_all(parent, size.bytes(), after(limit));
    send_all(parent, out.bytes(), after(limit));
  } catch (const SocketError&) {
    _exit(1);
  }
  _exit(0);
}

GpuCount answer_from(const Descriptor& child) {
  constexpr std::chrono::seconds limit{60};  // a driver may take seconds to wake a GPU
  const GpuCount none{0, "no GPU: the process that was to count them gave no answer"};
  try {
    if (!await_arrival(child, after(limit))) return none;
    std::vector<std::byte> bytes(4);
    if (!receive_all(child, bytes, after(limit))) return none;
    bytes.resize(ByteReader(bytes).u32());
    if (!receive_all(child, bytes, after(limit))) return none;
    ByteReader in(bytes);
    const std::uint32_t gpus = in.u32();
    return {gpus, in.text()};
  } catch (const std::runtime_error&) {
    return none;
  }
}

}  // namespace

GpuCount count_gpus(const GpuCalls* (*calls)()) {
  auto [own, its] = connected_pair();
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) return {0, "no GPU: no process can be started to count them"};
  if (pid == 0) answer(calls, its);
  its = Descriptor();
  const GpuCount count = answer_from(own);
  kill(pid, SIGKILL);
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
  return count;
}

}  // namespace penstock
