#include "validate/transports/tcp.hpp"

#include <doctest/doctest.h>

#include <array>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "validate/transports/tcp_peers.hpp"

namespace penstock::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TensorLabel tcp_label{TensorKind::gradient, 1, Microbatch{5}, 2};
const std::vector<RankGroup> two_ranks{{0, 1}, {1, 2}};

/// A tensor that no other box has.
std::vector<std::uint64_t> tcp_tensor_of(std::size_t box, std::size_t words) {
  std::vector<std::uint64_t> tensor(words);
  for (std::size_t i = 0; i < words; ++i) tensor[i] = 0x0102'0304'0506'0708U * (i + 1) + box;
  return tensor;
}

Message tcp_message_of(std::size_t box, std::size_t words) {
  return {tcp_label, checksum(tcp_tensor_of(box, words)), static_cast<std::int64_t>(box) - 7};
}

void post(Transport& transport, std::size_t box, std::size_t words) {
  transport.post(box, tcp_message_of(box, words), tcp_tensor_of(box, words));
}

void check_taken(Transport& transport, std::size_t box, std::size_t words) {
  CAPTURE(box);
  std::vector<std::uint64_t> received(words);
  const auto message = transport.take(box, received);
  REQUIRE(message);
  CHECK(message->label == tcp_label);
  CHECK(message->sum == checksum(received));
  CHECK(message->arrival_ns == static_cast<std::int64_t>(box) - 7);
  CHECK(received == tcp_tensor_of(box, words));
}

/// Rank 0 of process 0, with the other end of its connection to process 1 in the hand of the test.
struct Peer {
  Descriptor socket;
  std::unique_ptr<TcpLinks> links;
};

Peer peer(std::vector<BoxSpec> boxes, milliseconds patience = seconds(30)) {
  auto [ours, its] = connected_pair();
  std::vector<Descriptor> sockets(2);
  sockets[1] = std::move(its);
  auto links =
      std::make_unique<TcpLinks>(std::move(boxes), two_ranks, 0, std::move(sockets), patience);
  links->clear();
  return {std::move(ours), std::move(links)};
}

using Bytes = std::vector<std::byte>;

/// What process 1 sends for a box, or what a test makes of it.
Bytes bytes_of(const Frame& frame, const std::vector<std::uint64_t>& words) {
  ByteWriter out;
  put_frame(out, frame);
  out.words(words);
  return {out.bytes().begin(), out.bytes().end()};
}

Frame frame_for(std::uint32_t box, std::size_t words, std::uint32_t run = 1) {
  return {run, box, tcp_message_of(box, words), words};
}

Bytes tensor_bytes(std::uint32_t box, std::size_t words, std::uint32_t run = 1) {
  return bytes_of(frame_for(box, words, run), tcp_tensor_of(box, words));
}

void send(const Descriptor& socket, const Bytes& bytes) {
  send_all(socket, bytes, after(seconds(30)));
}

/// What the links of process 0 say after process 1 has sent this, and maybe closed.
std::string failure_after(const Bytes& bytes, bool closes = false) {
  Peer one = peer({{1, 0, 3}, {0, 1, 3}, {0, 0, 3}});
  send(one.socket, bytes);
  if (closes) one.socket = Descriptor();
  std::vector<std::uint64_t> received(3);
  if (one.links->take(2, received)) return "a tensor that nobody sent";  // until it is halted
  const auto failure = one.links->failure();
  return failure ? failure->text : "none";
}

}  // namespace

