#include "validate/transports/rings.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <numeric>
#include <thread>

namespace penstock::testing {
namespace {

using RingsWords = std::vector<std::uint64_t>;

/// A tensor that no other box has.
RingsWords tensor_of(std::size_t box, std::size_t words) {
  RingsWords tensor(words);
  std::iota(tensor.begin(), tensor.end(), 1000 * box);
  return tensor;
}

Message rings_message_of(std::size_t box) {
  return {
      {TensorKind::activation, 1, Microbatch{5}, 2}, 7 * box, static_cast<std::int64_t>(70 + box)};
}

/// RingTransport between ranks whose tensors all have as many words.
class Ranks {
 public:
  Ranks(std::vector<BoxSpec> boxes, std::uint32_t ranks, const RingLimits& limits = {})
      : boxes_(std::move(boxes)), rings_(boxes_, ranks, limits) {}

  RingTransport& rings() { return rings_; }
  void post(std::size_t box) {
    rings_.post(box, rings_message_of(box), tensor_of(box, boxes_[box].words));
  }
  /// Whether a box has what was posted in it.
  bool takes(std::size_t box) {
    RingsWords words(boxes_[box].words);
    const auto came = rings_.take(box, words);
    return came && came->arrival_ns == rings_message_of(box).arrival_ns &&
           came->sum == rings_message_of(box).sum && came->label == rings_message_of(box).label &&
           words == tensor_of(box, boxes_[box].words);
  }

