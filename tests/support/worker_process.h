// What the programs that tests start and kill share: they die with their parent, stop at SIGTERM,
// write whole lines, and exit with code 3 and a reason after a failure.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "runs/engine/worker_pool.h"
#include "storage/journal/open_journal.h"

namespace holdfast {

// Exits at once: nothing is closed or flushed.
[[noreturn]] inline void give_up(const std::string& why) {
  constexpr int kFailed = 3;
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, why.c_str());
  std::_Exit(kFailed);
}
[[noreturn]] inline void give_up(const Error& why) {
  give_up(std::string(error_info(why.code()).name) + ": " + why.text());
}

template <typename T>
T must(Result<T> result) {
  if (!result.ok()) {
    give_up(result.error());
  }
  return std::move(result).value();
}

// Each line is one write call, so that a kill leaves whole lines.
class LineFile {
 public:
  explicit LineFile(const std::string& path)
      : fd_(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666)) {
    if (fd_ < 0) {
      give_up("cannot open " + path);
    }
  }
  void add(const std::string& line) const { write_line(fd_, line); }
  static void write_line(int fd, const std::string& line) {
    const std::string bytes = line + "\n";
    if (write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
      give_up("cannot write a line");
    }
  }

 private:
  int fd_;
};

// Writes a line for the parent process.
inline void say(const std::string& line) { LineFile::write_line(STDOUT_FILENO, line); }

// Must run before threads start. SIGTERM is blocked; a thread waits for it with the returned set.
inline sigset_t live_with_parent() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &term, nullptr);
  return term;
}

// Returns at SIGTERM or when `done`, which is called regularly, returns true.
template <typename Until>
void wait_for_end(const sigset_t& term, Until done) {
  const timespec interval{0, 20'000'000};
  while (sigtimedwait(&term, nullptr, &interval) != SIGTERM) {
    if (done()) {
      return;
    }
  }
}

// With limits so small that checkpoints and reloads happen all the time.
inline std::unique_ptr<Loop> open_busy_loop(const std::string& url, Clock& clock, Random& random) {
  LoopOptions options;
  options.core.checkpoint_every = 300;
  options.core.memory.cached_bytes = 100'000;
  return must(
      Loop::open(must(open_journal(url, OpenMode::create, clock, random)), clock, random, options));
}

// A conflict means that another process seals too.
inline void seal_a_little(Loop& loop) {
  const auto sealed = loop.journal().seal({.below = std::nullopt, .step_bytes = 1U << 14U});
  if (!sealed.ok() && sealed.error().code() != ErrorCode::conflict) {
    give_up(sealed.error());
  }
}

inline std::size_t live_runs(Loop& loop) {
  return must(loop.execute<std::size_t>([](Turn& turn) { return turn.state().runs().count(); }));
}

// {"STEP":true}; some first attempts at step d fail.
inline AttemptOutcome outcome_of(const Assignment& given) {
  if (given.step == SharedText("d") && given.attempt_number == 1 &&
      std::to_integer<int>(given.run_id.uuid.bytes.back()) % 4 == 0) {
    Failure failure;
    failure.error = Payload::trusted(R"({"code":"not_yet"})");
    return failure;
  }
  Completion done;
  done.result = Payload::trusted(R"({")" + given.step.str() + R"(":true})");
  return done;
}

// The arguments, the program first; exits with code 2 if there are too few.
inline std::vector<std::string> arguments(int argc, char** argv, std::size_t at_least,
                                          const char* usage) {
  std::vector<std::string> args(argv, argv + argc);
  if (args.size() < at_least) {
    std::fprintf(stderr, "usage: %s %s\n", program_invocation_short_name, usage);
    std::_Exit(2);
  }
  return args;
}

}  // namespace holdfast
