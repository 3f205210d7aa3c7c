#include "validate/backends/nccl/nccl_library.hpp"

#include <doctest/doctest.h>

#include <set>

namespace penstock::testing {

TEST_CASE("NCCL's version: written as its makers do, and refused if too old or another major") {
  CHECK(nccl_version_text(22809) == "2.28.9");
  CHECK(nccl_version_text(21801) == "2.18.1");
  CHECK(nccl_version_text(2708) == "2.7.8");
  CHECK_FALSE(why_not_version(21801));
  CHECK_FALSE(why_not_version(23001));
  CHECK(why_not_version(21705) == "NCCL 2.17.5; needs version 2, from 2.18.1 on");
  CHECK(why_not_version(2708) == "NCCL 2.7.8; needs version 2, from 2.18.1 on");
  CHECK(why_not_version(30000) == "NCCL 3.0.0; needs version 2, from 2.18.1 on");
}

TEST_CASE("NCCL's calls: each has a symbol of its own, and the first missing one is named") {
  std::set<std::string> asked;
  int any = 0;
  NcclCalls calls{};
  const auto every = [&](const char* symbol) -> void* {
    CHECK(asked.insert(symbol).second);
    return &any;
  };
  CHECK_FALSE(fill_calls(every, calls));
  CHECK(asked.size() == sizeof(NcclCalls) / sizeof(void*));
  const auto old = [&](const char* symbol) -> void* {
    return std::string(symbol) == "ncclCommSplit" ? nullptr : &any;
  };
  CHECK(fill_calls(old, calls) == "ncclCommSplit");
}

TEST_CASE("NCCL: without a library, the error says where it was looked for") {
  const auto none = load_nccl({"/no/libnccl.so.2"});
  REQUIRE(std::holds_alternative<std::string>(none));
  CHECK(std::get<std::string>(none) ==
        "no NCCL: /no/libnccl.so.2: cannot open shared object file: No such file or directory; "
        "PENSTOCK_NCCL names the file");
}

// A library without NCCL's symbols, as a wrong PENSTOCK_NCCL would name.
TEST_CASE("NCCL: a library that is something else is refused by its first symbol") {
  const auto other = load_nccl({"libm.so.6"});
  REQUIRE(std::holds_alternative<std::string>(other));
  CHECK(std::get<std::string>(other).find("libm.so.6 has no ncclGetVersion") != std::string::npos);
}

}  // namespace penstock::testing
