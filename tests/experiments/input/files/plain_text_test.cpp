#include "experiments/input/files/plain_text.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/json_output.hpp"
#include "sim/base/error.hpp"
#include "tests/support/refusal.hpp"

namespace penstock::testing {

TEST_CASE("plain text: bytes that no text has are replaced, characters stay") {
  CHECK(valid_text("données 模型 🚀") == "données 模型 🚀");
  CHECK(valid_text("a\xFF\xFE"
                   "b") == "a��b");
  CHECK(valid_text("\xE9t\xE9") == "�t�");          // Latin-1
  CHECK(valid_text("\xE6\xA8") == "��");            // cut short
  CHECK(valid_text("\xC0\xAF") == "��");            // a longer way to write /
  CHECK(valid_text("\xED\xA0\x80") == "���");       // half of a pair
  CHECK(valid_text("\xF4\x90\x80\x80") == "����");  // beyond the last character
  CHECK(valid_text("a\033[1m\tb\n") == "a�[1m\tb\n");
}

TEST_CASE("plain text: an excerpt is never cut inside a character") {
  CHECK(shortened("short") == "short");
  CHECK(shortened("ééé", 6) == "ééé");
  CHECK(shortened("ééé", 5) == "éé…");
  CHECK(shortened("模型模型", 7) == "模型…");
  CHECK(shortened("🚀🚀", 7) == "🚀…");
  // Not a text: nothing to look for in front of the cut beyond the length of a character.
  CHECK(shortened(std::string(100, '\x80'), 5) == "��…");
  CHECK(shortened("\xFF", 60) == "�");
}

TEST_CASE("plain text: every excerpt of every text can be printed as JSON") {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  all += "é模🚀" + all;
  for (std::size_t from = 0; from < all.size(); ++from) {
    const nlohmann::json text = shortened(std::string_view(all).substr(from), 9);
    CHECK_NOTHROW((void)text.dump());
  }
}

TEST_CASE("plain text: a parser's error quotes the input in whole characters") {
  const auto refusal = [](const std::string& text) -> std::string {
    return refused_with<InputError>([&] { (void)parse_json(text); });
  };
  CHECK(refusal("{\"a\": \"donn\xE9") == valid_text(refusal("{\"a\": \"donn\xE9")));
  std::string longer;
  for (int i = 0; i < 400; ++i) longer += "é";
  for (const char* shift : {"", "a"}) {
    const std::string what = refusal("{\"a\": \"" + (shift + longer));
    CHECK(what == valid_text(what));
    CHECK(what.ends_with("é…"));
  }
}

TEST_CASE("plain text: a document with any bytes in its names is printed") {
  CHECK(printed({{"name", "a\xFF"}}) == "{\n  \"name\": \"a�\"\n}\n");
}

TEST_CASE(
    "the nearest word differs in a third of the letters at most; swapped neighbours count once") {
  const std::vector<std::string> words{"run", "explain", "compare"};
  CHECK(nearest("rnu", words) == "run");
  CHECK(nearest("explian", words) == "explain");
  CHECK(nearest("comapre", words) == "compare");
  CHECK(nearest("rn", words) == "run");
  CHECK(nearest("h100-sxm", {"b200-sxm", "h100-sxm5-80gb"}) == "h100-sxm5-80gb");
  CHECK(nearest("RUN", words) == "run");
  CHECK(nearest("1F1B", {"gpipe", "1f1b"}) == "1f1b");
  CHECK(!nearest("frobnicate", words));
  CHECK(!nearest("", words));
  CHECK(!nearest("run", {}));
}

TEST_CASE("the nearest word may be held to fewer wrong letters") {
  const std::vector<std::string> words{"--hidden-size", "--num-layers"};
  CHECK(nearest("--hiden-size", words, 2) == "--hidden-size");
  CHECK(nearest("--num-workers", words) == "--num-layers");
  CHECK(!nearest("--num-workers", words, 2));
}

TEST_CASE("an unknown name is followed by the nearest one and by all") {
  CHECK(unknown_text("name \"gpip\"", "gpip", "gpipe, naive") ==
        "unknown name \"gpip\"; did you mean \"gpipe\"? known: gpipe, naive");
  CHECK(unknown_text("name \"x\"", "x", "gpipe, naive") ==
        "unknown name \"x\"; known: gpipe, naive");
  CHECK(split_names("a, b c, d") == std::vector<std::string>{"a", "b c", "d"});
  CHECK(split_names("").empty());
}

}  // namespace penstock::testing