 private:
  std::vector<BoxSpec> boxes_;
  RingTransport rings_;
};

std::vector<BoxSpec> boxes(std::size_t count, const BoxSpec& each) {
  return std::vector<BoxSpec>(count, each);
}

/// Room for one message of so few words, and no more.
constexpr RingLimits one_message{.most_words = 1};

}  // namespace

// Messages of 2 and 1 words, two at a time in 7: each starts somewhere else.
TEST_CASE("ring: words come in their order, around the end of its memory too") {
  SharedMemory memory(Ring::bytes(7));
  Ring ring(memory, 7);
  std::array<std::uint64_t, 3> read{};
  for (std::uint64_t value = 0; value < 50; ++value) {
    const std::array<std::uint64_t, 2> head{value, value + 1};
    const std::array<std::uint64_t, 1> body{value + 2};
    REQUIRE(ring.write(head, body));
    if (value == 0) continue;
    REQUIRE(ring.readable() == 6);
    ring.peek(0, read);
    CHECK(read == std::array{value - 1, value, value + 1});
    ring.drop(3);
  }
}

TEST_CASE("ring: what does not fit is not written, and fits once there is room") {
  SharedMemory memory(Ring::bytes(4));
  Ring ring(memory, 4);
  const std::array<std::uint64_t, 3> three{1, 2, 3};
  const std::array<std::uint64_t, 2> two{4, 5};
  CHECK(ring.empty());
  CHECK(ring.write(three, {}));
  CHECK_FALSE(ring.write(two, {}));
  CHECK(ring.readable() == 3);
  ring.drop(1);
  CHECK(ring.write(two, {}));
  CHECK(ring.readable() == 4);
  CHECK_FALSE(ring.empty());
  ring.clear();
  CHECK(ring.empty());
}

TEST_CASE("shared memory: no more is taken than there is") {
  SharedMemory memory(64);
  std::byte* const first = memory.take(1, 1);
  CHECK(memory.take(8, 8) == first + 8);
  CHECK_THROWS_WITH(memory.take(49, 1), "shared memory is used up");
  CHECK_NOTHROW(memory.take(48, 1));
}

TEST_CASE("rings: tensors are taken in any order, whatever their sizes") {
  Ranks ranks({{0, 1, 3}, {0, 1, 0}, {0, 1, 20}, {1, 0, 1}, {0, 0, 2}}, 2);
  for (const std::size_t box : {0U, 1U, 2U, 3U, 4U}) ranks.post(box);
  for (const std::size_t box : {2U, 0U, 1U, 4U, 3U}) CHECK(ranks.takes(box));
  CHECK(ranks.rings().deadlock().empty());
  CHECK_FALSE(ranks.rings().failure());
  ranks.rings().clear();
  ranks.post(1);
  CHECK(ranks.takes(1));
}

// Each ring has room for one message of six that both send before they read any.
TEST_CASE("rings: two ranks that both fill their rings take each other's tensors in") {
  std::vector<BoxSpec> all = boxes(6, {0, 1, 8});
  all.insert(all.end(), 6, {1, 0, 8});
  Ranks ranks(all, 2, one_message);
  bool right = true;
  std::jthread other([&] {
    for (std::size_t box = 6; box < 12; ++box) ranks.post(box);
    for (std::size_t box = 0; box < 6; ++box) right = ranks.takes(box) && right;
  });
  for (std::size_t box = 0; box < 6; ++box) ranks.post(box);
  for (std::size_t box = 6; box < 12; ++box) CHECK(ranks.takes(box));
  other.join();
  CHECK(right);
}

// Rank 2 waits for rank 1, which waits for rank 0, which first sends rank 2 more than its ring
// holds.
TEST_CASE("rings: who waits for one rank takes in what others send meanwhile") {
  Ranks ranks({{0, 2, 8}, {0, 2, 8}, {0, 2, 8}, {0, 1, 8}, {1, 2, 8}}, 3, one_message);
  bool right = true;
  std::jthread last([&] {
    for (const std::size_t box : {4U, 0U, 1U, 2U}) right = ranks.takes(box) && right;
  });
  std::jthread middle([&] {
    if (ranks.takes(3)) ranks.post(4);
  });
  for (const std::size_t box : {0U, 1U, 2U, 3U}) ranks.post(box);
  middle.join();
  last.join();
  CHECK(right);
}

TEST_CASE("rings: a hundred thousand tensors come unharmed, far more than a ring holds") {
  constexpr std::size_t count = 100'000;
  Ranks ranks(boxes(count, {0, 1, 4}), 2, {.most_words = 100});
  std::jthread sender([&] {
    for (std::size_t box = 0; box < count; ++box) ranks.post(box);
  });
  std::size_t right = 0;
  for (std::size_t box = 0; box < count; ++box) right += ranks.takes(box) ? 1 : 0;
  CHECK(right == count);
}

// The child has its own copy of everything but the rings.
TEST_CASE("rings: a process that was forked sends as a thread does") {
  Ranks ranks(boxes(3, {0, 1, 8}), 2, one_message);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    for (const std::size_t box : {0U, 1U, 2U}) ranks.post(box);
    _exit(0);
  }
  for (const std::size_t box : {2U, 0U, 1U}) CHECK(ranks.takes(box));
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

// Rank 0 waits for rank 1 and that for rank 0; rank 2 is through, with a tensor that nobody took.
TEST_CASE("rings: when all wait who are not through, each is told what it waits for") {
  Ranks ranks({{1, 0, 1}, {0, 1, 1}, {2, 2, 1}}, 3);
  ranks.post(2);
  ranks.rings().finish(2);
  bool right = true;
  std::jthread other([&] { right = ranks.takes(1); });
  CHECK_FALSE(ranks.takes(0));
  other.join();
  CHECK_FALSE(right);
  const auto stuck = ranks.rings().deadlock();
  REQUIRE(stuck.size() == 3);
  CHECK(stuck[0] == 0);
  CHECK(stuck[1] == 1);
  CHECK_FALSE(stuck[2]);
  CHECK_FALSE(ranks.rings().failure());
}

// Rank 1 neither sends nor waits nor comes to an end.
TEST_CASE("rings: nobody waits longer than they may, and that is no deadlock") {
  Ranks ranks({{1, 0, 1}}, 2, {.patience_ns = 20'000'000});
  CHECK_FALSE(ranks.takes(0));
  CHECK(ranks.rings().deadlock().empty());
  const auto failure = ranks.rings().failure();
  REQUIRE(failure);
  CHECK(failure->rank == Rank{0});
  CHECK(failure->text == "rank 0 waited longer than 0.02 s for others that did not wait");
}

// Nobody reads what fills the ring of the other, until the run is halted.
TEST_CASE("rings: a run that is halted wakes who waits to read and who waits to send") {
  Ranks ranks({{0, 1, 8}, {0, 1, 8}, {2, 0, 1}}, 3, one_message);
  bool right = true;
  std::jthread sender([&] {
    ranks.post(0);
    ranks.post(1);
  });
  std::jthread reader([&] { right = ranks.takes(2); });
  ranks.rings().halt();
  sender.join();
  reader.join();
  CHECK_FALSE(right);
  CHECK(ranks.rings().deadlock().empty());
}

}  // namespace penstock::testing
