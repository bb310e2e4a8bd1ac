#include "apps/server/step_log.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/json_slice.h"

namespace holdfast {

namespace {

struct Said {
  LogLevel level = LogLevel::info;
  std::string message;
};

// Of {"level","message"}; a level that is not known counts as info.
Said said_by(std::string_view line) {
  Said said;
  JsonSlicer members(line);
  while (const auto member = members.next()) {
    if (member->name == "level") {
      said.level = enum_from<LogLevel>(json_string_value(member->value).value_or(""))
                       .value_or(LogLevel::info);
    } else if (member->name == "message") {
      said.message = json_string_value(member->value).value_or(std::string(member->value));
    }
  }
  return said;
}

// At most so many bytes, and no part of a character.
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

// A bucket that fills as time goes by.
bool StepLog::take_turn() {
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
    if (take_turn()) {
      waiting_.push_back(line);
    } else {
      ++left_out_;
    }
  }
  changed_.notify_one();
}

void StepLog::run() {
  // Lines that were left out are told of no more often than this.
  constexpr std::chrono::milliseconds kTellEvery{1000};
  auto tell_at = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto awake = [this] { return stopping_ || !waiting_.empty(); };
    if (left_out_ > 0) {
      changed_.wait_until(lock, tell_at, awake);
    } else {
      changed_.wait(lock, [&] { return awake() || left_out_ > 0; });
    }
    const std::deque<LogLine> lines = std::exchange(waiting_, {});
    const bool stopping = stopping_;
    const bool tell = stopping || std::chrono::steady_clock::now() >= tell_at;
    const std::uint64_t left_out = tell ? std::exchange(left_out_, 0) : 0;
    lock.unlock();
    for (const LogLine& line : lines) {
      write(line);
    }
    if (left_out > 0) {
      log_.tell(LogLevel::warning, "too many lines of log steps: some were left out",
                {{"count", std::to_string(left_out)}});
      tell_at = std::chrono::steady_clock::now() + kTellEvery;
    }
    lock.lock();
    if (stopping && waiting_.empty()) {
      return;
    }
  }
}

void StepLog::write(const LogLine& line) {
  Said said = said_by(line.line.view());
  if (!log_.tells(said.level)) {
    return;
  }
  cut(said.message, limits_.message_bytes);
  log_.tell(said.level, "log step",
            {{"run", to_string(line.run_id)},
             {"workflow", line.workflow.str()},
             {"step", line.step.str()},
             {"text", std::move(said.message)}});
}

}  // namespace holdfast
