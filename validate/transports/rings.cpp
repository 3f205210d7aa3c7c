#include "validate/transports/rings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>
#include <type_traits>

#include "validate/machine/clock.hpp"

namespace penstock {
namespace {

// States of a rank that waits for no box.
constexpr std::uint64_t runs = UINT64_MAX;
constexpr std::uint64_t finished = UINT64_MAX - 1;

constexpr std::uint32_t no_ring = UINT32_MAX;
constexpr std::uint32_t no_rank = UINT32_MAX;

/// The header of a tensor.
struct Header {
  std::uint64_t box;
  Message message;
};
static_assert(std::is_trivially_copyable_v<Header>);
constexpr std::size_t header_words = sizeof(Header) / sizeof(std::uint64_t);
static_assert(sizeof(Header) == header_words * sizeof(std::uint64_t));
using HeaderWords = std::array<std::uint64_t, header_words>;

Header front_of(const Ring& ring) {
  HeaderWords words{};
  ring.peek(0, words);
  return std::bit_cast<Header>(words);
}

/// The words that each pair of ranks sends in one run, limited to the most that a ring may hold.
std::vector<std::size_t> ring_words(const std::vector<BoxSpec>& boxes, std::uint32_t ranks,
                                    std::size_t most_words) {
  std::vector<std::size_t> all(std::size_t{ranks} * ranks);
  std::vector<std::size_t> largest(all.size());
  for (const BoxSpec& box : boxes) {
    const std::size_t pair = std::size_t{box.sender} * ranks + box.reader;
    all[pair] += header_words + box.words;
    largest[pair] = std::max(largest[pair], header_words + box.words);
  }
  for (std::size_t pair = 0; pair < all.size(); ++pair) {
    all[pair] = std::min(all[pair], std::max(most_words, largest[pair]));
  }
  return all;
}

template <class T>
std::size_t bytes_of(std::size_t count) {
  return alignof(T) + count * sizeof(T);
}

std::size_t ring_bytes(const std::vector<std::size_t>& words) {
  std::size_t bytes = 0;
  for (const std::size_t one : words) bytes += one == 0 ? 0 : Ring::bytes(one);
  return bytes;
}

}  // namespace

RingTransport::RingTransport(const std::vector<BoxSpec>& boxes, std::uint32_t ranks,
                             const RingLimits& limits)
    : ranks_(ranks),
      limits_(limits),
      ring_words_(ring_words(boxes, ranks, limits.most_words)),
      memory_(bytes_of<RunState>(1) + bytes_of<RankLine>(ranks) + ring_bytes(ring_words_)),
      state_(new (memory_.take(sizeof(RunState), alignof(RunState))) RunState{}),
      lines_(new (memory_.take(ranks * sizeof(RankLine), alignof(RankLine))) RankLine[ranks],
             ranks) {
  add_rings();
  for (const BoxSpec& box : boxes) {
    boxes_.push_back({box.sender, box.reader, std::vector<std::uint64_t>(box.words), {}, false});
  }
  clear();
}

void RingTransport::add_rings() {
  ring_index_.assign(ring_words_.size(), no_ring);
  senders_.resize(ranks_);
  for (std::size_t pair = 0; pair < ring_words_.size(); ++pair) {
    if (ring_words_[pair] == 0) continue;
    ring_index_[pair] = static_cast<std::uint32_t>(rings_.size());
    senders_[pair % ranks_].push_back(static_cast<std::uint32_t>(pair / ranks_));
    rings_.emplace_back(memory_, ring_words_[pair]);
  }
}

void RingTransport::clear() {
  for (Ring& ring : rings_) ring.clear();
  for (Box& box : boxes_) box.parked = false;
  for (RankLine& line : lines_) line.waits_for.store(runs);
  state_->halted.store(0);
  state_->deadlocked.store(0);
  state_->gave_up.store(0);
}

Ring& RingTransport::ring_of(std::uint32_t sender, std::uint32_t reader) {
  return rings_[ring_index_[std::size_t{sender} * ranks_ + reader]];
}

void RingTransport::post(std::size_t box, const Message& message,
                         std::span<const std::uint64_t> words) {
  const Header header{box, message};
  HeaderWords head{};
  std::memcpy(head.data(), &header, sizeof(header));
  const std::uint32_t sender = boxes_[box].sender;
  Ring& ring = ring_of(sender, boxes_[box].reader);
  spin_until(sender, no_rank, [&] { return ring.write(head, words); });
}

std::optional<Message> RingTransport::take(std::size_t box, std::span<std::uint64_t> words) {
  std::optional<Message> came = receive(box, words);
  if (came) return came;
  const std::uint32_t rank = boxes_[box].reader;
  lines_[rank].waits_for.store(box);
  spin_until(rank, boxes_[box].sender, [&] {
    came = receive(box, words);
    return came.has_value();
  });
  return came;
}

/// The tensor of a box, if it has arrived. Earlier tensors on the same ring are parked.
std::optional<Message> RingTransport::receive(std::size_t box, std::span<std::uint64_t> words) {
  const Box& wanted = boxes_[box];
  if (wanted.parked) {
    std::copy(wanted.words.begin(), wanted.words.end(), words.begin());
    return wanted.message;
  }
  Ring& ring = ring_of(wanted.sender, wanted.reader);
  while (ring.readable() > 0) {
    const Header header = front_of(ring);
    if (header.box != box) {
      park(ring, header.box, header.message);
      continue;
    }
    ring.peek(header_words, words.first(wanted.words.size()));
    // First: whoever sees the ring empty must not see its reader as still waiting.
    lines_[wanted.reader].waits_for.store(runs);
    ring.drop(header_words + wanted.words.size());
    return header.message;
  }
  return std::nullopt;
}

/// Parks the first tensor of a ring.
void RingTransport::park(Ring& ring, std::size_t box, const Message& message) {
  Box& place = boxes_[box];
  ring.peek(header_words, place.words);
  place.message = message;
  place.parked = true;
  ring.drop(header_words + place.words.size());
}

void RingTransport::empty_rings(std::uint32_t reader, std::uint32_t except_of) {
  for (const std::uint32_t sender : senders_[reader]) {
    if (sender == except_of) continue;
    Ring& ring = ring_of(sender, reader);
    while (ring.readable() > 0) {
      const Header header = front_of(ring);
      park(ring, header.box, header.message);
    }
  }
}

/// Retries until success or until the run is halted.
template <class Attempt>
void RingTransport::spin_until(std::uint32_t rank, std::uint32_t except_of,
                               const Attempt& attempt) {
  constexpr std::uint32_t rounds_between_other_rings = 64;
  constexpr std::uint32_t rounds_between_looks = 4096;
  std::int64_t began_ns = 0;
  for (std::uint32_t rounds = 1; !attempt(); ++rounds) {
    if (state_->halted.load() != 0) return;
    if (rounds % rounds_between_other_rings == 0) empty_rings(rank, except_of);
    if (rounds % rounds_between_looks == 0) {
      if (began_ns == 0) began_ns = monotonic_ns();
      look_around(rank, monotonic_ns() - began_ns);
    }
    spin_pause();
  }
}

/// Called after a long wait.
void RingTransport::look_around(std::uint32_t rank, std::int64_t waited_ns) {
  constexpr std::int64_t long_ns = 2'000'000;
  if (waited_ns > limits_.patience_ns) {
    state_->gave_up.store(std::uint64_t{rank} + 1);
    halt();
  } else if (waited_ns > long_ns) {
    halt_if_stuck();
  }
}

void RingTransport::finish(std::uint32_t rank) { lines_[rank].waits_for.store(finished); }

void RingTransport::halt() { state_->halted.store(1); }

std::vector<std::uint64_t> RingTransport::waits() const {
  std::vector<std::uint64_t> all;
  for (const RankLine& line : lines_) all.push_back(line.waits_for.load());
  return all;
}

/// No rank waits for a box twice. If all wait for the same boxes before and after a check of their
/// rings, they waited all the time and nobody could send: the missing tensors never arrive.
void RingTransport::halt_if_stuck() {
  const std::vector<std::uint64_t> before = waits();
  const auto waits_for_a_box = [](std::uint64_t one) { return one < finished; };
  if (std::count(before.begin(), before.end(), runs) > 0) return;
  if (std::none_of(before.begin(), before.end(), waits_for_a_box)) return;
  for (std::uint32_t reader = 0; reader < ranks_; ++reader) {
    if (!waits_for_a_box(before[reader])) continue;
    for (const std::uint32_t sender : senders_[reader]) {
      if (!ring_of(sender, reader).empty()) return;
    }
  }
  if (waits() != before) return;
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) lines_[rank].stuck_on.store(before[rank]);
  state_->deadlocked.store(1);
  halt();
}

