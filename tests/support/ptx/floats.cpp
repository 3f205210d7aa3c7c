// Single precision. Approximations are as wrong as the instruction set allows them to be.
#include <cfenv>
#include <cmath>
#include <functional>

#include "tests/support/ptx/thread.hpp"

namespace penstock::testing::ptx {
namespace {

/// Subnormal numbers count as zero.
float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0F, value) : value;
}

template <class Function>
void binary_float(Thread& thread, const Instruction& i) {
  put<float>(thread, i.at[0], Function{}(get<float>(thread, i.at[1]), get<float>(thread, i.at[2])));
}

/// Of the least and the largest, a number goes before a NaN.
struct Least {
  float operator()(float a, float b) const { return std::fmin(a, b); }
};
struct Largest {
  float operator()(float a, float b) const { return std::fmax(a, b); }
};
struct SignOfFirst {
  float operator()(float sign, float size) const { return std::copysign(size, sign); }
};

template <float (*function)(float)>
void unary_float(Thread& thread, const Instruction& i) {
  put<float>(thread, i.at[0], function(get<float>(thread, i.at[1])));
}

float negative(float a) { return -a; }
float size_of(float a) { return std::fabs(a); }
float root(float a) { return std::sqrt(a); }
float inverse(float a) { return 1 / a; }
float towards_zero(float a) { return std::trunc(a); }
float same(float a) { return a; }
/// A NaN becomes 0.
float saturated(float a) { return a > 0 ? std::fmin(a, 1.0F) : 0.0F; }

/// Rounded once. It counts as work.
void fused(Thread& thread, const Instruction& i) {
  ++thread.worked;
  put<float>(thread, i.at[0],
             std::fma(get<float>(thread, i.at[1]), get<float>(thread, i.at[2]),
                      get<float>(thread, i.at[3])));
}

void fused_down(Thread& thread, const Instruction& i) {
  const int before = std::fegetround();
  std::fesetround(FE_DOWNWARD);
  // Not moved out of this rounding.
  const volatile float a = get<float>(thread, i.at[1]);
  const volatile float result =
      std::fma(a, get<float>(thread, i.at[2]), get<float>(thread, i.at[3]));
  std::fesetround(before);
  put<float>(thread, i.at[0], result);
}

/// An error between -1 and 1.
double drawn(Thread& thread) {
  constexpr double half = 2147483648.0;
  return (static_cast<double>(thread.grid->random.next()) - half) / half;
}

/// 2^a within a relative error of 2^-22, the largest that PTX states.
void power_of_two(Thread& thread, const Instruction& i) {
  const double exact = std::exp2(double{flushed(get<float>(thread, i.at[1]))});
  put<float>(thread, i.at[0], flushed(static_cast<float>(exact * (1 + drawn(thread) * 0x1p-22))));
}

/// 1/a with an error of up to 1 ulp.
void about_inverse(Thread& thread, const Instruction& i) {
  float result = 1 / flushed(get<float>(thread, i.at[1]));
  const double error = drawn(thread);
  if (std::isfinite(result) && result != 0 && std::fabs(error) > 0.5) {
    result = std::nextafter(result, static_cast<float>(std::copysign(INFINITY, error)));
  }
  put<float>(thread, i.at[0], flushed(result));
}

template <class Function, bool of_nan>
void compare_float(Thread& thread, const Instruction& i) {
  const auto a = get<float>(thread, i.at[1]);
  const auto b = get<float>(thread, i.at[2]);
  put<bool>(thread, i.at[0], std::isunordered(a, b) ? of_nan : Function{}(a, b));
}

/// Half to even, the second operand in the lower half.
std::uint32_t bf16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return 0x7FFF;
  return (bits + 0x7FFFU + (bits >> 16U & 1U)) >> 16U;
}
void one_bf16(Thread& thread, const Instruction& i) {
  put<std::uint16_t>(thread, i.at[0],
                     static_cast<std::uint16_t>(bf16_bits(get<float>(thread, i.at[1]))));
}
void pair_of_bf16(Thread& thread, const Instruction& i) {
  put<std::uint32_t>(
      thread, i.at[0],
      bf16_bits(get<float>(thread, i.at[1])) << 16U | bf16_bits(get<float>(thread, i.at[2])));
}

void select_float(Thread& thread, const Instruction& i) {
  put<float>(thread, i.at[0],
             get<float>(thread, thread.registers[i.at[3]] != 0 ? i.at[1] : i.at[2]));
}

template <class From>
void float_of(Thread& thread, const Instruction& i) {
  put<float>(thread, i.at[0], static_cast<float>(get<From>(thread, i.at[1])));
}

template <class Function>
void add_comparison(Operations& all, const std::string& name) {
  all["setp." + name + ".f32"] = compare_float<Function, false>;
  all["setp." + name + "u.f32"] = compare_float<Function, true>;
}

}  // namespace

void add_floats(Operations& all) {
  for (const char* const rounding : {".f32", ".rn.f32"}) {
    const std::string end = rounding;
    all["add" + end] = binary_float<std::plus<>>;
    all["sub" + end] = binary_float<std::minus<>>;
    all["mul" + end] = binary_float<std::multiplies<>>;
  }
  all["div.rn.f32"] = binary_float<std::divides<>>;
  all["min.f32"] = binary_float<Least>;
  all["max.f32"] = binary_float<Largest>;
  all["copysign.f32"] = binary_float<SignOfFirst>;
  all["neg.f32"] = unary_float<negative>;
  all["abs.f32"] = unary_float<size_of>;
  all["sqrt.rn.f32"] = unary_float<root>;
  all["rcp.rn.f32"] = unary_float<inverse>;
  all["mov.f32"] = unary_float<same>;
  all["cvt.rn.bf16.f32"] = one_bf16;
  all["cvt.rn.bf16x2.f32"] = pair_of_bf16;
  all["cvt.rzi.f32.f32"] = unary_float<towards_zero>;
  all["cvt.sat.f32.f32"] = unary_float<saturated>;
  all["cvt.rn.f32.u32"] = float_of<std::uint32_t>;
  all["cvt.rn.f32.s32"] = float_of<std::int32_t>;
  all["cvt.rn.f32.u64"] = float_of<std::uint64_t>;
  all["cvt.rn.f32.s64"] = float_of<std::int64_t>;
  all["fma.rn.f32"] = fused;
  all["fma.rm.f32"] = fused_down;
  all["ex2.approx.ftz.f32"] = power_of_two;
  all["rcp.approx.ftz.f32"] = about_inverse;
  all["selp.f32"] = select_float;
  add_comparison<std::equal_to<>>(all, "eq");
  add_comparison<std::not_equal_to<>>(all, "ne");
  add_comparison<std::less<>>(all, "lt");
  add_comparison<std::less_equal<>>(all, "le");
  add_comparison<std::greater<>>(all, "gt");
  add_comparison<std::greater_equal<>>(all, "ge");
}

}  // namespace penstock::testing::ptx