TEST_CASE("tcp: a frame has its lowest bytes first, on every machine") {
  const Frame frame{
      3, 0x0a0b, {{TensorKind::gradient, 7, Microbatch{9}, 4}, 0x1122'3344'5566'7788U, -2}, 1};
  const Bytes bytes = bytes_of(frame, {0x0102});
  REQUIRE(bytes.size() == frame_bytes + 8);
  const auto at = [&](std::size_t place) { return std::to_integer<int>(bytes[place]); };
  CHECK(at(0) == 'P');
  CHECK(at(4) == frame_version);
  CHECK(at(8) == 3);
  CHECK(at(12) == 0x0b);
  CHECK(at(13) == 0x0a);
  CHECK(at(16) == 1);
  CHECK(at(32) == 0x88);
  CHECK(at(39) == 0x11);
  CHECK(at(40) == 0xfe);
  CHECK(at(47) == 0xff);
  CHECK(at(48) == 1);
  CHECK(at(56) == 2);
  CHECK(at(57) == 1);
  const Frame read = frame_of(std::span(bytes).first<frame_bytes>());
  CHECK(read.run == frame.run);
  CHECK(read.box == frame.box);
  CHECK(read.message.label == frame.message.label);
  CHECK(read.message.sum == frame.message.sum);
  CHECK(read.message.arrival_ns == frame.message.arrival_ns);
  CHECK(read.words == 1);
}

// From no word to 1 MiB each way; what comes first is taken last.
TEST_CASE("tcp: tensors of all sizes come unharmed, in whatever order they are taken") {
  const std::vector<std::size_t> sizes{0, 1, 2, 511, 512, 4096, 131'072};
  std::vector<BoxSpec> boxes;
  for (const std::size_t words : sizes) {
    boxes.push_back({0, 1, words});
    boxes.push_back({1, 0, words});
  }
  const auto links = tcp_links_here(boxes, two_ranks);
  for (std::uint32_t run = 0; run < 3; ++run) {
    for (const auto& end : links) end->clear();
    for (std::size_t box = 0; box < boxes.size(); ++box) {
      post(*links[boxes[box].sender], box, boxes[box].words);
    }
    for (std::size_t box = boxes.size(); box-- > 0;) {
      check_taken(*links[boxes[box].reader], box, boxes[box].words);
    }
  }
  CHECK(links[0]->progress().sent == 3 * sizes.size());
  CHECK(links[0]->progress().received == 3 * sizes.size());
  CHECK_FALSE(links[0]->failure());
}

// 48 MiB each way are more than sockets hold, and nobody takes any of it before all is sent.
TEST_CASE("tcp: who sends never waits for who reads") {
  constexpr std::size_t words = 131'072;
  std::vector<BoxSpec> boxes;
  for (std::uint32_t i = 0; i < 96; ++i) boxes.push_back({i % 2, 1 - i % 2, words});
  const auto links = tcp_links_here(boxes, two_ranks);
  for (const auto& end : links) end->clear();
  const auto send_of = [&](std::size_t rank) {
    for (std::size_t box = rank; box < boxes.size(); box += 2) post(*links[rank], box, words);
  };
  std::jthread other([&] { send_of(1); });
  send_of(0);
  other.join();
  for (std::size_t box = 0; box < boxes.size(); ++box) {
    check_taken(*links[boxes[box].reader], box, words);
  }
}

// Ranks 0 and 1 in one process, 2 in another, which sends to both; 500 tensors a pair.
TEST_CASE("tcp: ranks of one process and of two hand tensors over at the same time") {
  constexpr std::size_t each = 500;
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs{{0, 1}, {1, 0}, {2, 0},
                                                                   {2, 1}, {0, 2}, {1, 2}};
  std::vector<BoxSpec> boxes;
  for (std::size_t i = 0; i < each; ++i) {
    for (const auto& pair : pairs) boxes.push_back({pair.first, pair.second, i % 40});
  }
  const auto links = tcp_links_here(boxes, {{0, 2}, {2, 3}});
  for (const auto& end : links) end->clear();
  std::array<std::size_t, 3> right{};
  const auto walk = [&](std::uint32_t rank) {
    TcpLinks& own = *links[rank / 2];
    for (std::size_t box = 0; box < boxes.size(); ++box) {
      const std::size_t words = boxes[box].words;
      if (boxes[box].sender == rank) post(own, box, words);
      if (boxes[box].reader != rank) continue;
      std::vector<std::uint64_t> received(words);
      if (own.take(box, received) && received == tcp_tensor_of(box, words)) ++right[rank];
    }
    own.finish(rank);
  };
  {
    std::jthread first([&] { walk(0); });
    std::jthread second([&] { walk(1); });
    walk(2);
  }
  for (const std::size_t count : right) CHECK(count == 2 * each);
  CHECK(links[0]->progress().active == 0);
  CHECK(links[0]->progress().sent == 2 * each);  // what stays in a process is not counted
  CHECK(links[0]->progress().received == 2 * each);
}

TEST_CASE("tcp: whatever a peer sends that is no tensor of its own is told, and ends the run") {
  const std::string peer_text = "process 1 (rank 1) ";
  CHECK(failure_after(Bytes(frame_bytes, std::byte{0x47})) == peer_text + "sent an invalid tensor");

  Bytes other = tensor_bytes(0, 3);
  other[4] = std::byte{2};
  CHECK(failure_after(other) == peer_text + "sent a tensor in version 2; expected 1");
  other = tensor_bytes(0, 3);
  other[16] = std::byte{tensor_kinds};
  CHECK(failure_after(other) == peer_text + "sent an invalid tensor");

  CHECK(failure_after(tensor_bytes(9, 3)) == peer_text + "sent a tensor for an unknown box, 9");
  CHECK(failure_after(tensor_bytes(1, 3)) ==
        peer_text + "sent a tensor for a box of another process, 1");
  CHECK(failure_after(tensor_bytes(2, 3)) ==
        peer_text + "sent a tensor for a box of another process, 2");
  CHECK(failure_after(tensor_bytes(0, 4)) == peer_text + "sent 4 words instead of 3 for box 0");
  Frame huge = frame_for(0, 3);
  huge.words = std::uint64_t{1} << 60;
  CHECK(failure_after(bytes_of(huge, {})) ==
        peer_text + "sent 1152921504606846976 words instead of 3 for box 0");
  CHECK(failure_after(tensor_bytes(0, 3, 3)) == peer_text + "sent a tensor of run 3 in run 1");

  Bytes twice = tensor_bytes(0, 3);
  const Bytes once = twice;
  twice.insert(twice.end(), once.begin(), once.end());
  CHECK(failure_after(twice) == peer_text + "sent a second tensor for box 0");
}

TEST_CASE("tcp: a peer that closes, between tensors or in the middle of one, is told") {
  const std::string text = "process 1 (rank 1) closed its connection";
  CHECK(failure_after({}, true) == text);
  CHECK(failure_after(tensor_bytes(0, 3), true) == text);
  Bytes cut = tensor_bytes(0, 3);
  cut.resize(cut.size() - 1);
  CHECK(failure_after(cut, true) == text + " within a message");
  cut.resize(frame_bytes);
  CHECK(failure_after(cut, true) == text + " within a message");
  cut.resize(1);
  CHECK(failure_after(cut, true) == text + " within a message");
}

TEST_CASE("tcp: a peer that stops in the middle of a tensor, or takes nothing, does not hang it") {
  constexpr std::size_t words = std::size_t{1} << 20;
  Peer one = peer({{1, 0, 3}, {0, 1, words}}, milliseconds(300));
  Bytes cut = tensor_bytes(0, 3);
  cut.resize(60);
  send(one.socket, cut);
  std::vector<std::uint64_t> received(3);
  CHECK_FALSE(one.links->take(0, received));
  REQUIRE(one.links->failure());

  Peer deaf = peer({{1, 0, 3}, {0, 1, words}}, milliseconds(300));
  post(*deaf.links, 1, words);  // 8 MiB into a socket that nobody reads
  REQUIRE(deaf.links->failure());
  CHECK(deaf.links->failure()->text == "process 1 (rank 1) stopped receiving");
}

TEST_CASE("tcp: no rank waits for ever, even where nobody watches") {
  Peer one = peer({{1, 0, 3}}, milliseconds(200));
  std::vector<std::uint64_t> received(3);
  CHECK_FALSE(one.links->take(0, received));
  REQUIRE(one.links->failure());
  CHECK(one.links->failure()->text == "rank 0 waited longer than 0.2 s");
}

// The run is halted while its second tensor is on the way, and the next one begins without it.
TEST_CASE("tcp: what is left over from a run that was halted is no part of the next") {
  Peer one = peer({{1, 0, 3}, {1, 0, 3}});
  one.links->halt();
  one.links->clear();
  CHECK_FALSE(one.links->failure());
  send(one.socket, tensor_bytes(0, 3, 1));
  send(one.socket, tensor_bytes(1, 3, 2));
  check_taken(*one.links, 1, 3);
  CHECK(one.links->progress().received == 2);
  std::vector<std::uint64_t> received(3);
  auto waiting = std::async(std::launch::async, [&] { return one.links->take(0, received); });
  one.links->halt();
  CHECK_FALSE(waiting.get());
}

// Process 1 is told to go on before process 0 is.
TEST_CASE("tcp: a tensor of the next run waits for that") {
  Peer one = peer({{1, 0, 3}});
  send(one.socket, tensor_bytes(0, 3, 2));
  while (one.links->progress().received == 0) std::this_thread::yield();
  one.links->clear();
  check_taken(*one.links, 0, 3);
}

TEST_CASE("tcp: how far a process is, and what its ranks wait for once that is for ever") {
  Peer one = peer({{1, 0, 3}});
  CHECK(one.links->progress().run == 1);
  CHECK(one.links->progress().active == 1);
  std::vector<std::uint64_t> received(3);
  auto waiting = std::async(std::launch::async, [&] { return one.links->take(0, received); });
  while (one.links->progress().waiting == 0) std::this_thread::yield();
  CHECK(one.links->progress().active == 0);
  CHECK(one.links->deadlock().empty());
  one.links->halt_stuck();
  CHECK_FALSE(waiting.get());
  REQUIRE(one.links->deadlock().size() == 2);
  CHECK(one.links->deadlock()[0] == 0);
  CHECK_FALSE(one.links->deadlock()[1]);
  CHECK_FALSE(one.links->failure());

  one.links->clear();
  CHECK(one.links->deadlock().empty());
  one.links->halt();
  REQUIRE(one.links->failure());
  CHECK(one.links->failure()->text == "the run was halted");
}

}  // namespace penstock::testing
