#include "validate/backends/cuda/arithmetic/block_float.hpp"
#include "validate/backends/cuda/check/check_steps.hpp"
#include "validate/backends/cuda/gpu_owners.hpp"
#include "validate/backends/cuda/measuring/gpu_trials.hpp"

namespace penstock {
namespace {

/// bf16 bit patterns without order: all exponents, infinities and NaNs too, blocks of one exponent
/// and blocks of many.
std::vector<std::uint16_t> patterns(std::uint64_t blocks) {
  std::vector<std::uint16_t> values(blocks * block_values);
  std::uint64_t state = 88172645463325252ULL;
  for (std::size_t i = 0; i < values.size(); ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const std::uint64_t block = i / block_values;
    const auto any = static_cast<std::uint16_t>(state >> 48);
    const auto near = static_cast<std::uint16_t>((block % 250) << 7 | (state >> 40 & 0x83FFU));
    values[i] = block % 17 == 0 ? any : near;
  }
  return values;
}

struct CodecMemory {
  GpuOwner<void> values;
  GpuOwner<void> packed;
};

GpuCodecKernel kernel_of(const CodecMemory& memory, std::uint64_t blocks, std::uint32_t bits,
                         std::uint32_t sms) {
  return {.values = static_cast<std::uint16_t*>(memory.values.get()),
          .packed = static_cast<std::uint8_t*>(memory.packed.get()),
          .blocks = blocks,
          .bits = bits,
          .decodes = false,
          .grid = 8 * sms};
}

void code(const CheckRun& run, const GpuDevice& device, const GpuCodecKernel& kernel) {
  check(run.calls, run.calls.launch_codec(device.conductor(), kernel), "launching a codec");
  device.wait_for(device.conductor(), "running a codec");
}

/// Bytes and values that differ from those of the host.
void check_bits(const CheckRun& run, const GpuDevice& device, std::uint32_t bits) {
  const std::uint64_t blocks = run.quick ? 1003 : 1'000'003;
  const std::vector<std::uint16_t> values = patterns(blocks);
  std::vector<std::uint8_t> packed(blocks * packed_bytes(bits));
  std::vector<std::uint16_t> back(values.size());
  for (std::uint64_t block = 0; block < blocks; ++block) {
    std::uint8_t* const own = packed.data() + block * packed_bytes(bits);
    pack_block(values.data() + block * block_values, bits, own);
    unpack_block(own, bits, back.data() + block * block_values);
  }
  const CodecMemory memory{make_memory(run.calls, 2 * values.size()),
                           make_memory(run.calls, packed.size())};
  check(run.calls, run.calls.write(memory.values.get(), values.data(), 2 * values.size()),
        "writing values");
  GpuCodecKernel kernel = kernel_of(memory, blocks, bits, device.facts().sms);
  code(run, device, kernel);
  std::vector<std::uint8_t> packed_there(packed.size());
  check(run.calls, run.calls.read(packed_there.data(), memory.packed.get(), packed.size()),
        "reading packed blocks");
  kernel.decodes = true;
  code(run, device, kernel);
  std::vector<std::uint16_t> back_there(values.size());
  check(run.calls, run.calls.read(back_there.data(), memory.values.get(), 2 * values.size()),
        "reading values");
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < packed.size(); ++i) bytes += packed[i] != packed_there[i] ? 1 : 0;
  std::uint64_t numbers = 0;
  for (std::size_t i = 0; i < back.size(); ++i) numbers += back[i] != back_there[i] ? 1 : 0;
  run.output.facts("block floating point",
                   {{"bits", json(std::uint64_t{bits})},
                    {"blocks", json(blocks)},
                    {"packed_bytes_that_differ", json(bytes)},
                    {"values_that_differ", json(numbers)}},
                   bytes + numbers > 0);
}

/// Bytes read and written, to compare with those of a copy.
void measure_rate(const CheckRun& run, const GpuDevice& device, std::uint32_t bits) {
  const std::uint64_t blocks = run.quick ? 1 << 10 : 1 << 26;  // 2 GiB of values
  const CodecMemory memory{make_memory(run.calls, 2 * blocks * block_values),
                           make_memory(run.calls, blocks * packed_bytes(bits))};
  check(run.calls,
        run.calls.fill(memory.values.get(), 0x3c, 2 * blocks * block_values, device.conductor()),
        "filling values");
  GpuCodecKernel kernel = kernel_of(memory, blocks, bits, device.facts().sms);
  const std::string shape = "bits=" + std::to_string(bits) +
                            " values=" + std::to_string(blocks * block_values) +
                            " sms=" + std::to_string(device.facts().sms);
  const auto launch = [&](GpuStream stream) {
    check(run.calls, run.calls.launch_codec(stream, kernel), "launching a codec");
  };
  const std::vector<double> encodes = timed(run, device, std::nullopt, launch);
  kernel.decodes = true;
  const std::vector<double> decodes = timed(run, device, std::nullopt, launch);
  run.output.times({"bfp", "encode", shape, "solo", encodes});
  run.output.times({"bfp", "decode", shape, "solo", decodes});
  const auto moved = static_cast<double>(blocks * (2 * block_values + packed_bytes(bits)));
  run.output.facts("rate of block floating point",
                   {{"bits", json(std::uint64_t{bits})},
                    {"moved_bytes", json(moved)},
                    {"encode_GB_per_s", json(moved / middle(encodes))},
                    {"decode_GB_per_s", json(moved / middle(decodes))}});
}

/// Bytes read and written by a copy from memory to memory, far beyond the cache.
void measure_copy(const CheckRun& run, const GpuDevice& device) {
  const std::size_t bytes = run.quick ? 1 << 16 : std::size_t{2} << 30;
  run.output.facts(
      "rate of a copy",
      {{"GB_per_s", json(2.0 * static_cast<double>(bytes) / probe_copy(run, device, bytes))}});
}

}  // namespace

void check_codec(const CheckRun& run) {
  const GpuDevice device(run.calls, 1, 0);
  for (const std::uint32_t bits : {4U, 6U, 8U}) check_bits(run, device, bits);
  measure_copy(run, device);
  for (const std::uint32_t bits : {4U, 6U, 8U}) measure_rate(run, device, bits);
}

}  // namespace penstock
