#include "apps/server/step_log.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/json_slice.h"

namespace holdfast {

namespace {

struct Message {
  LogLevel level = LogLevel::info;
  std::string text;
};

// From {"level","message"}; an unknown level counts as info.
Message message_of(std::string_view line) {
  Message parsed;
  JsonSlicer members(line);
  while (const auto member = members.next()) {
    if (member->name == "level") {
      parsed.level = enum_from<LogLevel>(json_string_value(member->value).value_or(""))
                         .value_or(LogLevel::info);
    } else if (member->name == "message") {
      parsed.text = json_string_value(member->value).value_or(std::string(member->value));
    }
  }
  return parsed;
}

// Truncates at a character boundary.
void cut(std::string& text, std::size_t most) {
  if (text.size() <= most) {
    return;
  }
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) {
    --most;
  }
  text.resize(most);
  text += "…";
}

}  // namespace

StepLog::StepLog(ServerLog& log, Clock& clock, Limits limits)
    : log_(log),
      clock_(clock),
      limits_(limits),
      left_(static_cast<double>(limits.burst)),
      left_at_(clock.now()),
      started_(thread_.start([this] { run(); })) {}

StepLog::~StepLog() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_one();
  }
  thread_.join();
}

// A token bucket.
bool StepLog::within_limit() {
  const TimeMs now = clock_.now();
  const auto passed = static_cast<double>(std::max<std::int64_t>(0, now.value - left_at_.value));
  left_at_ = now;
  left_ = std::min(static_cast<double>(limits_.burst),
                   left_ + passed * static_cast<double>(limits_.per_second) / 1000);
  if (left_ < 1 || waiting_.size() >= limits_.burst) {
    return false;
  }
  left_ -= 1;
  return true;
}

void StepLog::add(const std::vector<LogLine>& lines) {
  if (lines.empty()) {
    return;
  }
  const std::scoped_lock lock(mutex_);
  for (const LogLine& line : lines) {
    if (within_limit()) {
      waiting_.push_back(line);
    } else {
      ++dropped_;
    }
  }
  changed_.notify_one();
}

void StepLog::run() {
  // Dropped lines are reported at most this often.
  constexpr std::chrono::milliseconds kReportEvery{1000};
  auto report_at = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto awake = [this] { return stopping_ || !waiting_.empty(); };
    if (dropped_ > 0) {
      changed_.wait_until(lock, report_at, awake);
    } else {
      changed_.wait(lock, [&] { return awake() || dropped_ > 0; });
    }
    const std::deque<LogLine> lines = std::exchange(waiting_, {});
    const bool stopping = stopping_;
    const bool report = stopping || std::chrono::steady_clock::now() >= report_at;
    const std::uint64_t dropped = report ? std::exchange(dropped_, 0) : 0;
    lock.unlock();
    for (const LogLine& line : lines) {
      write(line);
    }
    if (dropped > 0) {
      log_.write(LogLevel::warning, "log steps write too fast; lines dropped",
                 {{"count", std::to_string(dropped)}});
      report_at = std::chrono::steady_clock::now() + kReportEvery;
    }
    lock.lock();
    if (stopping && waiting_.empty()) {
      return;
    }
  }
}

void StepLog::write(const LogLine& line) {
  Message parsed = message_of(line.line.view());
  if (!log_.enabled(parsed.level)) {
    return;
  }
  cut(parsed.text, limits_.message_bytes);
  log_.write(parsed.level, "log step",
             {{"run", to_string(line.run_id)},
              {"workflow", line.workflow.str()},
              {"step", line.step.str()},
              {"text", std::move(parsed.text)}});
}

}  // namespace holdfast
