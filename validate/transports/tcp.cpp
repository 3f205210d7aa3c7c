#include "validate/transports/tcp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace penstock {
namespace {

/// The most words that one process sends another in one message.
std::size_t most_words(const std::vector<BoxSpec>& boxes) {
  std::size_t most = 0;
  for (const BoxSpec& box : boxes) most = std::max(most, box.words);
  return most;
}

}  // namespace

TcpLinks::TcpLinks(std::vector<BoxSpec> boxes, std::vector<RankGroup> groups, std::uint32_t self,
                   std::vector<Descriptor> sockets, std::chrono::milliseconds patience)
    : specs_(std::move(boxes)),
      groups_(std::move(groups)),
      self_(self),
      patience_(patience),
      boxes_(specs_.size()),
      wake_(groups_.back().end),
      waits_for_(groups_.back().end) {
  for (std::size_t box = 0; box < specs_.size(); ++box) {
    if (is_here(specs_[box].reader)) boxes_[box].words.resize(specs_[box].words);
  }
  for (Descriptor& socket : sockets) {
    const bool is_other = static_cast<bool>(socket);
    connections_.push_back(is_other ? std::make_unique<Connection>() : nullptr);
    if (!is_other) continue;
    connections_.back()->socket = std::move(socket);
    connections_.back()->out.reserve(frame_bytes + 8 * most_words(specs_));
  }
  try {
    for (std::uint32_t process = 0; process < connections_.size(); ++process) {
      if (connections_[process]) readers_.emplace_back([this, process] { receive_from(process); });
    }
  } catch (...) {
    end_connections();  // those that were started
    throw;
  }
}

TcpLinks::~TcpLinks() { end_connections(); }

void TcpLinks::end_connections() {
  closing_ = true;
  for (const auto& connection : connections_) {
    if (connection) end_connection(connection->socket);
  }
}

void TcpLinks::clear() {
  const std::lock_guard lock(mutex_);
  ++progress_.run;
  progress_.active = groups_[self_].size();
  progress_.waiting = 0;
  std::fill(waits_for_.begin(), waits_for_.end(), std::nullopt);
  deadlock_.clear();
  halted_ = broken_.has_value();
}

void TcpLinks::post(std::size_t box, const Message& message, std::span<const std::uint64_t> words) {
  const std::uint32_t reader = specs_[box].reader;
  if (is_here(reader)) {
    // Nobody reads a box before it is filled.
    std::copy(words.begin(), words.end(), boxes_[box].words.begin());
    boxes_[box].message = message;
    const std::lock_guard lock(mutex_);
    return fill(box, progress_.run);
  }
  Frame frame{0, static_cast<std::uint32_t>(box), message, words.size()};
  {
    const std::lock_guard lock(mutex_);
    if (halted_) return;
    frame.run = progress_.run;
    ++progress_.sent;
  }
  send(process_of(groups_, reader), frame, words);
}

/// Marks a box as filled and wakes its reader.
void TcpLinks::fill(std::size_t box, std::uint32_t run) {
  const std::uint32_t reader = specs_[box].reader;
  boxes_[box].filled_in = run;
  if (waits_for_[reader] != box || run != progress_.run) return;
  wait_no_more(reader);
  wake_[reader].notify_one();
}

void TcpLinks::wait_no_more(std::uint32_t rank) {
  if (!waits_for_[rank]) return;
  waits_for_[rank].reset();
  ++progress_.active;
  --progress_.waiting;
}

void TcpLinks::send(std::uint32_t process, const Frame& frame,
                    std::span<const std::uint64_t> words) {
  Connection& connection = *connections_[process];
  try {
    const std::lock_guard lock(connection.mutex);
    connection.out.clear();
    put_frame(connection.out, frame);
    connection.out.words(words);
    send_all(connection.socket, connection.out.bytes(), after(patience_));
  } catch (const SocketError& error) {
    break_off(process, error.what());
  }
}

std::optional<Message> TcpLinks::take(std::size_t box, std::span<std::uint64_t> words) {
  const std::uint32_t rank = specs_[box].reader;
  {
    std::unique_lock lock(mutex_);
    const auto is_filled = [&] { return boxes_[box].filled_in == progress_.run; };
    if (!is_filled() && !halted_) {
      waits_for_[rank] = box;
      --progress_.active;
      ++progress_.waiting;
    }
    if (!wake_[rank].wait_for(lock, patience_, [&] { return is_filled() || halted_; })) {
      fail(rank, fmt::format("rank {} waited longer than {} s", rank, patience_.count() / 1e3));
    }
    wait_no_more(rank);
    if (!is_filled()) return std::nullopt;
  }
  std::copy(boxes_[box].words.begin(), boxes_[box].words.end(), words.begin());
  return boxes_[box].message;
}

