#include "validate/transports/tcp_frames.hpp"

#include <fmt/format.h>

#include <random>
#include <stdexcept>

namespace penstock {
namespace {

constexpr std::uint32_t frame_magic = 0x5254'5350;     // "PSTR" as it goes over the wire
constexpr std::uint32_t greeting_magic = 0x4854'5350;  // "PSTH"

}  // namespace

void put_frame(ByteWriter& out, const Frame& frame) {
  out.u32(frame_magic);
  out.u32(frame_version);
  out.u32(frame.run);
  out.u32(frame.box);
  out.u32(static_cast<std::uint32_t>(frame.message.label.kind));
  out.u32(frame.message.label.model_stage);
  out.u32(index(frame.message.label.microbatch));
  out.u32(frame.message.label.iteration);
  out.u64(frame.message.sum);
  out.i64(frame.message.arrival_ns);
  out.u64(frame.words);
}

Frame frame_of(std::span<const std::byte, frame_bytes> bytes) {
  ByteReader in(bytes);
  if (in.u32() != frame_magic) throw std::runtime_error("sent an invalid tensor");
  if (const std::uint32_t version = in.u32(); version != frame_version) {
    throw std::runtime_error(
        fmt::format("sent a tensor in version {}; expected {}", version, frame_version));
  }
  Frame frame{in.u32(), in.u32(), {}, 0};
  const std::uint32_t kind = in.u32();
  if (kind >= tensor_kinds) throw std::runtime_error("sent an invalid tensor");
  frame.message.label.kind = TensorKind{static_cast<std::uint8_t>(kind)};
  frame.message.label.model_stage = in.u32();
  frame.message.label.microbatch = Microbatch{in.u32()};
  frame.message.label.iteration = in.u32();
  frame.message.sum = in.u64();
  frame.message.arrival_ns = in.i64();
  frame.words = in.u64();
  return frame;
}

std::array<std::uint64_t, 2> random_token() {
  std::random_device source;
  const auto half = [&] { return std::uint64_t{source()} << 32 | source(); };
  return {half(), half()};
}

ByteWriter bytes_of(const Greeting& greeting) {
  ByteWriter out;
  out.u32(greeting_magic);
  out.u32(greeting.version);
  for (const std::uint64_t half : greeting.token) out.u64(half);
  out.u32(greeting.process);
  out.u32(greeting.processes);
  out.u64(greeting.plan);
  return out;
}

HandshakeResult check_greeting(std::span<const std::byte, greeting_bytes> bytes,
                               const Greeting& own, Greeting& read) {
  ByteReader in(bytes);
  const std::uint32_t magic = in.u32();
  read.version = in.u32();
  for (std::uint64_t& half : read.token) half = in.u64();
  if (magic != greeting_magic || read.token != own.token) return HandshakeResult::stranger;
  if (read.version != own.version) return HandshakeResult::other_version;
  read.process = in.u32();
  read.processes = in.u32();
  read.plan = in.u64();
  if (read.processes != own.processes || read.process >= own.processes) {
    return HandshakeResult::other_processes;
  }
  return read.plan == own.plan ? HandshakeResult::peer : HandshakeResult::other_plan;
}

}  // namespace penstock
