#include "validate/processes/control.hpp"

#include <array>
#include <stdexcept>

namespace penstock {
namespace {

constexpr std::chrono::seconds limit{10};
constexpr std::uint32_t most_bytes = std::uint32_t{1} << 26;  // spans of the largest plan: 4 MB

template <class Thing, class Put>
ByteWriter list_of(const std::vector<Thing>& things, const Put& put) {
  ByteWriter out;
  out.u32(static_cast<std::uint32_t>(things.size()));
  for (const Thing& thing : things) put(out, thing);
  return out;
}

template <class Thing, class Take>
std::vector<Thing> list_in(const ControlMessage& message, std::size_t least_bytes,
                           const Take& take) {
  ByteReader in(message.body);
  std::vector<Thing> things(in.count(least_bytes));
  for (Thing& thing : things) thing = take(in);
  return things;
}

}  // namespace

void Control::send(Word word, const ByteWriter& body) {
  ByteWriter head;
  head.u32(static_cast<std::uint32_t>(word));
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
  ControlMessage message{static_cast<Word>(in.u32()), {}};
  const std::uint32_t bytes = in.u32();
  if (message.word > Word::broken || bytes > most_bytes) {
    throw std::runtime_error("sent what is no message");
  }
  message.body.resize(bytes);
  if (!receive_all(socket_, message.body, after(limit))) {
    throw SocketError("closed its connection in the middle of a message");
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

std::map<std::string, std::string> environment_in(const ControlMessage& message) {
  ByteReader in(message.body);
  std::map<std::string, std::string> environment;
  for (std::uint32_t left = in.count(8); left > 0; --left) {
    const std::string name = in.text();
    environment[name] = in.text();
  }
  return environment;
}

ByteWriter body_of(const std::vector<std::int64_t>& profile) {
  return list_of(profile, [](ByteWriter& out, std::int64_t ns) { out.i64(ns); });
}

std::vector<std::int64_t> profile_in(const ControlMessage& message) {
  return list_in<std::int64_t>(message, 8, [](ByteReader& in) { return in.i64(); });
}

ByteWriter body_of(const std::vector<TaskSpan>& spans) {
  return list_of(spans, [](ByteWriter& out, const TaskSpan& one) {
    out.u32(one.task);
    out.i64(one.span.begin_ns);
    out.i64(one.span.end_ns);
  });
}

std::vector<TaskSpan> spans_in(const ControlMessage& message) {
  return list_in<TaskSpan>(message, 20, [](ByteReader& in) {
    return TaskSpan{in.u32(), {in.i64(), in.i64()}};
  });
}

ByteWriter body_of(const RunFault& fault) {
  ByteWriter out;
  out.text(fault.kind);
  out.u32(index(fault.rank));
  out.text(fault.text);
  return out;
}

RunFault fault_in(const ControlMessage& message) {
  ByteReader in(message.body);
  return {in.text(), Rank{in.u32()}, in.text()};
}

ByteWriter body_of(const Standing& standing) {
  ByteWriter out;
  out.u32(standing.run);
  out.u32(standing.active);
  out.u32(standing.waiting);
  out.u64(standing.sent);
  out.u64(standing.received);
  return out;
}

Standing standing_in(const ControlMessage& message) {
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
