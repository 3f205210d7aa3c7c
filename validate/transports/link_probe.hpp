#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace penstock {

/// What tensors can go by on one computer.
enum class TransportKind : std::uint8_t { mailboxes, tcp };

/// "mailboxes", "tcp".
std::string_view name(TransportKind kind);

/// How long a tensor takes from one thread to another, in nanoseconds of real time: half of each of
/// so many round trips, in the order they were made. What wakes a thread that waits is part of it.
/// Bytes are rounded up to whole words of 8. By TCP it goes through the sockets of two ends on
/// loopback, as between processes, but without a change of the address space.
///
/// Throws std::runtime_error where this computer does not let it.
std::vector<double> measure_link(TransportKind kind, std::size_t bytes, std::uint32_t repeats);

}  // namespace penstock
