#include "validate/transports/mailboxes.hpp"

#include <doctest/doctest.h>

#include <array>
#include <thread>

#include "validate/job/recorder.hpp"

namespace penstock::testing {
namespace {

using Words = std::array<std::uint64_t, 3>;

constexpr Words sent{1, 2, 3};
constexpr TensorLabel label{TensorKind::activation, 1, Microbatch{5}, 2};

/// A box that the other of two ranks fills.
BoxSpec box_to(std::uint32_t reader) { return {1 - reader, reader, sent.size()}; }

Message message_of(const Words& words) { return {label, checksum(words), 70}; }

}  // namespace

TEST_CASE("hand-over: the expected tensor, unharmed, is no fault") {
  CHECK_FALSE(tensor_fault(message_of(sent), sent, label));
}

TEST_CASE("hand-over: another stage, microbatch, direction or iteration is a fault") {
  for (const TensorLabel& other : {TensorLabel{TensorKind::gradient, 1, Microbatch{5}, 2},
                                   TensorLabel{TensorKind::activation, 2, Microbatch{5}, 2},
                                   TensorLabel{TensorKind::activation, 1, Microbatch{4}, 2},
                                   TensorLabel{TensorKind::activation, 1, Microbatch{5}, 1}}) {
    CAPTURE(text(other));
    CHECK(tensor_fault(message_of(sent), sent, other) ==
          text(label) + " came where " + text(other) + " was expected");
  }
}

TEST_CASE("hand-over: a changed word and two that changed places are faults") {
  const std::string expected =
      "the activation of model stage 1 for microbatch 5, iteration 2 arrived with corrupted "
      "content";
  for (const Words& harmed : {Words{1, 2, 4}, Words{0, 2, 3}, Words{2, 1, 3}, Words{1, 3, 2}}) {
    CHECK(tensor_fault(message_of(sent), harmed, label) == expected);
  }
}

// Rank 1 waits before rank 0 sends; what it gets is a copy.
TEST_CASE("mailboxes: who waits gets the tensor and what came with it") {
  Mailboxes mailboxes({{}, {}, {}, box_to(1)}, 2);
  Words received{};
  std::optional<Message> came;
  std::jthread reader([&] { came = mailboxes.take(3, received); });
  mailboxes.post(3, message_of(sent), sent);
  reader.join();
  REQUIRE(came);
  CHECK(came->label == label);
  CHECK(came->arrival_ns == 70);
  CHECK(received == sent);
  CHECK(mailboxes.deadlock().empty());
}

// Box 0 is filled: rank 0 takes it and then waits for box 1, which rank 1 would fill; that is
// through without having done so.
TEST_CASE("mailboxes: when nobody is left who could send, whoever waits is told") {
  Mailboxes mailboxes({box_to(0), box_to(0)}, 2);
  Words received{};
  mailboxes.post(0, message_of(sent), sent);
  CHECK(mailboxes.take(0, received));
  std::optional<Message> came = message_of(sent);
  std::jthread reader([&] { came = mailboxes.take(1, received); });
  mailboxes.finish(1);
  reader.join();
  CHECK_FALSE(came);
  REQUIRE(mailboxes.deadlock().size() == 2);
  CHECK(mailboxes.deadlock()[0] == 1);
  CHECK_FALSE(mailboxes.deadlock()[1]);

  mailboxes.clear();
  mailboxes.finish(0);
  mailboxes.finish(1);
  CHECK(mailboxes.deadlock().empty());
}

TEST_CASE("mailboxes: a run that is halted wakes who waits, and is no deadlock") {
  Mailboxes mailboxes({box_to(0)}, 2);
  Words received{};
  std::optional<Message> came = message_of(sent);
  std::jthread reader([&] { came = mailboxes.take(0, received); });
  mailboxes.halt();
  reader.join();
  CHECK_FALSE(came);
  CHECK(mailboxes.deadlock().empty());
}

TEST_CASE("recorder: lanes hold what was there for them from the start, and no more") {
  Recorder recorder({2, 1});
  Plan plan;
  add_task(plan, 0, Microbatch{0}, no_task);
  add_task(plan, 0, Microbatch{0}, no_task);
  const Plan two = plan;
  add_task(plan, 0, Microbatch{0}, 1);
  recorder.add(1, 2, {from_ns(5), from_ns(6)});
  recorder.add(0, 0, {from_ns(1), from_ns(2)});
  CHECK_THROWS_WITH(recorder.timeline(plan), "task 1 was recorded 0 times");
  recorder.add(0, 1, {from_ns(3), from_ns(4)});
  CHECK_THROWS_WITH(recorder.add(0, 1, {from_ns(3), from_ns(4)}), "a lane of the recorder is full");
  const Timeline timeline = recorder.timeline(plan);
  CHECK(timeline.begin == std::vector<Time>{from_ns(1), from_ns(3), from_ns(5)});
  CHECK(timeline.end == std::vector<Time>{from_ns(2), from_ns(4), from_ns(6)});
  CHECK(timeline.last_input == std::vector<TaskId>{no_task, no_task, 1});
  CHECK_THROWS_WITH(recorder.timeline(two), "an unknown task was recorded");

  recorder.clear();
  recorder.add(0, 0, {from_ns(1), from_ns(2)});
  recorder.add(0, 0, {from_ns(1), from_ns(2)});
  CHECK_THROWS_WITH(recorder.timeline(two), "task 0 was recorded 2 times");
}

}  // namespace penstock::testing
