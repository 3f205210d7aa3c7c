// Integers, bits and predicates.
#include <concepts>
#include <functional>

#include "tests/support/ptx/thread.hpp"

namespace penstock::testing::ptx {
namespace {

using std::int16_t;
using std::int32_t;
using std::int64_t;
using std::int8_t;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;
using std::uint8_t;

template <class Function>
struct NotByZero {
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0) throw std::runtime_error("division by zero");
    return static_cast<T>(Function{}(a, b));
  }
};
/// Shifts by more than all bits leave none, or the sign.
struct ShiftLeft {
  template <class T>
  T operator()(T a, uint32_t by) const {
    return by < 8 * sizeof(T) ? static_cast<T>(a << by) : T{0};
  }
};
struct ShiftRight {
  template <class T>
  T operator()(T a, uint32_t by) const {
    constexpr uint32_t bits = 8 * sizeof(T);
    if constexpr (std::signed_integral<T>) return static_cast<T>(a >> std::min(by, bits - 1));
    return by < bits ? static_cast<T>(a >> by) : T{0};
  }
};

template <class T, class Function>
void binary(Thread& thread, const Instruction& i) {
  put<T>(thread, i.at[0],
         static_cast<T>(Function{}(get<T>(thread, i.at[1]), get<T>(thread, i.at[2]))));
}

template <class T, class Function>
void shift(Thread& thread, const Instruction& i) {
  put<T>(thread, i.at[0], Function{}(get<T>(thread, i.at[1]), get<uint32_t>(thread, i.at[2])));
}

template <class T>
void multiply_add(Thread& thread, const Instruction& i) {
  put<T>(
      thread, i.at[0],
      static_cast<T>(get<T>(thread, i.at[1]) * get<T>(thread, i.at[2]) + get<T>(thread, i.at[3])));
}

template <class T, class Wide>
void multiply_wide(Thread& thread, const Instruction& i) {
  put<Wide>(thread, i.at[0], Wide{get<T>(thread, i.at[1])} * Wide{get<T>(thread, i.at[2])});
}

/// The upper half of the product, of unsigned numbers.
template <class T>
void multiply_high(Thread& thread, const Instruction& i) {
  constexpr int half = 4 * sizeof(T);
  constexpr T mask = (T{1} << half) - 1;
  const T a = get<T>(thread, i.at[1]);
  const T b = get<T>(thread, i.at[2]);
  const T low = (a & mask) * (b & mask);
  const T middle = (a >> half) * (b & mask) + (low >> half);
  const T other = (a & mask) * (b >> half) + (middle & mask);
  put<T>(thread, i.at[0], (a >> half) * (b >> half) + (middle >> half) + (other >> half));
}

template <class T>
void invert(Thread& thread, const Instruction& i) {
  put<T>(thread, i.at[0], static_cast<T>(~get<T>(thread, i.at[1])));
}

template <class T>
void negate(Thread& thread, const Instruction& i) {
  put<T>(thread, i.at[0], static_cast<T>(T{0} - get<T>(thread, i.at[1])));
}

/// A clock that is compared is waited for.
template <class T, class Function>
void compare(Thread& thread, const Instruction& i) {
  const T a = get<T>(thread, i.at[1]);
  const T b = get<T>(thread, i.at[2]);
  if constexpr (std::same_as<T, uint64_t>) {
    if (a == thread.last_read) thread.awaited_ns = b;
    if (b == thread.last_read) thread.awaited_ns = a;
  }
  put<bool>(thread, i.at[0], Function{}(a, b));
}

template <class T>
void select(Thread& thread, const Instruction& i) {
  put<T>(thread, i.at[0], get<T>(thread, thread.registers[i.at[3]] != 0 ? i.at[1] : i.at[2]));
}

template <class T>
void move(Thread& thread, const Instruction& i) {
  put<T>(thread, i.at[0], get<T>(thread, i.at[1]));
}

template <class To, class From>
void convert(Thread& thread, const Instruction& i) {
  put<To>(thread, i.at[0], static_cast<To>(get<From>(thread, i.at[1])));
}

/// Lower bits first.
template <class Whole, class Half>
void pack(Thread& thread, const Instruction& i) {
  put<Whole>(
      thread, i.at[0],
      Whole{get<Half>(thread, i.at[1])} | Whole{get<Half>(thread, i.at[2])} << 8 * sizeof(Half));
}
template <class Whole, class Half>
void unpack(Thread& thread, const Instruction& i) {
  const auto whole = get<Whole>(thread, i.at[2]);
  put<Half>(thread, i.at[0], static_cast<Half>(whole));
  put<Half>(thread, i.at[1], static_cast<Half>(whole >> 8 * sizeof(Half)));
}

