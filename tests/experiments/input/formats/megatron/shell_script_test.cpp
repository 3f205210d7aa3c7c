#include <doctest/doctest.h>
#include <fmt/format.h>

#include "experiments/input/formats/megatron/shell_words.hpp"
#include "sim/base/error.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

/// A word with a ? at each place where something is missing.
std::string shown(const ShellWord& word) {
  std::string text = word.text;
  for (auto gap = word.gaps.rbegin(); gap != word.gaps.rend(); ++gap) text.insert(gap->at, "?");
  return text;
}

/// The words of the last command of a script, "run|--save|?".
std::string last_command(const std::string& text) {
  std::vector<std::string> words;
  const ShellScript script = read_shell_script(text);
  for (const ShellWord& word : script.commands.back()) {
    words.push_back(shown(word));
  }
  return fmt::format("{}", fmt::join(words, "|"));
}

/// What an expression comes to, or why it does not.
std::string worked_out(const std::string& expression, const std::string& variables = "true") {
  const ShellScript script = read_shell_script(variables + "\nrun $((" + expression + "))");
  const ShellWord& word = script.commands.back().at(1);
  return word.gaps.empty() ? word.text : word.gaps.front().why;
}

std::string script_refusal(const std::string& text) {
  return refused_at([&] { read_shell_script(text); });
}

}  // namespace

TEST_CASE("shell: a variable is taken apart around what is missing in it, word by word") {
  CHECK(last_command("A=\"--swiglu --save $DIR --tensor 4\"\nrun $A") ==
        "run|--swiglu|--save|?|--tensor|4");
  CHECK(last_command("A=\"--save /a/$X/b --load $X.z --last\"\nrun $A") ==
        "run|--save|/a/?/b|--load|?.z|--last");
  CHECK(last_command("A=\"--a $X\"\nA+=\" --b $Y --c\"\nrun $A") == "run|--a|?|--b|?|--c");
  CHECK(last_command("A=$X\nrun $A") == "run|?");
  CHECK(last_command("A=\" $X  $Y$Z \"\nrun 1${A}2") == "run|1|?|??|2");
  CHECK(last_command("A=\" $X  $Y \"\nrun \"$A\"") == "run| ?  ? ");
  CHECK(last_command("A=(--a $X \"--b $Y c\")\nrun ${A[@]}") == "run|--a|?|--b|?|c");
}

TEST_CASE("shell: arithmetic of whole numbers is worked out, left to right within its ranks") {
  CHECK(worked_out("2+3*4") == "14");
  CHECK(worked_out(" ( 2 + 3 ) * 4 ") == "20");
  CHECK(worked_out("20/2/5") == "2");
  CHECK(worked_out("20-2-5") == "13");
  CHECK(worked_out("17%5*2") == "4");
  CHECK(worked_out("-7/2") == "-3");  // towards zero, as in C
  CHECK(worked_out("-7%2") == "-1");
  CHECK(worked_out("-(-3)+-+2") == "1");
  CHECK(worked_out("9223372036854775807") == "9223372036854775807");
  CHECK(worked_out("DP*MBS*16", "DP=4\nMBS=2") == "128");
  CHECK(worked_out("$DP * ${MBS}", "DP=4\nMBS=2") == "8");
  CHECK(worked_out("A*2", "A=$((1+2))") == "6");
  CHECK(worked_out("$A*2", "A=1+2") == "5");  // filled in as text: 1+2*2
  CHECK(worked_out("$((1+1))*${A:-$((2+1))}") == "6");
}

TEST_CASE("shell: arithmetic takes over what its numbers take for granted") {
  const auto assumed = [](const std::string& expression) {
    return read_shell_script("N=${NODES:-2}\nrun $((" + expression + "))")
        .commands.back()
        .at(1)
        .assumed;
  };
  CHECK(assumed("8*N") == "NODES is taken to be 2, its default");
  CHECK(assumed("8*$N") == "NODES is taken to be 2, its default");
  CHECK(assumed("8*2") == "");
}

TEST_CASE("shell: arithmetic that has no number is a gap that says why") {
  CHECK(worked_out("8/(A-A)", "A=3") == "$((8/(A-A))) in line 2: it divides by zero");
  CHECK(worked_out("8%0") == "$((8%0)) in line 2: it divides by zero");
  CHECK(worked_out("A*2") == "$((A*2)) in line 2: A has no value here");
  CHECK(worked_out("$A*2") == "$A has no value here");
  CHECK(worked_out("A*2", "A=$(nproc)") == "$((A*2)) in line 2: $(…) is not run here");
  CHECK(
      worked_out("A*2", "A=two").ends_with("A is \"two\", which is no decimal number of 64 bits"));
  CHECK(worked_out("A", "A=()").ends_with("A has no value here"));
  for (const char* beyond : {"9223372036854775807+1", "-9223372036854775807-2",
                             "4294967296*4294967296", "(-9223372036854775807-1)/-1",
                             "(-9223372036854775807-1)%-1", "-(-9223372036854775807-1)"}) {
    CAPTURE(beyond);
    CHECK(worked_out(beyond).ends_with("not a 64-bit number"));
  }
  CHECK(worked_out("9223372036854775808").ends_with("is no decimal number of 64 bits"));
  for (const char* octal_or_else : {"010", "0x10", "2e3"}) {
    CAPTURE(octal_or_else);
    CHECK(worked_out(octal_or_else).ends_with("is no decimal number of 64 bits"));
  }
  for (const char* more : {"1.5", "1<2", "2 3", "a[1]", "1?2:3", "x=1", "1,2"}) {
    CAPTURE(more);
    CHECK(says(worked_out(more, "a=1\nx=1"), "only + - * / % and parentheses"));
  }
  for (const char* less : {"", "1+", "2**3", "*2", "()"}) {
    CAPTURE(less);
    CHECK(worked_out(less).ends_with("a whole number or a variable is missing"));
  }
  CHECK(last_command("run $(echo (a) b)x").starts_with("run|?x"));
}

TEST_CASE("shell: expansions end within limits, however deep or many") {
  const auto nested = [](const std::string& open, const std::string& close, int depth) {
    std::string text = "1";
    for (int i = 0; i < depth; ++i) text = open + text + close;
    return text;
  };
  CHECK(worked_out(nested("(", ")", 16)) == "1");
  CHECK(worked_out(nested("(", ")", 17)).ends_with("nested more than 16 deep"));
  CHECK(worked_out(std::string(100'000, '-') + "1") == "1");
  CHECK(script_refusal("A=" + nested("$((", "))", 10'000)) ==
        "line 1: expansions are nested more than 16 deep");
  CHECK(script_refusal("A=$((1+" + std::string(100'000, '(')) ==
        "line 1: the $( that opens here never closes");
  std::string doubling = "A=$X\n";
  for (int i = 0; i < 60; ++i) doubling += "A=$A$A\n";
  CHECK(says(script_refusal(doubling), "expands to more than 1048576 characters"));
  std::string many = "A=(" + nested("x ", "", 100'000) + ")\n";
  for (int i = 0; i < 1000; ++i) many += fmt::format("B{}=(${{A[@]}})\n", i);
  CHECK(says(script_refusal(many), "the script expands to more than"));
}

}  // namespace penstock::testing
