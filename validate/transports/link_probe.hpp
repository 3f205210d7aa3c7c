#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace penstock {

/// How tensors travel within one computer.
enum class TransportKind : std::uint8_t { mailboxes, tcp };

/// "mailboxes", "tcp".
std::string_view name(TransportKind kind);

/// Times of a tensor from one thread to another, in nanoseconds of real time: half of each round
/// trip, in order. Includes the wake-up of a waiting thread. Bytes are rounded up to words of 8.
/// TCP uses sockets of two ends on loopback, as between processes, but in one address space.
///
/// Throws std::runtime_error when this computer refuses.
std::vector<double> measure_link(TransportKind kind, std::size_t bytes, std::uint32_t repeats);

}  // namespace penstock
