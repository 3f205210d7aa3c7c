#include "validate/processes/round.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace penstock {
namespace {

/// How often processes are asked how far they are: rarely enough not to disturb a run.
constexpr std::chrono::milliseconds between_waves{25};

double seconds(std::chrono::milliseconds length) {
  return static_cast<double>(length.count()) / 1e3;
}

}  // namespace

ProcessRound::ProcessRound(const Children& children, const std::vector<RankGroup>& groups,
                           const Watch& watch)
    : children_(children), groups_(groups), watch_(watch), end_(after(watch.limit)) {
  parties_.resize(children.size());
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
  for (Party& party : parties_) all.push_back(std::move(*party.answer));
  return all;
}

std::optional<std::vector<ControlMessage>> ProcessRound::ask(Word word, const ByteWriter& body) {
  for (std::uint32_t process = 0; process < parties_.size(); ++process) say(process, word, body);
  return answers();
}

bool ProcessRound::done() const {
  return lost_ || std::all_of(parties_.begin(), parties_.end(),
                              [](const Party& party) { return party.answer && !party.asked; });
}

/// To all of them: one that has answered may still end.
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
  Party& party = parties_[process];
  if (message.word == Word::broken) return lose(process, "cannot go on: " + text_in(message));
  if (message.word == Word::standing) {
    party.standing = standing_in(message);
    return party.asked.reset();
  }
  if (message.word == Word::fault && !halting_) halting_ = Word::halt;
  party.answer = std::move(message);
}

/// What became of the process says more than what became of its connection.
void ProcessRound::lose_contact(std::uint32_t process, const std::string& what) {
  if (lost_) return;
  const auto ending = children_[process]->ending(after(std::chrono::milliseconds(500)));
  lose(process, ending ? "ended: " + *ending : what);
}

/// The first is what counts: others follow from it.
void ProcessRound::lose(std::uint32_t process, const std::string& what) {
  if (lost_) return;
  lost_ = Standstill{"lost_process",
                     Rank{groups_[process].first},
                     {},
                     fmt::format("{} {}", process_text(groups_, process), what)};
}

void ProcessRound::say(std::uint32_t process, Word word, const ByteWriter& body) {
  try {
    children_[process]->control().send(word, body);
  } catch (const SocketError& error) {
    listen(std::chrono::steady_clock::now());  // to its last words
    lose_contact(process, error.what());
  }
}

/// From time to time.
void ProcessRound::look() {
  look_at_time();
  if (watch_.silence.count() == 0 || lost_) return;
  look_at_wave();
  for (std::uint32_t process = 0; halting_ && process < parties_.size(); ++process) {
    // Again and again: it may not have begun yet.
    if (!parties_[process].answer) say(process, *halting_);
  }
  ask_how_far();
}

void ProcessRound::look_at_time() {
  const Moment now = std::chrono::steady_clock::now();
  for (std::uint32_t process = 0; process < parties_.size(); ++process) {
    const Party& party = parties_[process];
    if (party.asked && now - *party.asked > watch_.silence) {
      lose(process, fmt::format("said nothing for {} s", seconds(watch_.silence)));
    } else if (!party.answer && now > end_) {
      lose(process, fmt::format("was not through after {} s", seconds(watch_.limit)));
    }
  }
}

void ProcessRound::look_at_wave() {
  const auto has_answered = [](const Party& party) { return party.standing.has_value(); };
  if (!std::all_of(parties_.begin(), parties_.end(), has_answered)) return;
  const std::optional<std::uint64_t> sent = sent_by_all_who_wait();
  if (sent && sent == waited_ && !halting_) halting_ = Word::halt_stuck;
  waited_ = sent;
  for (Party& party : parties_) party.standing.reset();
}

/// How many tensors were sent, when every rank waits or is through and none is on its way.
std::optional<std::uint64_t> ProcessRound::sent_by_all_who_wait() const {
  Standing all;
  for (const Party& party : parties_) {
    if (party.standing->run != watch_.run) return std::nullopt;
    all.active += party.standing->active;
    all.waiting += party.standing->waiting;
    all.sent += party.standing->sent;
    all.received += party.standing->received;
  }
  if (all.active > 0 || all.waiting == 0 || all.sent != all.received) return std::nullopt;
  return all.sent;
}

void ProcessRound::ask_how_far() {
  for (std::uint32_t process = 0; process < parties_.size(); ++process) {
    Party& party = parties_[process];
    if (party.asked || party.standing) continue;
    party.asked = std::chrono::steady_clock::now();
    say(process, Word::report);
  }
}

}  // namespace penstock