std::vector<std::optional<std::size_t>> RingTransport::deadlock() const {
  std::vector<std::optional<std::size_t>> boxes;
  if (state_->deadlocked.load() == 0) return boxes;
  for (const RankLine& line : lines_) {
    const std::uint64_t box = line.stuck_on.load();
    boxes.push_back(box < finished ? std::optional<std::size_t>(box) : std::nullopt);
  }
  return boxes;
}

std::optional<TransportFailure> RingTransport::failure() const {
  const std::uint64_t gave_up = state_->gave_up.load();
  if (gave_up == 0) return std::nullopt;
  const auto rank = static_cast<std::uint32_t>(gave_up - 1);
  return TransportFailure{
      Rank{rank}, fmt::format("rank {} waited longer than {} s for others that did not wait", rank,
                              static_cast<double>(limits_.patience_ns) * 1e-9)};
}

static_assert(std::atomic<std::uint64_t>::is_always_lock_free,
              "atomics shared by processes must be lock-free");

std::size_t Ring::bytes(std::size_t words) {
  return alignof(Ends) + sizeof(Ends) + words * sizeof(std::uint64_t);
}

Ring::Ring(SharedMemory& memory, std::size_t words)
    : ends_(new (memory.take(sizeof(Ends), alignof(Ends))) Ends{}),
      words_(new (memory.take(words * sizeof(std::uint64_t), alignof(std::uint64_t)))
                 std::uint64_t[words],
             words) {}

