#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "validate/job/message.hpp"
#include "validate/transports/transport.hpp"
#include "validate/wire/bytes.hpp"

namespace penstock {

/// What goes before a tensor over a connection. All numbers have their lowest byte first.
///
///   u32 magic, u32 version, u32 run, u32 box, u32 1 for a gradient, u32 model stage,
///   u32 microbatch, u32 iteration, u64 checksum, i64 arrival in ns, u64 words; then the words
struct Frame {
  std::uint32_t run = 0;  // which run of the transport, counted from 1
  std::uint32_t box = 0;
  Message message;
  std::uint64_t words = 0;
};

constexpr std::uint32_t frame_version = 1;
constexpr std::size_t frame_bytes = 56;

void put_frame(ByteWriter& out, const Frame& frame);

/// Throws std::runtime_error, in words that follow the sender's name, for what is no frame of this
/// version.
Frame frame_of(std::span<const std::byte, frame_bytes> bytes);

/// How one process makes itself known to another: that it belongs to this run of the program, and
/// runs the same plan. What it knows that a stranger does not is the token.
struct Greeting {
  std::array<std::uint64_t, 2> token{};
  std::uint32_t version = frame_version;
  std::uint32_t process = 0;
  std::uint32_t processes = 0;
  std::uint64_t plan = 0;  // its hash
};

/// A token that nobody can guess.
std::array<std::uint64_t, 2> random_token();

constexpr std::size_t greeting_bytes = 40;
ByteWriter bytes_of(const Greeting& greeting);

/// What is wrong with a greeting.
enum class Acquaintance { peer, stranger, other_version, other_plan, other_processes };

/// Reads a greeting and holds it against one's own.
Acquaintance acquaintance(std::span<const std::byte, greeting_bytes> bytes, const Greeting& own,
                          Greeting& read);

}  // namespace penstock
