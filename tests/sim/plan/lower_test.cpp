#include "sim/plan/lower.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <map>
#include <vector>

#include "tests/support/random_system.hpp"

namespace penstock::testing {
namespace {

Plan plan_of(const Placement& placement, const char* csv, Overlap overlap = Overlap::serial) {
  return lowered({placement, order_of(csv), {}, {}, overlap});
}

/// What a task waits for besides its own rank or link: "0SEND_F0", "0SEND_F1 2SEND_B0" or "".
std::string inputs_text(const Plan& plan, std::string_view task) {
  std::string text;
  plan.for_each_input(task_of(plan, task), [&](TaskId input) {
    text += (text.empty() ? "" : " ") + task_text(plan, input);
  });
  return text;
}

/// The tasks of a resource in the order they run.
std::string row_text(const Plan& plan, std::uint32_t resource) {
  const ResourceOrders orders = resource_orders(plan);
  std::string text;
  for (std::uint32_t i = orders.first[resource]; i < orders.first[resource + 1]; ++i) {
    text += (text.empty() ? "" : " ") + task_text(plan, orders.tasks[i]);
  }
  return text;
}

std::string deadlock_text(const Placement& placement, const char* csv) {
  const auto result = lower(order_of(csv), placement);
  const auto* deadlock = std::get_if<Deadlock>(&result);
  return deadlock == nullptr ? "none" : text(*deadlock);
}

}  // namespace

TEST_CASE(
    "a plan has the actions of the order and a transfer where neighbours are on other ranks") {
  const Plan plan = plan_of(Placement::loop(2, 1), "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1");
  CHECK(plan.ranks == 2);
  CHECK(plan.microbatches == 2);
  CHECK(plan.tasks() == 8 + 4);
  CHECK(row_text(plan, 0) == "0F0 0F1 0B0 0B1");
  CHECK(row_text(plan, 1) == "1F0 1B0 1F1 1B1");
  REQUIRE(plan.links.size() == 2);
  CHECK(plan.links[0] == Link{Rank{0}, Rank{1}});
  CHECK(row_text(plan, 2) == "0SEND_F0 0SEND_F1");
  CHECK(plan.links[1] == Link{Rank{1}, Rank{0}});
  CHECK(row_text(plan, 3) == "1SEND_B0 1SEND_B1");
  CHECK(inputs_text(plan, "0SEND_F1") == "0F1");
  CHECK(inputs_text(plan, "1F1") == "0SEND_F1");
  CHECK(inputs_text(plan, "0B0") == "1SEND_B0");
  CHECK(inputs_text(plan, "1B0").empty());  // its forward is implied by the order of the rank
}

TEST_CASE("where the chain turns on one rank nothing is sent") {
  // vee(2, 2): stages 1 and 2 share rank 1.
  const Plan plan = plan_of(Placement::vee(2, 2), "0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0");
  CHECK(plan.tasks() == 8 + 4);
  CHECK(inputs_text(plan, "2F0").empty());
  CHECK(inputs_text(plan, "1B0").empty());
  CHECK(inputs_text(plan, "3F0") == "2SEND_F0");
  CHECK(inputs_text(plan, "2B0") == "3SEND_B0");
}

TEST_CASE("I sends the gradient on, and W neither waits nor sends") {
  const Plan plan = plan_of(Placement::loop(2, 1), "0F0,0I0,0W0\n1F0,1I0,1W0");
  CHECK(plan.tasks() == 6 + 2);
  CHECK(inputs_text(plan, "1SEND_B0") == "1I0");
  CHECK(inputs_text(plan, "0I0") == "1SEND_B0");
  CHECK(inputs_text(plan, "0W0").empty());
}

TEST_CASE("the chains of an order do not feed each other") {
  const Plan plan = plan_of(Placement::bidirectional(2), "0F0,3F1,3B1,0B0\n2F1,1F0,1B0,2B1");
  CHECK(plan.tasks() == 8 + 4);
  CHECK(inputs_text(plan, "2F1").empty());
  CHECK(inputs_text(plan, "3F1") == "2SEND_F1");
  CHECK(plan.model_stage == std::vector<std::uint32_t>{0, 1, 0, 1});
}

TEST_CASE("each replica is sent the microbatches of its turn") {
  const Placement placement =
      Placement::given(3, {{Rank{0}}, {Rank{1}, Rank{2}}}, {{Stage{0}, Stage{1}}});
  const Plan plan = plan_of(placement, "0F0,0F1,0F2,0B0,0B1,0B2\n1F0,1F2,1B0,1B2\n1F1,1B1");
  CHECK(plan.links.size() == 4);
  CHECK(row_text(plan, plan.class_of(task_of(plan, "0SEND_F0")).resource) == "0SEND_F0 0SEND_F2");
  CHECK(row_text(plan, plan.class_of(task_of(plan, "0SEND_F1")).resource) == "0SEND_F1");
  CHECK(plan.work[task_of(plan, "1F0")] == plan.work[task_of(plan, "1F2")]);
  CHECK(plan.work[task_of(plan, "1F0")] != plan.work[task_of(plan, "1F1")]);
}

TEST_CASE("tasks share a class exactly when they cost the same on the same rank or link") {
  const Plan plan = plan_of(Placement::loop(2, 1), "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1");
  const auto work = [&](const char* task) { return plan.work[task_of(plan, task)]; };
  CHECK(work("0F0") == work("0F1"));
  CHECK(work("0SEND_F0") == work("0SEND_F1"));
  CHECK(work("0F0") != work("0B0"));
  CHECK(work("0F0") != work("1F0"));
  CHECK(plan.classes.size() == 6);  // F and B of two stages, one transfer each way
}

TEST_CASE("an overlap cell lists the inputs of both parts at its first") {
  // The middle of three ranks: 1F1 comes from below, the gradient of 0 from above.
  const char* csv = "0F0,0F1,0B0,0B1\n1F0,(1F1;1B0)OVERLAP_F_B,1B1\n2F0,2B0,2F1,2B1";
  const Plan serial = plan_of(Placement::loop(3, 1), csv);
  CHECK(inputs_text(serial, "1F1") == "0SEND_F1 2SEND_B0");
  CHECK(inputs_text(serial, "1B0").empty());
  CHECK(serial.followers.empty());
  const Plan fused = plan_of(Placement::loop(3, 1), csv, Overlap::fused);
  const TaskId first = task_of(fused, "1F1");
  CHECK(fused.followers == std::vector<TaskId>{first + 1});
  CHECK(task_text(fused, first + 1) == "1B0");
  CHECK(fused.class_of(first).partner != UINT32_MAX);
  CHECK_FALSE(fused.class_of(first).follows_partner);
  CHECK(fused.class_of(first + 1).follows_partner);
  // The same F outside a cell is another class: it is not as long.
  CHECK(fused.work[first] != fused.work[task_of(fused, "1F0")]);
}

TEST_CASE("an evicted activation goes to its keeper and comes back to the backward that reads it") {
  // Two ranks; rank 0 has its first activation kept by rank 1, for lack of a better example.
  System system{Placement::loop(2, 1), order_of("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1"), {}};
  system.schedule.on(Rank{0}) = actions_of("0F0 0E0 0F1 0L0 0B0 0B1");
  system.schedule.set_keepers({Rank{1}, Rank{0}});
  const Plan plan = lowered(system);
  CHECK(plan.tasks() == 8 + 4 + 4);
  CHECK(row_text(plan, 0) == "0F0 0E0 0F1 0L0 0B0 0B1");
  CHECK(inputs_text(plan, "0SEND_E0") == "0E0");
  CHECK(inputs_text(plan, "0SEND_L0") == "0L0 0SEND_E0");
  CHECK(inputs_text(plan, "0B0") == "1SEND_B0 0SEND_L0");
  CHECK(inputs_text(plan, "0B1") == "1SEND_B1");
  // Rank 0 asks for what rank 1 sends beside its own gradients: who is first depends on the costs.
  CHECK(row_text(plan, plan.class_of(task_of(plan, "0SEND_L0")).resource) ==
        "0SEND_L0 1SEND_B0 1SEND_B1");
  CHECK(plan.in_one_order == links_in_one_order(plan));
  CHECK_FALSE(links_in_one_order(plan)[plan.class_of(task_of(plan, "0SEND_L0")).resource - 2]);
}

TEST_CASE(
    "what leaves for the host has its own links; they have one order if it comes back in it") {
  const auto plan_with = [](const char* row) {
    System system{Placement::loop(1, 1), Schedule(1), {}};
    system.schedule.on(Rank{0}) = actions_of(row);
    return lowered(system);
  };
  const Plan same = plan_with("0F0 0F1 0E0 0E1 0L0 0B0 0L1 0B1");
  CHECK(same.links == std::vector<Link>{{Rank{0}, host_memory}, {host_memory, Rank{0}}});
  CHECK(links_in_one_order(same) == std::vector<bool>{true, true});
  CHECK(same.in_one_order == std::vector<bool>{true, true});
  // 1 left last and is wanted first: while it is still on its way out, 0 could come back.
  const Plan other = plan_with("0F0 0F1 0E1 0E0 0L0 0B0 0L1 0B1");
  CHECK(links_in_one_order(other) == std::vector<bool>{true, false});
  CHECK(other.in_one_order == std::vector<bool>{true, false});
}

TEST_CASE("an update is an action of its rank with a class of its own, and each version a buffer") {
  System system{Placement::loop(1, 1), Schedule(1), {}};
  system.schedule.on(Rank{0}) = actions_of("0F0 0F1 0B0 0U0 0B1 0U1");
  const Plan flushed = lowered(system);
  CHECK(row_text(flushed, 0) == "0F0 0F1 0B0 0U0 0B1 0U1");
  CHECK(flushed.work[task_of(flushed, "0U0")] == flushed.work[task_of(flushed, "0U1")]);
  system.schedule.set_weights({WeightUse::newest});
  CHECK(lowered(system).buffers.size() == flushed.buffers.size() + 1);
}

TEST_CASE("numbers of microbatches may have gaps; their count is how many there are") {
  const char* narrow = "0F0,0F2,0B0,0B2\n1F0,1B0,1F2,1B2";
  const char* wide = "0F5,0F16000000,0B5,0B16000000\n1F5,1B5,1F16000000,1B16000000";
  for (const char* csv : {narrow, wide}) {
    const Plan plan = plan_of(Placement::loop(2, 1), csv);
    CHECK(plan.microbatches == 2);
    CHECK(plan.tasks() == 8 + 4);
  }
  CHECK(row_text(plan_of(Placement::loop(2, 1), wide), 1) == "1F5 1B5 1F16000000 1B16000000");
}

TEST_CASE("two ranks that wait for each other are a deadlock with both waits named") {
  // Rank 1 wants both forwards before its first backward, rank 0 a backward between its forwards.
  CHECK(deadlock_text(Placement::loop(2, 1), "0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1") ==
        "deadlock: 0B0 of rank 0 waits for 1B0 of rank 1, which follows 1F1; 1F1 of rank 1 waits "
        "for 0F1 of rank 0, which follows 0B0");
}

TEST_CASE("a rank that waits for what stands behind it is a deadlock of one") {
  CHECK(deadlock_text(Placement::loop(1, 2), "1F0,0F0") ==
        "deadlock: 1F0 of rank 0 waits for 0F0 of rank 0, which follows 1F0");
}

TEST_CASE("a circle over three ranks is followed all the way, and who only waits for it left out") {
  // Stages 0 to 3 on ranks 0, 1, 2, 0. Rank 0 wants microbatch 0 back before it sends 1 off, ranks
  // 1 and 2 have the one before the other the wrong way round; rank 3 waits behind them.
  const Placement placement =
      Placement::given(4, {{Rank{0}}, {Rank{1}}, {Rank{2}}, {Rank{0}}, {Rank{3}}},
                       {{Stage{0}, Stage{1}, Stage{2}, Stage{3}, Stage{4}}});
  CHECK(deadlock_text(placement, "0F0,3F0,0F1,3F1\n1F0,1F1\n2F1,2F0\n4F0,4F1") ==
        "deadlock: 3F0 of rank 0 waits for 2F0 of rank 2, which follows 2F1; 2F1 of rank 2 waits "
        "for 1F1 of rank 1; 1F1 of rank 1 waits for 0F1 of rank 0, which follows 3F0");
}

TEST_CASE("every order made by doing the work lowers to its own rows, in topological order") {
  CHECK(rc::check([] {
    const System system = random_system();
    const Plan plan = lowered(system);
    std::map<std::string, TaskId> at;
    for (TaskId task = 0; task < plan.tasks(); ++task) {
      plan.for_each_input(task, [&](TaskId input) { RC_ASSERT(input < task); });
      RC_ASSERT(at.emplace(task_text(plan, task), task).second);
    }
    for (Rank rank : Numbers<Rank>(plan.ranks)) {
      TaskId last = 0;
      for (const Action& action : system.schedule.on(rank)) {
        const TaskId task = at.at(text(action));
        RC_ASSERT(plan.class_of(task).resource == index(rank));
        RC_ASSERT(task >= last);
        last = task;
      }
    }
  }));
}

TEST_CASE("equal plans have equal hashes, and a change of the order changes it") {
  const Placement placement = Placement::loop(2, 1);
  const char* one = "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1";
  CHECK(plan_hash(plan_of(placement, one)) == plan_hash(plan_of(placement, one)));
  CHECK(plan_hash(plan_of(placement, one)) !=
        plan_hash(plan_of(placement, "0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1")));
  CHECK(plan_hash(plan_of(placement, "0F0,0F1\n1F0,1F1")) !=
        plan_hash(plan_of(placement, "0F0,0F2\n1F0,1F2")));
}

}  // namespace penstock::testing
