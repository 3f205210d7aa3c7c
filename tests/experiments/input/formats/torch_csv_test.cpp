#include "experiments/input/formats/torch_csv.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

#include "sim/base/error.hpp"
#include "tests/support/random_system.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

/// Why a text is refused, with its place in front, or "accepted".
std::string torch_csv_refusal(std::string_view csv, std::vector<std::vector<Stage>> chains = {}) {
  return refused_at([&] { placement_of(read_torch_csv(csv), std::move(chains)); });
}

/// The rank of each stage of an order: "0 1 1 0".
std::string ranks_text(std::string_view csv) {
  const Placement placement = placement_of(read_torch_csv(csv), {});
  std::string text;
  for (Stage stage : placement.stages()) {
    text += fmt::format("{}{}", text.empty() ? "" : " ", index(placement.rank_of(stage)));
  }
  return text;
}

const std::string cell_help =
    "a cell is STAGE, one of F B I W, MICROBATCH, as in 2F0; or (2F1;3B0)OVERLAP_F_B; or blank";

}  // namespace

TEST_CASE("row i of a file is rank i, and its cells are the actions of that rank") {
  const Schedule schedule = read_torch_csv("0F0,10I12\n1W3,1B0\n").schedule;
  REQUIRE(schedule.ranks() == 2);
  CHECK(schedule.on(Rank{0}) ==
        std::vector{Action(Pass::forward, Stage{0}, Microbatch{0}),
                    Action(Pass::backward_input, Stage{10}, Microbatch{12})});
  CHECK(schedule.on(Rank{1}) == std::vector{Action(Pass::backward_weight, Stage{1}, Microbatch{3}),
                                            Action(Pass::backward, Stage{1}, Microbatch{0})});
}

TEST_CASE(
    "cells in quotes and rows that a carriage return ends are read, as Python's csv module does") {
  const Schedule plain = read_torch_csv("0F0,0B0\n1F0,1B0\n").schedule;
  CHECK(read_torch_csv("\"0F0\",\"0B0\"\n\"1F0\",\"\",1B0\n").schedule == plain);
  CHECK(read_torch_csv("0F0,0B0\r1F0,1B0\r").schedule == plain);
  CHECK(read_torch_csv("0F0,0B0\r\r1F0,1B0").schedule.ranks() == 3);
  CHECK(says(torch_csv_refusal("\"0F0,0B0\n"), "is no cell"));
}

TEST_CASE("line ends of either kind, a byte order mark and blanks around cells change nothing") {
  const Schedule plain = read_torch_csv("0F0,0B0\n1F0,1B0\n").schedule;
  CHECK(read_torch_csv("0F0,0B0\r\n1F0,1B0\r\n").schedule == plain);
  CHECK(read_torch_csv("0F0,0B0\n1F0,1B0").schedule == plain);
  CHECK(read_torch_csv("\xEF\xBB\xBF"
                       "0F0,0B0\n1F0,1B0\n")
            .schedule == plain);
  CHECK(read_torch_csv(" 0F0 ,\t0B0\n1F0,1B0 \n").schedule == plain);
  CHECK(read_torch_csv("0F0,,0B0,,\n,,1F0,\"\",1B0\n").schedule == plain);
}

TEST_CASE("blank cells are dropped, but count in the columns") {
  const OrderFile order = read_torch_csv(",0F0,,0B0\n1F0, ,1B0,,\n");
  CHECK(order.column[0] == std::vector<std::uint32_t>{1, 3});
  CHECK(order.column[1] == std::vector<std::uint32_t>{0, 2});
  CHECK(column_of(order, Rank{0}, 1) == 3);
  CHECK(column_of(order, Rank{1}, 1) == 2);
  CHECK(column_of(order, Rank{0}, 2) == 4);  // behind the last
}

TEST_CASE("both parts of an overlap cell stand in its column, joined in listed order") {
  const OrderFile order = read_torch_csv("0F0,(0F1;0B0)OVERLAP_F_B,(0B1;0F2)OVERLAP_F_B,0B2");
  const auto& actions = order.schedule.on(Rank{0});
  REQUIRE(actions.size() == 6);
  CHECK(actions[1] == Action(Pass::forward, Stage{0}, Microbatch{1}, /*joined=*/true));
  CHECK(actions[2] == Action(Pass::backward, Stage{0}, Microbatch{0}));
  CHECK(actions[3] == Action(Pass::backward, Stage{0}, Microbatch{1}, /*joined=*/true));
  CHECK(actions[4] == Action(Pass::forward, Stage{0}, Microbatch{2}));
  CHECK(order.column[0] == std::vector<std::uint32_t>{0, 1, 1, 2, 2, 3});
  CHECK(read_torch_csv("( 0F1 ; 0B0 )OVERLAP_F_B").schedule ==
        read_torch_csv("(0F1;0B0)OVERLAP_F_B").schedule);
}

