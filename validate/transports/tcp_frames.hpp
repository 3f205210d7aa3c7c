#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "validate/job/message.hpp"
#include "validate/transports/transport.hpp"
#include "validate/wire/bytes.hpp"

namespace penstock {

/// The header of a tensor on a connection. All numbers are little-endian.
///
///   u32 magic, u32 version, u32 run, u32 box, u32 1 for a gradient, u32 model stage,
///   u32 microbatch, u32 iteration, u64 checksum, i64 arrival in ns, u64 words; then the words
struct Frame {
  std::uint32_t run = 0;  // of the transport, from 1
  std::uint32_t box = 0;
  Message message;
  std::uint64_t words = 0;
};

constexpr std::uint32_t frame_version = 1;
constexpr std::size_t frame_bytes = 56;

void put_frame(ByteWriter& out, const Frame& frame);

/// Throws std::runtime_error, with a text that follows the sender's name, for an invalid frame.
Frame frame_of(std::span<const std::byte, frame_bytes> bytes);

/// How a process identifies itself: it belongs to this run of the program and has the same plan.
/// The token is the secret.
struct Greeting {
  std::array<std::uint64_t, 2> token{};
  std::uint32_t version = frame_version;
  std::uint32_t process = 0;
  std::uint32_t processes = 0;
  std::uint64_t plan = 0;  // its hash
};

/// A token that cannot be guessed.
std::array<std::uint64_t, 2> random_token();

constexpr std::size_t greeting_bytes = 40;
ByteWriter bytes_of(const Greeting& greeting);

/// The result of checking a greeting.
enum class HandshakeResult { peer, stranger, other_version, other_plan, other_processes };

/// Reads a greeting and compares it with one's own.
HandshakeResult check_greeting(std::span<const std::byte, greeting_bytes> bytes,
                               const Greeting& own, Greeting& read);

}  // namespace penstock
