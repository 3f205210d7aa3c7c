#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <variant>

#include "validate/backends/nccl/nccl_library.hpp"

// With the real library, which needs no GPU to be loaded.

namespace penstock {
namespace {

NcclCalls real_calls() { return std::get<NcclLibrary>(load_nccl()).calls; }

}  // namespace

TEST_CASE("NCCL: the library has every call, and a version that has them") {
  const auto library = load_nccl();
  REQUIRE(std::holds_alternative<NcclLibrary>(library));
  CHECK(std::get<NcclLibrary>(library).version >= oldest_nccl);
  CHECK_FALSE(std::get<NcclLibrary>(library).file.empty());
}

// By value, 128 bytes: a wrong size or passing would show as zeros, or crash.
TEST_CASE("NCCL: identifiers fill their bytes and differ") {
  const NcclCalls calls = real_calls();
  NcclId one, other;
  CHECK(calls.get_unique_id(&one) == 0);
  CHECK(calls.get_unique_id(&other) == 0);
  CHECK(one.bytes != other.bytes);
  CHECK(std::any_of(one.bytes.begin(), one.bytes.end(), [](char byte) { return byte != 0; }));
}

TEST_CASE("NCCL: error numbers are those of the table") {
  const NcclCalls calls = real_calls();
  const auto text = [&](int error) { return std::string(calls.get_error_string(error)); };
  CHECK(text(0) == "no error");
  CHECK(text(1).starts_with("unhandled cuda error"));
  CHECK(text(nccl_in_progress).find("in progress") != std::string::npos);
}

TEST_CASE("NCCL: wrong arguments are errors, not crashes") {
  const NcclCalls calls = real_calls();
  CHECK(calls.group_start() == 0);
  CHECK(calls.group_end() == 0);
  int error = 0;
  CHECK(calls.comm_get_async_error(nullptr, &error) != 0);
  NcclComm made = nullptr;
  CHECK(calls.comm_split(nullptr, 0, 0, &made, nullptr) != 0);
  CHECK(calls.send(nullptr, 1, nccl_uint8, 0, nullptr, nullptr) != 0);
  CHECK(calls.all_reduce(nullptr, nullptr, 1, nccl_bfloat16, nccl_sum, nullptr, nullptr) != 0);
}

}  // namespace penstock
