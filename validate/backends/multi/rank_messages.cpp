#include "validate/backends/multi/rank_messages.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace penstock {
namespace {

void put_task(ByteWriter& out, const std::optional<TaskId>& task) {
  out.u32(task.value_or(no_task));
}

std::optional<TaskId> take_task(ByteReader& in) {
  const TaskId task = in.u32();
  return task == no_task ? std::nullopt : std::optional(task);
}

}  // namespace

ByteWriter body_of(const RankRun& run) {
  ByteWriter out;
  out.f64(run.uncertainty_ns);
  put_task(out, run.wrong);
  put_task(out, run.brought);
  out.u32(static_cast<std::uint32_t>(run.stamps.size()));
  for (const RankStamp& stamp : run.stamps) {
    out.u32(stamp.task);
    out.i64(stamp.begin_ns);
    out.i64(stamp.end_ns);
  }
  return out;
}

RankRun rank_run_in(const ControlMessage& message) {
  constexpr std::size_t stamp_bytes = 20;
  ByteReader in(message.body);
  RankRun run;
  run.uncertainty_ns = in.f64();
  run.wrong = take_task(in);
  run.brought = take_task(in);
  for (std::uint32_t left = in.count(stamp_bytes); left > 0; --left) {
    const TaskId task = in.u32();
    const std::int64_t begin_ns = in.i64();
    run.stamps.push_back({task, begin_ns, in.i64()});
  }
  return run;
}

ByteWriter body_of(const NcclId& id) {
  ByteWriter out;
  out.text({id.bytes.data(), id.bytes.size()});
  return out;
}

NcclId nccl_id_in(const ControlMessage& message) {
  const std::string text = text_in(message);
  NcclId id;
  if (text.size() != id.bytes.size()) throw std::runtime_error("sent an invalid identifier");
  std::copy(text.begin(), text.end(), id.bytes.begin());
  return id;
}

ByteWriter body_of(std::int64_t ns) {
  ByteWriter out;
  out.i64(ns);
  return out;
}

std::int64_t ns_in(const ControlMessage& message) { return ByteReader(message.body).i64(); }

}  // namespace penstock