/// What all types have.
template <class T>
void add_any(Operations& all, const std::string& type) {
  all["shr." + type] = shift<T, ShiftRight>;
  all["selp." + type] = select<T>;
  all["mov." + type] = move<T>;
  all["setp.eq." + type] = compare<T, std::equal_to<>>;
  all["setp.ne." + type] = compare<T, std::not_equal_to<>>;
}

/// Sums and products of signed numbers have the bits of unsigned ones.
template <class T>
void add_type(Operations& all, const std::string& type) {
  using Bits = std::make_unsigned_t<T>;
  all["add." + type] = binary<Bits, std::plus<>>;
  all["sub." + type] = binary<Bits, std::minus<>>;
  all["mul.lo." + type] = binary<Bits, std::multiplies<>>;
  all["mad.lo." + type] = multiply_add<Bits>;
  all["neg." + type] = negate<Bits>;
  all["div." + type] = binary<T, NotByZero<std::divides<>>>;
  all["rem." + type] = binary<T, NotByZero<std::modulus<>>>;
  all["min." + type] = binary<T, Min>;
  all["max." + type] = binary<T, Max>;
  all["setp.lt." + type] = compare<T, std::less<>>;
  all["setp.le." + type] = compare<T, std::less_equal<>>;
  all["setp.gt." + type] = compare<T, std::greater<>>;
  all["setp.ge." + type] = compare<T, std::greater_equal<>>;
  add_any<T>(all, type);
}

template <class T>
void add_bits(Operations& all, const std::string& type) {
  all["and." + type] = binary<T, std::bit_and<>>;
  all["or." + type] = binary<T, std::bit_or<>>;
  all["xor." + type] = binary<T, std::bit_xor<>>;
  all["not." + type] = invert<T>;
  all["shl." + type] = shift<T, ShiftLeft>;
  add_any<T>(all, type);
}

template <class From>
void add_conversions(Operations& all, const std::string& from) {
  all["cvt.u8." + from] = convert<uint8_t, From>;
  all["cvt.u16." + from] = convert<uint16_t, From>;
  all["cvt.u32." + from] = convert<uint32_t, From>;
  all["cvt.u64." + from] = convert<uint64_t, From>;
  all["cvt.s8." + from] = convert<int8_t, From>;
  all["cvt.s16." + from] = convert<int16_t, From>;
  all["cvt.s32." + from] = convert<int32_t, From>;
  all["cvt.s64." + from] = convert<int64_t, From>;
}

void invert_predicate(Thread& thread, const Instruction& i) {
  put<bool>(thread, i.at[0], thread.registers[i.at[1]] == 0);
}

void count_zeros(Thread& thread, const Instruction& i) {
  put<uint32_t>(thread, i.at[0],
                static_cast<uint32_t>(std::countl_zero(get<uint32_t>(thread, i.at[1]))));
}

}  // namespace

void add_integers(Operations& all) {
  add_type<uint16_t>(all, "u16");
  add_type<uint32_t>(all, "u32");
  add_type<uint64_t>(all, "u64");
  add_type<int16_t>(all, "s16");
  add_type<int32_t>(all, "s32");
  add_type<int64_t>(all, "s64");
  add_bits<uint16_t>(all, "b16");
  add_bits<uint32_t>(all, "b32");
  add_bits<uint64_t>(all, "b64");
  add_conversions<uint8_t>(all, "u8");
  add_conversions<uint16_t>(all, "u16");
  add_conversions<uint32_t>(all, "u32");
  add_conversions<uint64_t>(all, "u64");
  add_conversions<int8_t>(all, "s8");
  add_conversions<int16_t>(all, "s16");
  add_conversions<int32_t>(all, "s32");
  add_conversions<int64_t>(all, "s64");
  all["mul.wide.u16"] = multiply_wide<uint16_t, uint32_t>;
  all["mul.wide.u32"] = multiply_wide<uint32_t, uint64_t>;
  all["mul.wide.s16"] = multiply_wide<int16_t, int32_t>;
  all["mul.wide.s32"] = multiply_wide<int32_t, int64_t>;
  all["mul.hi.u32"] = multiply_high<uint32_t>;
  all["mul.hi.u64"] = multiply_high<uint64_t>;
  all["clz.b32"] = count_zeros;
  all["mov.b32 pack"] = pack<uint32_t, uint16_t>;
  all["mov.b32 unpack"] = unpack<uint32_t, uint16_t>;
  all["mov.b64 pack"] = pack<uint64_t, uint32_t>;
  all["mov.b64 unpack"] = unpack<uint64_t, uint32_t>;
  all["and.pred"] = binary<bool, std::bit_and<>>;
  all["or.pred"] = binary<bool, std::bit_or<>>;
  all["xor.pred"] = binary<bool, std::bit_xor<>>;
  all["not.pred"] = invert_predicate;
  all["mov.pred"] = move<bool>;
  // Global memory is at the same addresses whatever the kind of address.
  all["cvta.to.global.u64"] = move<uint64_t>;
}

}  // namespace penstock::testing::ptx