TEST_CASE("what is written reads back as it was") {
  CHECK(rc::check([] {
    const Schedule schedule = random_system({.recompute = false}).schedule;
    const TorchCsv csv = write_torch_csv(schedule);
    RC_ASSERT(csv.left_out.empty());
    RC_ASSERT(read_torch_csv(csv.text).schedule == schedule);
  }));
}

TEST_CASE("a rank without actions is an empty row, the last one too, as in Python's csv module") {
  Schedule schedule(4);
  schedule.on(Rank{1}) = {Action(Pass::forward, Stage{0}, Microbatch{0})};
  const std::string text = write_torch_csv(schedule).text;
  CHECK(text == "\n0F0\n\n\n");
  CHECK(read_torch_csv(text).schedule == schedule);
  CHECK(read_torch_csv("\r\n0F0\r\n\r\n\r\n").schedule == schedule);
}

TEST_CASE("actions that the notation cannot carry are left out and named") {
  Schedule schedule(1);
  schedule.on(Rank{0}) = {Action(Pass::forward, Stage{0}, Microbatch{0}),
                          Action(Pass::recompute, Stage{0}, Microbatch{0}),
                          Action(Pass::backward, Stage{0}, Microbatch{0}),
                          Action(Pass::update, Stage{0}, Microbatch{0})};
  const TorchCsv csv = write_torch_csv(schedule);
  CHECK(csv.text == "0F0,0B0\n");
  CHECK(csv.left_out == std::vector<std::string>{"0R0 of rank 0", "0U0 of rank 0"});
}

TEST_CASE("a text that is no cell is refused at its row and column") {
  CHECK(torch_csv_refusal("0F0\nhello") == "row 1, column 0: \"hello\" is no cell; " + cell_help);
  CHECK(torch_csv_refusal("0F0,,F0") == "row 0, column 2: \"F0\" is no cell; " + cell_help);
  CHECK(torch_csv_refusal("0X0") == "row 0, column 0: \"0X0\" is no cell; " + cell_help);
  CHECK(torch_csv_refusal("0f0") == "row 0, column 0: \"0f0\" is no cell; " + cell_help);
  CHECK(torch_csv_refusal("-1F0") == "row 0, column 0: \"-1F0\" is no cell; " + cell_help);
  CHECK(torch_csv_refusal("0F0,\"0X0\"") == "row 0, column 1: \"0X0\" is no cell; " + cell_help);
}

TEST_CASE("what follows a microbatch is refused, though PyTorch's own reader lets it pass") {
  CHECK(torch_csv_refusal("0F0xyz") ==
        "row 0, column 0: \"0F0xyz\" has \"xyz\" behind its microbatch; " + cell_help);
  CHECK(torch_csv_refusal("0F0;0B0") ==
        "row 0, column 0: \"0F0;0B0\" has \";0B0\" behind its microbatch; " + cell_help);
  CHECK(torch_csv_refusal("0F0 0B0") ==
        "row 0, column 0: \"0F0 0B0\" has \" 0B0\" behind its microbatch; " + cell_help);
}

TEST_CASE("numbers beyond the limits are refused with the limit") {
  CHECK(torch_csv_refusal("0F16777215") == "accepted");
  CHECK(torch_csv_refusal("0F16777216") ==
        "row 0, column 0: \"0F16777216\" names no microbatch from 0 to 16777215");
  CHECK(torch_csv_refusal("0F") ==
        "row 0, column 0: \"0F\" names no microbatch from 0 to 16777215");
  CHECK(torch_csv_refusal("0F99999999999999999999") ==
        "row 0, column 0: \"0F99999999999999999999\" names no microbatch from 0 to 16777215");
  CHECK(torch_csv_refusal("65536F0") ==
        "row 0, column 0: \"65536F0\" names no stage from 0 to 65535");
  CHECK(torch_csv_refusal("99999F0") ==
        "row 0, column 0: \"99999F0\" names no stage from 0 to 65535");
  CHECK(torch_csv_refusal("0SEND_F") ==
        "row 0, column 0: \"0SEND_F\" names no microbatch from 0 to 16777215");
}

TEST_CASE("the old notation is told apart from nonsense") {
  CHECK(
      torch_csv_refusal("0F0,0BW0") ==
      "row 0, column 1: \"0BW0\" is in the old notation, where BW was the whole backward and B its "
      "input half; write B for BW and I for B");
}

TEST_CASE(
    "communication cells of every release are read, and waits take a microbatch as sends do") {
  const OrderFile order = read_torch_csv(
      "0F0,0SEND_F0,0RECV_F0,0SEND_B0,0RECV_B0,0UNSHARD,0RESHARD,0REDUCE_GRAD,0WAIT_SEND_F0,"
      "0WAIT_SEND_B0,0WAIT_REDUCE_GRAD");
  std::string cells;
  for (const CommCell& cell : order.comms[0]) cells += text(cell) + " ";
  CHECK(cells ==
        "0SEND_F0 0RECV_F0 0SEND_B0 0RECV_B0 0UNSHARD 0RESHARD 0REDUCE_GRAD 0WAIT_SEND_F0 "
        "0WAIT_SEND_B0 0WAIT_REDUCE_GRAD ");
  CHECK(torch_csv_refusal("0WAIT_SEND_F") ==
        "row 0, column 0: \"0WAIT_SEND_F\" names no microbatch from 0 to 16777215");
  CHECK(
      torch_csv_refusal("0WAIT_REDUCE_GRAD1") ==
      "row 0, column 0: \"0WAIT_REDUCE_GRAD1\" has a microbatch behind it; WAIT_REDUCE_GRAD takes "
      "none");
}

