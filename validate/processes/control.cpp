#include "validate/processes/control.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace penstock {
namespace {

constexpr std::chrono::seconds limit{10};
constexpr std::uint32_t most_bytes = std::uint32_t{1} << 30;  // spans of the largest plan: 4 MB

template <class Thing, class Put>
void put_list(ByteWriter& out, const std::vector<Thing>& things, const Put& put) {
  out.u32(static_cast<std::uint32_t>(things.size()));
  for (const Thing& thing : things) put(out, thing);
}

template <class Thing, class Put>
ByteWriter list_of(const std::vector<Thing>& things, const Put& put) {
  ByteWriter out;
  put_list(out, things, put);
  return out;
}

/// Reads a list of things of at least this many bytes each.
template <class Thing, class Take>
std::vector<Thing> take_list(ByteReader& in, std::size_t least_bytes, const Take& take) {
  std::vector<Thing> things(in.count(least_bytes));
  for (Thing& thing : things) thing = take(in);
  return things;
}

template <class Thing, class Take>
std::vector<Thing> list_in(const ControlMessage& message, std::size_t least_bytes,
                           const Take& take) {
  ByteReader in(message.body);
  return take_list<Thing>(in, least_bytes, take);
}

}  // namespace

void Control::send(MessageType type, const ByteWriter& body) {
  ByteWriter head;
  head.u32(static_cast<std::uint32_t>(type));
  head.u32(static_cast<std::uint32_t>(body.bytes().size()));
  const std::lock_guard lock(mutex_);
  send_all(socket_, head.bytes(), after(limit));
  send_all(socket_, body.bytes(), after(limit));
}

std::optional<ControlMessage> Control::receive() {
  std::array<std::byte, 8> head{};
  await_arrival(socket_);
  if (!receive_all(socket_, head, after(limit))) return std::nullopt;
  ByteReader in(head);
  ControlMessage message{static_cast<MessageType>(in.u32()), {}};
  const std::uint32_t bytes = in.u32();
  if (message.type > MessageType::broken || bytes > most_bytes) {
    throw std::runtime_error("sent an invalid message");
  }
  message.body.resize(bytes);
  if (!receive_all(socket_, message.body, after(limit))) {
    throw SocketError("closed its connection within a message");
  }
  return message;
}

ByteWriter body_of(const std::vector<std::uint16_t>& ports) {
  return list_of(ports, [](ByteWriter& out, std::uint16_t port) { out.u32(port); });
}

std::vector<std::uint16_t> ports_in(const ControlMessage& message) {
  return list_in<std::uint16_t>(
      message, 4, [](ByteReader& in) { return static_cast<std::uint16_t>(in.u32()); });
}

ByteWriter body_of(const std::map<std::string, std::string>& environment) {
  ByteWriter out;
  out.u32(static_cast<std::uint32_t>(environment.size()));
  for (const auto& [name, value] : environment) {
    out.text(name);
    out.text(value);
  }
  return out;
}

std::map<std::string, std::string> merged_environment(const std::vector<ControlMessage>& answers) {
  std::map<std::string, std::vector<std::string>> values;
  for (const ControlMessage& answer : answers) {
    ByteReader in(answer.body);
    for (std::uint32_t left = in.count(8); left > 0; --left) {
      const std::string name = in.text();
      values[name].push_back(in.text());
    }
  }
  std::map<std::string, std::string> all;
  for (const auto& [name, each] : values) {
    const bool same = std::count(each.begin(), each.end(), each.front()) ==
                      static_cast<std::ptrdiff_t>(each.size());
    all[name] = same ? each.front() : fmt::format("{}", fmt::join(each, ", "));
  }
  return all;
}

ByteWriter body_of(const std::vector<Time>& profile) {
  return list_of(profile, [](ByteWriter& out, Time time) { out.i64(time.picoseconds); });
}

std::vector<Time> profile_in(const ControlMessage& message) {
  return list_in<Time>(message, 8, [](ByteReader& in) { return Time{in.i64()}; });
}

ByteWriter body_of(const PartRun& run) {
  ByteWriter out;
  put_list(out, run.spans, [](ByteWriter& to, const TaskSpan& one) {
    to.u32(one.task);
    to.i64(one.span.begin.picoseconds);
    to.i64(one.span.end.picoseconds);
  });
  put_list(out, run.disturbances, [](ByteWriter& to, const std::string& one) { to.text(one); });
  return out;
}

PartRun run_in(const ControlMessage& message) {
  ByteReader in(message.body);
  PartRun run;
  run.spans = take_list<TaskSpan>(in, 20, [](ByteReader& from) {
    return TaskSpan{from.u32(), {Time{from.i64()}, Time{from.i64()}}};
  });
  run.disturbances = take_list<std::string>(in, 4, [](ByteReader& from) { return from.text(); });
  return run;
}

ByteWriter body_of(const std::optional<TrainedNumbers>& numbers) {
  ByteWriter out;
  if (!numbers) return out;
  out.f64(numbers->loss);
  out.f64(numbers->copies_apart);
  for (const auto* layers : {&numbers->gradients, &numbers->weights}) {
    put_list(out, *layers, [](ByteWriter& to, const std::vector<double>& layer) {
      put_list(to, layer, [](ByteWriter& place, double one) { place.f64(one); });
    });
  }
  return out;
}

std::optional<TrainedNumbers> numbers_in(const ControlMessage& message) {
  ByteReader in(message.body);
  if (in.done()) return std::nullopt;
  TrainedNumbers numbers{in.f64(), {}};
  numbers.copies_apart = in.f64();
  for (auto* layers : {&numbers.gradients, &numbers.weights}) {
    *layers = take_list<std::vector<double>>(in, 4, [](ByteReader& from) {
      return take_list<double>(from, 8, [](ByteReader& place) { return place.f64(); });
    });
  }
  return numbers;
}

ByteWriter body_of(const Standstill& standstill) {
  ByteWriter out;
  out.text(standstill.kind);
  out.u32(index(standstill.rank.value()));
  out.text(standstill.text);
  return out;
}

Standstill standstill_in(const ControlMessage& message) {
  ByteReader in(message.body);
  return {in.text(), Rank{in.u32()}, {}, in.text()};
}

ByteWriter body_of(const Progress& progress) {
  ByteWriter out;
  out.u32(progress.run);
  out.u32(progress.active);
  out.u32(progress.waiting);
  out.u64(progress.sent);
  out.u64(progress.received);
  return out;
}

Progress progress_in(const ControlMessage& message) {
  ByteReader in(message.body);
  return {in.u32(), in.u32(), in.u32(), in.u64(), in.u64()};
}

ByteWriter body_of(const std::string& text) {
  ByteWriter out;
  out.text(text);
  return out;
}

std::string text_in(const ControlMessage& message) { return ByteReader(message.body).text(); }

}  // namespace penstock
