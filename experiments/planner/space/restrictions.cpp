#include "experiments/planner/space/restrictions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "experiments/files/nearest.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr std::array axes{"/parallel/pipeline",     "/parallel/tensor",  "/parallel/data",
                          "/parallel/context",      "/parallel/expert",  "/parallel/chunks",
                          "/parallel/sequence",     "/model/microbatch", "/schedule/name",
                          "/schedule/microbatches", "/memory/zero",      "/recompute/mode",
                          "/codec/stash",           "/codec/link",       "/offload/keep",
                          "/partition/name"};

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

void check_axis(const std::string& pointer, const std::string& text) {
  if (std::find(axes.begin(), axes.end(), pointer) != axes.end()) return;
  throw UsageError(text + ": " +
                   unknown_text(fmt::format("axis \"{}\"", pointer), pointer,
                                std::vector<std::string>(axes.begin(), axes.end())));
}

}  // namespace

Restrictions::Restrictions(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals + 1 == text.size()) {
      throw UsageError(fmt::format("{}: it must read /pointer=value,value", text));
    }
    const std::string pointer = text.substr(0, equals);
    check_axis(pointer, text);
    allowed_[pointer] = split(text.substr(equals + 1), ',');
  }
}

const std::vector<std::string>* Restrictions::values_of(std::string_view pointer) const {
  const auto found = allowed_.find(pointer);
  return found == allowed_.end() ? nullptr : &found->second;
}

bool Restrictions::allow(std::string_view pointer, std::string_view value) const {
  const std::vector<std::string>* values = values_of(pointer);
  return values == nullptr || std::find(values->begin(), values->end(), value) != values->end();
}

bool Restrictions::allow(std::string_view pointer, std::uint64_t value) const {
  return allow(pointer, std::string_view(std::to_string(value)));
}

Restrictions Restrictions::with(const Restrictions& other) const {
  Restrictions both = *this;
  for (const auto& [pointer, values] : other.allowed_) both.allowed_[pointer] = values;
  return both;
}

std::string Restrictions::text() const {
  std::vector<std::string> texts;
  for (const auto& [pointer, values] : allowed_) {
    texts.push_back(fmt::format("{}={}", pointer, fmt::join(values, ",")));
  }
  return fmt::format("{}", fmt::join(texts, " "));
}

std::vector<std::string> split_settings(const std::string& text) {
  std::vector<std::string> settings;
  for (const std::string& part : split(text, ',')) {
    if (part.starts_with('/') || settings.empty()) {
      settings.push_back(part);
    } else {
      settings.back() += "," + part;
    }
  }
  return settings;
}

}  // namespace penstock