void TcpLinks::finish(std::uint32_t) {
  const std::lock_guard lock(mutex_);
  --progress_.active;
}

void TcpLinks::halt() {
  const std::lock_guard lock(mutex_);
  wake_all();
}

void TcpLinks::halt_stuck() {
  const std::lock_guard lock(mutex_);
  if (progress_.waiting > 0 && !halted_) deadlock_ = waits_for_;
  wake_all();
}

void TcpLinks::wake_all() {
  halted_ = true;
  for (std::condition_variable& rank : wake_) rank.notify_one();
}

std::vector<std::optional<std::size_t>> TcpLinks::deadlock() const {
  const std::lock_guard lock(mutex_);
  return deadlock_;
}

std::optional<TransportFailure> TcpLinks::failure() const {
  const std::lock_guard lock(mutex_);
  if (broken_ || !halted_ || !deadlock_.empty()) return broken_;
  return TransportFailure{Rank{groups_[self_].first}, "the run was halted"};
}

Progress TcpLinks::progress() const {
  const std::lock_guard lock(mutex_);
  return progress_;
}

/// The thread of a connection.
void TcpLinks::receive_from(std::uint32_t process) {
  try {
    while (receive_tensor(process)) continue;
    break_off(process, "closed its connection");
  } catch (const std::exception& error) {
    break_off(process, error.what());
  }
}

/// Returns whether a tensor arrived.
bool TcpLinks::receive_tensor(std::uint32_t process) {
  const Descriptor& socket = connections_[process]->socket;
  std::array<std::byte, frame_bytes> bytes{};
  await_arrival(socket);
  if (!receive_all(socket, bytes, after(patience_))) return false;
  const Frame frame = frame_of(bytes);
  check(frame, process);
  const bool wanted = is_wanted(frame);
  std::vector<std::uint64_t> unwanted(wanted ? 0 : frame.words);
  const std::span<std::uint64_t> words = wanted ? boxes_[frame.box].words : unwanted;
  if (!receive_all(socket, std::as_writable_bytes(words), after(patience_))) {
    throw SocketError("closed its connection within a message");
  }
  to_native(words);
  const std::lock_guard lock(mutex_);
  ++progress_.received;
  if (!wanted) return true;
  boxes_[frame.box].message = frame.message;
  fill(frame.box, frame.run);
  return true;
}

/// Rejects a frame unless a box of this size expects it.
void TcpLinks::check(const Frame& frame, std::uint32_t process) const {
  if (frame.box >= specs_.size()) {
    throw std::runtime_error(fmt::format("sent a tensor for an unknown box, {}", frame.box));
  }
  const BoxSpec& spec = specs_[frame.box];
  if (!is_here(spec.reader) || !groups_[process].contains(spec.sender)) {
    throw std::runtime_error(
        fmt::format("sent a tensor for a box of another process, {}", frame.box));
  }
  if (frame.words != spec.words) {
    throw std::runtime_error(
        fmt::format("sent {} words instead of {} for box {}", frame.words, spec.words, frame.box));
  }
}

/// Whether a tensor is wanted: leftovers of a halted run are not. A process that learns of a halt
/// earlier may already be in the next run, after all ranks here have finished this one.
bool TcpLinks::is_wanted(const Frame& frame) const {
  const std::lock_guard lock(mutex_);
  if (frame.run > progress_.run + 1) {
    throw std::runtime_error(
        fmt::format("sent a tensor of run {} in run {}", frame.run, progress_.run));
  }
  if (frame.run < progress_.run) return false;
  if (boxes_[frame.box].filled_in < frame.run) return true;
  throw std::runtime_error(fmt::format("sent a second tensor for box {}", frame.box));
}

void TcpLinks::break_off(std::uint32_t process, const std::string& what) {
  if (closing_) return;
  {
    const std::lock_guard lock(mutex_);
    fail(groups_[self_].first, fmt::format("{} {}", process_text(groups_, process), what));
  }
  end_connection(connections_[process]->socket);
}

/// The first failure counts.
void TcpLinks::fail(std::uint32_t rank, std::string text) {
  if (!broken_) broken_ = TransportFailure{Rank{rank}, std::move(text)};
  wake_all();
}

}  // namespace penstock