TEST_CASE("an overlap cell joins one forward with one backward, and is closed") {
  const auto joins = [](const char* cell) {
    return fmt::format("row 0, column 0: \"{}\" must join one F with one B", cell);
  };
  for (const char* cell : {"(0F0;0F1)OVERLAP_F_B", "(0B0;0B1)OVERLAP_F_B", "(0F0)OVERLAP_F_B",
                           "()OVERLAP_F_B", "(0F0;0B1;0F2)OVERLAP_F_B", "(0F0;0W1)OVERLAP_F_B"}) {
    CHECK(torch_csv_refusal(cell) == joins(cell));
  }
  for (const char* cell : {"(0F0;0B1)", "(0F0;0B1", "(0F0;0B1)OVERLAP", "(0F0;0B1)OVERLAP_F_B0",
                           "((0F0;0B1)OVERLAP_F_B"}) {
    CHECK(torch_csv_refusal(cell).starts_with("row 0, column 0: \""));
  }
  CHECK(torch_csv_refusal("0F0,(0F1;hello)OVERLAP_F_B") ==
        "row 0, column 1: \"hello\" is no cell; " + cell_help);
  CHECK(torch_csv_refusal("(0F0;0B1;)OVERLAP_F_B") ==
        "row 0, column 0: \"\" is no cell; " + cell_help);
}

TEST_CASE("a long text that is no cell is not repeated whole") {
  const std::string error = torch_csv_refusal(std::string(1'000'000, '['));
  CHECK(error.starts_with("row 0, column 0: \"[[[["));
  CHECK(error.size() < 300);
}

TEST_CASE("a file without a single action is refused") {
  CHECK(torch_csv_refusal("") == "the file is empty; an order has one row per rank");
  CHECK(torch_csv_refusal("\n\r\n\n") == "the file is empty; an order has one row per rank");
  CHECK(torch_csv_refusal(",,,\n,,") == "the order has no actions");
}

TEST_CASE("a stage lies on the rank whose row names it: loop, V, or anything") {
  CHECK(ranks_text("0F0,2F0\n1F0,3F0") == "0 1 0 1");
  CHECK(ranks_text("0F0,3F0\n1F0,2F0") == "0 1 1 0");
  CHECK(ranks_text("2F0\n0F0\n1F0") == "1 2 0");
}

TEST_CASE("a stage on two ranks, or one that no row names, is refused") {
  CHECK(
      torch_csv_refusal("0F0,0F1\n1F0,,0B0") ==
      "row 1, column 2: 0B0 puts stage 0 on rank 1, but row 0 names it already; a stage belongs to "
      "one rank");
  CHECK(torch_csv_refusal("0F0\n2F0") ==
        "no row names stage 1, though stage 2 is there; stages are numbered from 0 without gaps");
}

TEST_CASE("chains say which copy of the model a stage belongs to") {
  const OrderFile order = read_torch_csv("0F0,3F0\n1F0,2F0");
  const Stage a{0}, b{1}, c{2}, d{3};
  CHECK(placement_of(order, {{a, b}, {c, d}}).after(b) == std::nullopt);
  CHECK(placement_of(order, {}).after(b) == c);
  CHECK(torch_csv_refusal("0F0,3F1\n1F0,2F1", {{a, b}, {c}}) ==
        "stage 3 is in no chain; each stage belongs to one");
}

TEST_CASE(
    "two copies of the model are inferred where stages lie both ways and share no microbatch") {
  const auto chains = [](std::string_view csv) {
    return placement_of(read_torch_csv(csv), {}).chains();
  };
  const std::vector<Stage> all{Stage{0}, Stage{1}, Stage{2}, Stage{3}};
  const std::vector<std::vector<Stage>> one{all}, two{{all[0], all[1]}, {all[2], all[3]}};
  CHECK(chains("0F0,3F1\n1F0,2F1") == two);
  CHECK(chains("0F0,0F1,3F0,3F1\n1F0,1F1,2F0,2F1") == one);  // a V
  CHECK(chains("0F0,0F1,3F1\n1F0,1F1,2F1") == one);          // a V that lacks 2F0 and 3F0
  CHECK(chains("0F0,2F1\n1F0,3F1") == one);                  // a loop
}

TEST_CASE("a file with more rows than there may be ranks is refused at that row") {
  std::string csv;
  for (int row = 0; row <= 16384; ++row) csv += ",\n";
  CHECK(torch_csv_refusal(csv) == "row 16384: there are more than 16384 rows");
}

}  // namespace penstock::testing
