#include "apps/cli/cli_terminal.h"

#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "base/text.h"

namespace holdfast::cli {

namespace {

constexpr std::uint64_t kCells = 30;
constexpr std::chrono::milliseconds kBetweenDraws{100};

bool is_set(const char* variable) {
  const char* const value = getenv(variable);
  return value != nullptr && *value != '\0';
}

// Everything printed so far is complete, and nothing needs to be restored.
extern "C" void exit_now(int /*signal*/) { _exit(0); }

}  // namespace

bool is_terminal(int descriptor) { return isatty(descriptor) == 1; }

bool supports_redraw() {
  const char* const term = getenv("TERM");
  const bool dumb = term != nullptr && std::string_view(term) == "dumb";
  return is_terminal(STDOUT_FILENO) && !dumb;
}

bool supports_colour() { return supports_redraw() && !is_set("NO_COLOR"); }

ProgressBar::ProgressBar(std::string label, std::string unit)
    : label_(std::move(label)), unit_(std::move(unit)), visible_(is_terminal(STDERR_FILENO)) {}

ProgressBar::~ProgressBar() {
  if (drawn_) {
    fmt::print(stderr, "\r\x1b[K");
    std::fflush(stderr);
  }
}

Progress ProgressBar::progress() {
  if (!visible_) {
    return {};
  }
  return [this](const ProgressPoint& point) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= next_draw_ || point.done >= point.total) {
      next_draw_ = now + kBetweenDraws;
      draw(point);
    }
  };
}

void ProgressBar::draw(const ProgressPoint& point) {
  const std::uint64_t total = std::max<std::uint64_t>(point.total, 1);
  const std::uint64_t done = std::min(point.done, total);
  const auto cells = static_cast<std::size_t>(done * kCells / total);
  fmt::print(stderr, "\r{} [{:#<{}}{:.<{}}] {:>3}%  {} of {} {}\x1b[K", label_, "", cells, "",
             kCells - cells, done * 100 / total, with_thousands(done), with_thousands(total),
             unit_);
  std::fflush(stderr);
  drawn_ = true;
}

void exit_cleanly_on_signals() {
  struct sigaction action {};
  action.sa_handler = exit_now;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace holdfast::cli