void Ring::clear() {
  ends_->written.store(0, std::memory_order_relaxed);
  ends_->dropped.store(0, std::memory_order_relaxed);
}

bool Ring::write(std::span<const std::uint64_t> head, std::span<const std::uint64_t> body) {
  const std::uint64_t at = ends_->written.load(std::memory_order_relaxed);
  const std::uint64_t used = at - ends_->dropped.load(std::memory_order_acquire);
  if (head.size() + body.size() > words_.size() - used) return false;
  ends_->written.store(copy_in(copy_in(at, head), body), std::memory_order_release);
  return true;
}

std::uint64_t Ring::copy_in(std::uint64_t at, std::span<const std::uint64_t> words) {
  const std::size_t place = at % words_.size();
  const std::size_t until_end = std::min(words.size(), words_.size() - place);
  std::copy_n(words.begin(), until_end, words_.begin() + static_cast<std::ptrdiff_t>(place));
  std::copy(words.begin() + static_cast<std::ptrdiff_t>(until_end), words.end(), words_.begin());
  return at + words.size();
}

std::size_t Ring::readable() const {
  return ends_->written.load(std::memory_order_acquire) -
         ends_->dropped.load(std::memory_order_relaxed);
}

void Ring::peek(std::size_t first, std::span<std::uint64_t> words) const {
  const std::uint64_t at = ends_->dropped.load(std::memory_order_relaxed) + first;
  const std::size_t place = at % words_.size();
  const std::size_t until_end = std::min(words.size(), words_.size() - place);
  std::copy_n(words_.begin() + static_cast<std::ptrdiff_t>(place), until_end, words.begin());
  std::copy_n(words_.begin(), words.size() - until_end,
              words.begin() + static_cast<std::ptrdiff_t>(until_end));
}

void Ring::drop(std::size_t words) {
  const std::uint64_t at = ends_->dropped.load(std::memory_order_relaxed);
  ends_->dropped.store(at + words, std::memory_order_release);
}

bool Ring::empty() const {
  // In this order: dropped words were written earlier.
  const std::uint64_t dropped = ends_->dropped.load(std::memory_order_acquire);
  return ends_->written.load(std::memory_order_acquire) == dropped;
}

}  // namespace penstock
