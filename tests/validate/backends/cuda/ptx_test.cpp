#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>
#include <string>

#include "tests/support/ptx/kernel.hpp"
#include "tests/support/refusal.hpp"

// What runs PTX on this CPU: its arithmetic, its order of memory, and what it refuses.

namespace penstock::testing::ptx {
namespace {

/// A kernel of the parameters `in` and `out`, whose addresses are in %rd1 and %rd2.
Kernel kernel_of(const std::string& body) {
  return read_ptx(
             ".entry probe(\n.param .u64 in,\n.param .u64 out\n)\n{\n"
             ".reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .f32 %f<8>;\n.reg .b64 %rd<8>;\n"
             "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\n" +
             body + "\nret;\n}\n")
      .at("probe");
}

float result_of(const std::string& body, float in) {
  float out = 0;
  run(kernel_of("ld.global.f32 %f1, [%rd1];\n" + body + "\nst.global.f32 [%rd2], %f2;"), {}, &in,
      &out);
  return out;
}

std::string kernel_error(const std::string& body) {
  std::uint64_t memory = 0;
  return refused_with<std::runtime_error>(
      [&] { run(kernel_of(body), {.threads = 2}, &memory, &memory); });
}

/// Block 0 writes a number and then a flag; what block 1 reads once it sees the flag.
std::uint32_t read_after_flag(const std::string& between, std::uint32_t seed) {
  std::uint32_t written[2] = {};
  std::uint32_t seen = 0;
  const Kernel kernel = kernel_of(
      "mov.u32 %r1, %ctaid.x;\nsetp.ne.s32 %p1, %r1, 0;\n"
      "@%p1 bra $L_reads;\n"
      "st.global.u32 [%rd1], 1;\n" +
      between +
      "\nst.global.u32 [%rd1+4], 1;\nret;\n"
      "$L_reads:\nnanosleep.u32 1;\nld.global.u32 %r2, [%rd1+4];\n"
      "setp.eq.s32 %p2, %r2, 0;\n@%p2 bra $L_reads;\n"
      "ld.global.u32 %r3, [%rd1];\nst.global.u32 [%rd2], %r3;");
  std::uint32_t* const in = written;
  std::uint32_t* const out = &seen;
  run(kernel, {.blocks = 2, .seed = seed}, in, out);
  return seen;
}

}  // namespace

TEST_CASE("ptx: a store may be seen before an earlier one, but not across a fence") {
  std::uint32_t stale = 0;
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    CHECK(read_after_flag("membar.gl;", seed) == 1);
    stale += 1 - read_after_flag("", seed);
  }
  CHECK(stale > 0);
}

TEST_CASE("ptx: approximations err, within the bound of the instruction set") {
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const float in = 0.37F * static_cast<float>(i - 50);
    const double right = std::exp2(double{in});
    const double error = result_of("ex2.approx.ftz.f32 %f2, %f1;", in) / right - 1;
    CHECK(std::fabs(error) < 0x1p-22 + 0x1p-24);
    differs = differs || std::fabs(error) > 0x1p-24;
  }
  CHECK(differs);
  CHECK(std::isinf(result_of("rcp.approx.ftz.f32 %f2, %f1;", 1e-40F)));  // as of zero
  CHECK(result_of("ex2.approx.ftz.f32 %f2, %f1;", -140) == 0);
}

TEST_CASE("ptx: a sum is rounded as its instruction says, and a sleep lasts until its time") {
  const std::string sum = ".f32 %f2, %f1, 0f3F800000, 0fB0000000;";  // in * 1 - 2^-31
  CHECK(result_of("fma.rn" + sum, 1) == 1);
  CHECK(result_of("fma.rm" + sum, 1) == std::nextafter(1.0F, 0.0F));
  std::uint64_t unused = 0;
  const Kernel waits = kernel_of(
      "$L_waits:\nnanosleep.u32 64;\nmov.u64 %rd3, %globaltimer;\n"
      "setp.lt.u64 %p1, %rd3, 1003;\n@%p1 bra $L_waits;");
  CHECK(run(waits, {.begin_ns = 500}, &unused, &unused) == 1003);
}

TEST_CASE("ptx: what it does not know, and what a GPU leaves undefined, is an error") {
  CHECK(kernel_error("ex3.f32 %f1, %f2;") == "PTX, line 12: unknown instruction ex3.f32");
  CHECK(kernel_error("add.s32 %r1, %r9, 1;") == "PTX, line 12: unknown operand %r9");
  CHECK(kernel_error("ld.global.u32 %r1, [%rd1+2];").find("misaligned address, line 12 of probe") ==
        0);
  CHECK(kernel_error("ld.param.u64 %rd3, [out+8];").find("address out of bounds") == 0);
  CHECK(kernel_error("div.u32 %r1, %r2, 0;").find("division by zero") == 0);
  CHECK(kernel_error("mov.u32 %r1, %tid.x;\nsetp.eq.s32 %p1, %r1, 0;\n@%p1 bra $L_end;\n"
                     "shfl.sync.bfly.b32 %r2|%p2, %r1, 1, 31, 3;\n$L_end:")
            .find("a shuffle waits for a lane that has ended") == 0);
  CHECK(kernel_error("mov.u32 %r1, %tid.x;\nsetp.eq.s32 %p1, %r1, 1;\n@%p1 bra $L_end;\n"
                     "shfl.sync.bfly.b32 %r2|%p2, %r1, 1, 31, 1;\n$L_end:")
            .find("a shuffle reads a lane outside of its mask") == 0);
  CHECK(kernel_error("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r1, %r1, %r1}, [%r2];")
            .find("a warp is not whole") == 0);
}

}  // namespace penstock::testing::ptx
