#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <regex>

#include "tests/support/fake_gpu.hpp"
#include "tests/support/refusal.hpp"
#include "validate/backends/cuda/arithmetic/block_float.hpp"
#include "validate/backends/cuda/check/check_steps.hpp"
#include "validate/backends/cuda/measuring/gpu_trials.hpp"
#include "validate/backends/cuda/programs/gpu_pipeline.hpp"
#include "validate/backends/cuda/running/gpu_executor.hpp"

// The kernels that nvcc compiled, on the fake GPU, and what notices when one of them is changed.

namespace penstock::testing {
namespace {

bool has_kernels() {
  if (ptx::compiled_kernels() != nullptr) return true;
  MESSAGE("skipped: this build has no nvcc");
  return false;
}

std::vector<std::uint16_t> drawn_values(std::uint64_t blocks) {
  std::mt19937 random(7);
  std::vector<std::uint16_t> values(blocks * block_values);
  for (std::uint16_t& value : values) value = static_cast<std::uint16_t>(random());
  return values;
}

/// Bit by bit, and nothing beyond the end.
std::string codec_fault(const GpuCalls& calls, const GpuDevice& device, unsigned bits,
                        std::uint64_t blocks) {
  constexpr std::uint64_t beyond = 4;  // blocks
  std::vector<std::uint16_t> values = drawn_values(blocks + beyond);
  std::vector<std::uint8_t> packed((blocks + beyond) * packed_bytes(bits), 0xA5);
  auto right_packed = packed;
  std::vector<std::uint16_t> unpacked(values.size(), 0xA5A5);
  auto right_unpacked = unpacked;
  for (std::uint64_t block = 0; block < blocks; ++block) {
    std::uint8_t* const place = right_packed.data() + block * packed_bytes(bits);
    pack_block(values.data() + block * block_values, bits, place);
    unpack_block(place, bits, right_unpacked.data() + block * block_values);
  }
  const GpuStream stream = device.conductor();
  calls.launch_codec(stream, {values.data(), packed.data(), blocks, bits, false, 2});
  if (packed != right_packed) return "encoded otherwise";
  calls.launch_codec(stream, {unpacked.data(), packed.data(), blocks, bits, true, 2});
  return unpacked == right_unpacked ? "" : "decoded otherwise";
}

std::string codecs_fault(const GpuCalls& calls) {
  const GpuDevice device(calls, 1, 0);
  for (const unsigned bits : {4U, 6U, 8U}) {
    for (const std::uint64_t blocks : {1U, 300U, 1024U}) {
      if (auto fault = codec_fault(calls, device, bits, blocks); !fault.empty()) return fault;
    }
  }
  return "";
}

/// Whether each task took its time, and all of them that of the longest path.
bool takes_its_time(const GpuProgram& program, const GpuRun& run) {
  for (std::size_t at = 0; at < program.tasks.size(); ++at) {
    const GpuTask& task = program.tasks[at];
    if (run.end_ns[at] - run.begin_ns[at] != task.duration_ns + task.latency_ns) return false;
  }
  return makespan_ns(run) == longest_path_ns(program);
}

/// Stamps to the nanosecond, and the contents of tensors.
std::string pipeline_fault(const GpuCalls& calls) {
  const GpuProgram program = one_f_one_b({.ranks = 2,
                                          .microbatches = 3,
                                          .forward_ns = 2'000,
                                          .transfer_ns = 700,
                                          .transfer_bytes = 4096});
  const GpuDevice device(calls, program.ranks, program.links);
  for (const GpuOrdering ordering :
       {GpuOrdering::host_issued, GpuOrdering::host_graphs, GpuOrdering::graph}) {
    GpuExecutor executor(device, program, {.ordering = ordering});
    executor.run();
    if (!takes_its_time(program, executor.run())) return "took another time";
    if (!wrong_transfers(device, program, {.ordering = ordering}).empty()) return "wrong tensors";
  }
  return "";
}

std::string layers_fault(const GpuCalls& calls) {
  const GpuDevice device(calls, 1, 0);
  for (const GpuLayerKind& kind : layer_kinds()) {
    for (const LayerError& pass : layer_errors(device, kind, tiny_layers)) {
      if (!(pass.error <= most_layer_error)) return name(kind.work) + ", " + pass.pass;
    }
  }
  return "";
}

/// Tokens of several tiles, the last of which is not whole.
std::string attention_fault(const GpuCalls& calls) {
  const GpuDevice device(calls, 1, 0);
  const GpuLayerKind& kind = *layer_kind_of(GpuWork::transformer);
  for (const std::uint32_t head : {64U, 128U}) {
    const GpuLayerSizes sizes{
        .examples = 2, .tokens = 150, .heads = 128 / head, .head = head, .inner = 64};
    for (const LayerError& pass : layer_errors(device, kind, sizes)) {
      if (!(pass.error <= most_layer_error)) return pass.pass;
    }
  }
  return "";
}

using Check = std::string (*)(const GpuCalls&);

/// What a check finds, or what the kernels themselves do wrong.
std::string fault_of(const ptx::Kernels& kernels, Check check) {
  FakeGpu gpu;
  gpu.kernels = &kernels;
  gpu.most_work = 1 << 26;
  return refused_with<std::exception>([&] { return check(gpu.calls()); });
}

/// A change of one instruction of a kernel.
struct Mutant {
  const char* name;
  const char* kernel;
  const char* pattern;
  int match;  // which one, counted from 0
  const char* replacement;
  Check check;
};

const Mutant mutants[] = {
    {"encode without its first barrier", "encodeILj4", "bar\\.sync\\s+0;", 0, "", codecs_fault},
    {"decode without its first barrier", "decodeILj8", "bar\\.sync\\s+0;", 0, "", codecs_fault},
    {"ties go to odd numbers", "encodeILj4", "setp\\.eq\\.b32\\s+(%p\\d+), (%r\\d+), 1;", 0,
     "setp.ne.b32 $1, $2, 1;", codecs_fault},
    {"a block too many", "decodeILj8", "setp\\.ge\\.u64", 0, "setp.gt.u64", codecs_fault},
    {"a copy one word short", "4copyENS", ", 15;", 0, ", -1;", pipeline_fault},
    {"the queue never moves", "wait_action", "st\\.global\\.u32\\s+[^;]*;", 1, "", pipeline_fault},
    {"the end is the least stamp", "wait_action", "atom\\.global\\.max\\.u64", 0,
     "atom.global.min.u64", pipeline_fault},
    {"the begin is the largest stamp", "wait_action", "atom\\.global\\.min\\.u64", 0,
     "atom.global.max.u64", pipeline_fault},
    {"blocks are counted without an atomic", "wait_action",
     "atom\\.global\\.add\\.u32\\s+(%r\\d+), (\\[%rd\\d+\\]), 1;", 0,
     "ld.global.u32 $1, $2;\nadd.s32 $1, $1, 1;\nst.global.u32 $2, $1;\nadd.s32 $1, $1, -1;",
     pipeline_fault},
    {"transfers arrive early", "4copyENS", "add\\.s64\\s+(%rd\\d+), (%rd\\d+), (%rd\\d+);\\s+shl",
     0, "sub.s64 $1, $2, $3;\nshl", pipeline_fault},
    {"half a warp is missing in a shuffle", "runINS_9LayerNormI", "mov\\.u32\\s+(%r\\d+), -1;", 1,
     "mov.u32 $1, 65535;", layers_fault},
    {"operands are swapped", "9attentionILj64", "sub\\.f32\\s+(%f\\d+), (%f\\d+), (%f\\d+);", 0,
     "sub.f32 $1, $3, $2;", layers_fault},
    {"a tile is read before it has come", "9attentionILj128", "cp\\.async\\.wait_group 0;", 0, "",
     attention_fault},
    {"the next tile is waited for too late", "12key_gradientILj64", "cp\\.async\\.wait_group 1;", 0,
     "cp.async.wait_group 2;", attention_fault},
    {"tiles are overwritten while they are read", "14query_gradientILj64", "bar\\.sync\\s+0;", 1,
     "", attention_fault},
    {"keys are not transposed", "12key_gradientILj64", "\\.x4\\.trans", 0, ".x4", layers_fault},
};

/// The kernel's own text, changed.
std::string changed(const Mutant& mutant) {
  const std::string& text = ptx::compiled_text();
  std::size_t begin = text.find(".entry");
  while (text.substr(begin, text.find('\n', begin) - begin).find(mutant.kernel) == text.npos) {
    begin = text.find(".entry", begin + 1);
    REQUIRE(begin != text.npos);
  }
  const std::string body = text.substr(begin, text.find("\n}\n", begin) + 3 - begin);
  const std::regex pattern(mutant.pattern);
  INFO(mutant.name);
  auto found = std::sregex_iterator(body.begin(), body.end(), pattern);
  for (int match = 0; match < mutant.match && found != std::sregex_iterator(); ++match) ++found;
  REQUIRE(found != std::sregex_iterator());
  const auto at = static_cast<std::size_t>(found->position());
  return body.substr(0, at) + found->format(mutant.replacement) +
         body.substr(at + static_cast<std::size_t>(found->length()));
}

}  // namespace

TEST_CASE("compiled kernels: codecs bit by bit, pipelines to the nanosecond, layers as on a host") {
  if (!has_kernels()) return;
  for (const Check check : {codecs_fault, pipeline_fault, layers_fault, attention_fault}) {
    CHECK(fault_of(*ptx::compiled_kernels(), check) == "");
  }
}

TEST_CASE("compiled kernels: streams of words are copied from one half of memory to the other") {
  if (!has_kernels()) return;
  FakeGpu gpu;
  gpu.kernels = ptx::compiled_kernels();
  const GpuCalls calls = gpu.calls();
  const GpuDevice device(calls, 1, 0);
  std::vector<std::uint32_t> numbers(2 * 4 * 64);
  for (std::size_t i = 0; i < numbers.size() / 2; ++i) numbers[i] = static_cast<std::uint32_t>(i);
  GpuTaskRecord record{};
  std::uint64_t begin = UINT64_MAX;
  std::uint64_t end = 0;
  std::vector<unsigned char> sms(most_sm_ids);
  GpuActionKernel kernel{};
  kernel.task = {&begin, &end, &record, nullptr, 0, true, nullptr, nullptr};
  kernel.work = GpuWork::bytes;
  kernel.blocks = 2;
  kernel.threads = 32;
  kernel.amount = 128;  // twice as many words as half of the memory has
  kernel.memory = numbers.data();
  kernel.words = 128;
  kernel.sms_seen = sms.data();
  REQUIRE(calls.launch_action(device.conductor(), kernel) == 0);
  CHECK(std::equal(numbers.begin(), numbers.begin() + 256, numbers.begin() + 256));
  CHECK(begin <= end);
  CHECK(std::count(sms.begin(), sms.end(), 1) == 2);
}

TEST_CASE("compiled kernels: each change of one instruction is noticed") {
  if (!has_kernels()) return;
  for (const Mutant& mutant : mutants) {
    CAPTURE(std::string(mutant.name));
    ptx::Kernels kernels = *ptx::compiled_kernels();
    for (auto& [name, kernel] : ptx::read_ptx(changed(mutant))) kernels[name] = kernel;
    CHECK(fault_of(kernels, mutant.check) != "");
  }
}

}  // namespace penstock::testing
