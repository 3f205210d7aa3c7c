#include "validate/processes/round.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace penstock {
namespace {

/// Interval of progress requests: rare enough not to disturb a run.
constexpr std::chrono::milliseconds between_waves{25};

double seconds(std::chrono::milliseconds length) {
  return static_cast<double>(length.count()) / 1e3;
}

}  // namespace

ProcessRound::ProcessRound(const Children& children, const std::vector<RankGroup>& groups,
                           const Watch& watch)
    : children_(children), groups_(groups), watch_(watch), end_(after(watch.limit)) {
  peers_.resize(children.size());
}

std::optional<std::vector<ControlMessage>> ProcessRound::answers() {
  Moment next = after(between_waves);
  while (!done()) {
    listen(next);
    if (std::chrono::steady_clock::now() < next) continue;
    look();
    next = after(between_waves);
  }
  if (lost_) return std::nullopt;
  std::vector<ControlMessage> all;
  for (Peer& peer : peers_) all.push_back(std::move(*peer.answer));
  return all;
}

std::optional<std::vector<ControlMessage>> ProcessRound::ask(MessageType type,
                                                             const ByteWriter& body) {
  for (std::uint32_t process = 0; process < peers_.size(); ++process) say(process, type, body);
  return answers();
}

bool ProcessRound::done() const {
  return lost_ || std::all_of(peers_.begin(), peers_.end(),
                              [](const Peer& peer) { return peer.answer && !peer.asked; });
}

/// To all: one that has answered may still end.
void ProcessRound::listen(Moment until) {
  std::vector<pollfd> sockets;
  for (const auto& child : children_) {
    sockets.push_back({child->control().socket().number(), POLLIN, 0});
  }
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
  poll(sockets.data(), sockets.size(), static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
  for (std::uint32_t process = 0; process < sockets.size(); ++process) {
    if (sockets[process].revents != 0) hear(process);
  }
}

void ProcessRound::hear(std::uint32_t process) {
  try {
    auto message = children_[process]->control().receive();
    if (message) return note(process, std::move(*message));
    lose_contact(process, "closed its connection");
  } catch (const std::runtime_error& error) {
    lose_contact(process, error.what());
  }
}

void ProcessRound::note(std::uint32_t process, ControlMessage message) {
  Peer& peer = peers_[process];
  if (message.type == MessageType::broken)
    return lose(process, "cannot go on: " + text_in(message));
  if (message.type == MessageType::progress) {
    peer.progress = progress_in(message);
    return peer.asked.reset();
  }
  if (message.type == MessageType::fault && !halting_) halting_ = MessageType::halt;
  peer.answer = std::move(message);
}

/// How the process ended is more informative than its connection.
void ProcessRound::lose_contact(std::uint32_t process, const std::string& what) {
  if (lost_) return;
  const auto ending = children_[process]->ending(after(std::chrono::milliseconds(500)));
  lose(process, ending ? "ended: " + *ending : what);
}

/// The first loss counts; others follow from it.
void ProcessRound::lose(std::uint32_t process, const std::string& what) {
  if (lost_) return;
  lost_ = Standstill{"lost_process",
                     Rank{groups_[process].first},
                     {},
                     fmt::format("{} {}", process_text(groups_, process), what)};
}

void ProcessRound::say(std::uint32_t process, MessageType type, const ByteWriter& body) {
  try {
    children_[process]->control().send(type, body);
  } catch (const SocketError& error) {
    listen(std::chrono::steady_clock::now());  // its last messages
    lose_contact(process, error.what());
  }
}

/// Called periodically.
void ProcessRound::look() {
  look_at_time();
  if (watch_.silence.count() == 0 || lost_) return;
  look_at_wave();
  for (std::uint32_t process = 0; halting_ && process < peers_.size(); ++process) {
    // Repeated: it may not have started yet.
    if (!peers_[process].answer) say(process, *halting_);
  }
  ask_how_far();
}

void ProcessRound::look_at_time() {
  const Moment now = std::chrono::steady_clock::now();
  for (std::uint32_t process = 0; process < peers_.size(); ++process) {
    const Peer& peer = peers_[process];
    if (peer.asked && now - *peer.asked > watch_.silence) {
      lose(process, fmt::format("did not answer for {} s", seconds(watch_.silence)));
    } else if (!peer.answer && now > end_) {
      lose(process, fmt::format("did not finish within {} s", seconds(watch_.limit)));
    }
  }
}

void ProcessRound::look_at_wave() {
  const auto has_answered = [](const Peer& peer) { return peer.progress.has_value(); };
  if (!std::all_of(peers_.begin(), peers_.end(), has_answered)) return;
  const std::optional<std::uint64_t> sent = sent_by_all_who_wait();
  if (sent && sent == waited_ && !halting_) halting_ = MessageType::halt_stuck;
  waited_ = sent;
  for (Peer& peer : peers_) peer.progress.reset();
}

/// The number of tensors sent, when every rank waits or has finished and no tensor is in flight.
std::optional<std::uint64_t> ProcessRound::sent_by_all_who_wait() const {
  Progress all;
  for (const Peer& peer : peers_) {
    if (peer.progress->run != watch_.run) return std::nullopt;
    all.active += peer.progress->active;
    all.waiting += peer.progress->waiting;
    all.sent += peer.progress->sent;
    all.received += peer.progress->received;
  }
  if (all.active > 0 || all.waiting == 0 || all.sent != all.received) return std::nullopt;
  return all.sent;
}

void ProcessRound::ask_how_far() {
  for (std::uint32_t process = 0; process < peers_.size(); ++process) {
    Peer& peer = peers_[process];
    if (peer.asked || peer.progress) continue;
    peer.asked = std::chrono::steady_clock::now();
    say(process, MessageType::report);
  }
}

}  // namespace penstock
