#include "runs/steps/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <optional>
#include <utility>

#include "base/owned_fd.h"
#include "runs/steps/process_group.h"

namespace holdfast {
namespace {

constexpr std::size_t kReadBytes = 65536;
constexpr int kFirstFreeFd = 3;
constexpr int kLastSignal = 64;

struct Pipe {
  OwnedFd read;
  OwnedFd write;
};

// Keeps clear of 0, 1 and 2: dup2 onto itself would leave the descriptor to be closed at exec.
OwnedFd above_standard(OwnedFd fd) {
  if (!fd.is_open() || fd.get() >= kFirstFreeFd) {
    return fd;
  }
  return OwnedFd(fcntl(fd.get(), F_DUPFD_CLOEXEC, kFirstFreeFd));
}

bool make_pipe(Pipe& made) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return false;
  }
  made.read = above_standard(OwnedFd(ends[0]));
  made.write = above_standard(OwnedFd(ends[1]));
  return made.read.is_open() && made.write.is_open();
}

bool make_non_blocking(const OwnedFd& fd) {
  const int flags = fcntl(fd.get(), F_GETFL);
  return flags != -1 && fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) == 0;
}

sigset_t every_signal() {
  sigset_t set;
  sigfillset(&set);
  return set;
}

// Blocks signals for the calling thread, as long as it lives.
class BlockedSignals {
 public:
  explicit BlockedSignals(const sigset_t& set) { pthread_sigmask(SIG_BLOCK, &set, &before_); }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_{};
};

// write(2) to a pipe whose reader is gone is EPIPE and nothing else: no SIGPIPE is left behind.
ssize_t write_without_sigpipe(int fd, std::string_view data) {
  sigset_t sigpipe;
  sigemptyset(&sigpipe);
  sigaddset(&sigpipe, SIGPIPE);
  const BlockedSignals blocked(sigpipe);
  sigset_t pending;
  sigpending(&pending);
  const bool was_pending = sigismember(&pending, SIGPIPE) == 1;
  const ssize_t written = write(fd, data.data(), data.size());
  if (written == -1 && errno == EPIPE && !was_pending) {
    const timespec at_once{};
    while (sigtimedwait(&sigpipe, nullptr, &at_once) == -1 && errno == EINTR) {
    }
    errno = EPIPE;
  }
  return written;
}

// Becomes readable when stop is requested.
class StopSignal {
 public:
  explicit StopSignal(const std::stop_token& stop)
      : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), callback_(stop, Raise{fd_.get()}) {}
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  struct Raise {
    int fd;
    void operator()() const { eventfd_write(fd, 1); }
  };
  OwnedFd fd_;
  std::stop_callback<Raise> callback_;
};

enum class StartPart : int { directory, program };

std::string_view name_of(StartPart part) {
  return part == StartPart::directory ? "directory" : "program";
}

// The message of a child that could not execute the program.
struct StartFailure {
  StartPart part;
  int error;
};

// Everything the child needs, made before the fork: between fork and exec only calls that are
// safe in a signal handler are allowed.
struct ChildStart {
  const char* program;
  const char* directory;  // nullptr: stay
  std::vector<char*> arguments;
  std::vector<char*> environment;
  pid_t parent;
  int input;
  int output;
  int errors;
  int failure;
};

[[noreturn]] void report_and_exit(const ChildStart& start, StartPart part) {
  const StartFailure failure{part, errno};
  [[maybe_unused]] const ssize_t written = write(start.failure, &failure, sizeof failure);
  _exit(127);
}

[[noreturn]] void become_program(const ChildStart& start) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != start.parent) {
    _exit(127);  // the parent died before the line above
  }
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal <= kLastSignal; ++signal) {
    sigaction(signal, &standard, nullptr);
  }
  dup2(start.input, STDIN_FILENO);
  dup2(start.output, STDOUT_FILENO);
  dup2(start.errors, STDERR_FILENO);
  // Descriptors opened elsewhere without O_CLOEXEC must not reach the program.
  syscall(SYS_close_range, static_cast<unsigned>(kFirstFreeFd), ~0U, CLOSE_RANGE_CLOEXEC);
  if (start.directory != nullptr && chdir(start.directory) != 0) {
    report_and_exit(start, StartPart::directory);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(start.program, start.arguments.data(), start.environment.data());
  report_and_exit(start, StartPart::program);
}

// execve takes char* but does not modify the strings.
std::vector<char*> c_texts(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) {
    pointers.push_back(const_cast<char*>(text.c_str()));  // NOLINT(*-const-cast)
  }
  pointers.push_back(nullptr);
  return pointers;
}

class Process {
 public:
  Process(const ProcessPlan& plan, std::string_view input) : plan_(plan), input_(input) {}
  ~Process() { end_group(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  ProcessResult carry_out(const std::stop_token& stop);

 private:
  bool start();
  bool make_parent_ends(Pipe& input, Pipe& output, Pipe& errors, Pipe& failure);
  ProcessEnd wait_for_end(const StopSignal& stop);
  void feed_input();
  void read_output();
  void read_errors();
  void read_failure();
  void end_group();
  void drain();
  ProcessResult result_of(ProcessEnd end);

  const ProcessPlan& plan_;
  std::string_view input_;  // not written yet
  pid_t pid_ = -1;          // of the process, until it is reaped
  std::optional<int> status_;
  OwnedFd exit_fd_;  // readable when the process has ended
  OwnedFd input_fd_;
  OwnedFd output_fd_;
  OwnedFd errors_fd_;
  OwnedFd failure_fd_;
  std::optional<StartFailure> failure_;
  std::string output_;
  std::string errors_;
};

bool Process::make_parent_ends(Pipe& input, Pipe& output, Pipe& errors, Pipe& failure) {
  if (!make_pipe(input) || !make_pipe(output) || !make_pipe(errors) || !make_pipe(failure)) {
    return false;
  }
  input_fd_ = std::move(input.write);
  output_fd_ = std::move(output.read);
  errors_fd_ = std::move(errors.read);
  failure_fd_ = std::move(failure.read);
  return make_non_blocking(input_fd_) && make_non_blocking(output_fd_) &&
         make_non_blocking(errors_fd_) && make_non_blocking(failure_fd_);
}

// False, with errno, if the machine has no process or descriptor left.
bool Process::start() {
  Pipe input;
  Pipe output;
  Pipe errors;
  Pipe failure;
  if (!make_parent_ends(input, output, errors, failure)) {
    return false;
  }
  const ChildStart start{.program = plan_.program.c_str(),
                         .directory = plan_.directory.empty() ? nullptr : plan_.directory.c_str(),
                         .arguments = c_texts(plan_.arguments),
                         .environment = c_texts(plan_.environment),
                         .parent = getpid(),
                         .input = input.read.get(),
                         .output = output.write.get(),
                         .errors = errors.write.get(),
                         .failure = failure.write.get()};
  {
    // No handler of this program may run in the child.
    const BlockedSignals blocked(every_signal());
    pid_ = fork();
    if (pid_ == 0) {
      become_program(start);
    }
  }
  if (pid_ == -1) {
    return false;
  }
  setpgid(pid_, pid_);  // the child calls it, too: the order does not matter
  exit_fd_ = OwnedFd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  return exit_fd_.is_open();
}

void Process::feed_input() {
  while (!input_.empty()) {
    const ssize_t written = write_without_sigpipe(input_fd_.get(), input_.substr(0, kReadBytes));
    if (written == -1 && errno == EINTR) {
      continue;
    }
    if (written == -1 && errno == EAGAIN) {
      return;
    }
    if (written == -1) {
      break;  // the process does not read the rest
    }
    input_.remove_prefix(static_cast<std::size_t>(written));
  }
  input_fd_.close();
}

// Reads once and closes the descriptor at the end of the data; returns the number of bytes.
std::size_t read_some(OwnedFd& fd, std::string& into) {
  std::array<char, kReadBytes> buffer;
  const ssize_t got = read(fd.get(), buffer.data(), buffer.size());
  if (got == -1 && (errno == EAGAIN || errno == EINTR)) {
    return 0;
  }
  if (got <= 0) {
    fd.close();
    return 0;
  }
  into.append(buffer.data(), static_cast<std::size_t>(got));
  return static_cast<std::size_t>(got);
}

void keep_end(std::string& text, std::size_t bytes) {
  if (text.size() > bytes) {
    text.erase(0, text.size() - bytes);
  }
}

void Process::read_output() { read_some(output_fd_, output_); }

void Process::read_errors() {
  read_some(errors_fd_, errors_);
  keep_end(errors_, plan_.kept_error_bytes);
}

void Process::read_failure() {
  StartFailure failure{};
  const ssize_t got = read(failure_fd_.get(), &failure, sizeof failure);
  if (got == static_cast<ssize_t>(sizeof failure)) {
    failure_ = failure;
  }
  if (got != -1 || (errno != EAGAIN && errno != EINTR)) {
    failure_fd_.close();
  }
}

ProcessEnd Process::wait_for_end(const StopSignal& stop) {
  while (true) {
    if (input_.empty()) {
      input_fd_.close();
    }
    std::array<pollfd, 6> fds{{{exit_fd_.get(), POLLIN, 0},
                               {stop.fd(), POLLIN, 0},
                               {failure_fd_.get(), POLLIN, 0},
                               {input_fd_.get(), POLLOUT, 0},
                               {output_fd_.get(), POLLIN, 0},
                               {errors_fd_.get(), POLLIN, 0}}};
    if (poll(fds.data(), fds.size(), -1) == -1) {
      continue;  // EINTR
    }
    if (fds[0].revents != 0) {
      return ProcessEnd::exited;
    }
    if (fds[1].revents != 0) {
      return ProcessEnd::stopped;
    }
    if (fds[2].revents != 0) {
      read_failure();
    }
    if (fds[3].revents != 0) {
      feed_input();
    }
    if (fds[4].revents != 0) {
      read_output();
    }
    if (fds[5].revents != 0) {
      read_errors();
    }
    if (output_.size() > plan_.max_output_bytes) {
      return ProcessEnd::too_much_output;
    }
  }
}

void Process::end_group() {
  if (pid_ != -1) {
    status_ = end_process_group(std::exchange(pid_, -1));
  }
}

// The last output of the process is still in the pipes, at most as much as they hold; a descendant
// that left the group might write forever.
void Process::drain() {
  const auto drain_one = [](OwnedFd& fd, std::string& into, std::size_t most) {
    std::size_t taken = 0;
    while (fd.is_open() && taken < most) {
      const std::size_t got = read_some(fd, into);
      if (got == 0) {
        break;
      }
      taken += got;
    }
  };
  const auto capacity = [](const OwnedFd& fd) {
    const int bytes = fd.is_open() ? fcntl(fd.get(), F_GETPIPE_SZ) : 0;
    return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
  };
  drain_one(output_fd_, output_, capacity(output_fd_));
  drain_one(errors_fd_, errors_, capacity(errors_fd_));
  keep_end(errors_, plan_.kept_error_bytes);
  if (failure_fd_.is_open()) {
    read_failure();
  }
}

ProcessResult Process::result_of(ProcessEnd end) {
  ProcessResult result{.end = end, .number = 0, .failed_part = {}, .output = {}, .errors = {}};
  if (end == ProcessEnd::exited && output_.size() > plan_.max_output_bytes) {
    result.end = ProcessEnd::too_much_output;
  } else if (end == ProcessEnd::exited && failure_) {
    result.end = ProcessEnd::not_started;
    result.number = failure_->error;
    result.failed_part = name_of(failure_->part);
  } else if (end == ProcessEnd::exited && status_ && WIFEXITED(*status_)) {
    result.number = WEXITSTATUS(*status_);
  } else if (end == ProcessEnd::exited) {
    result.end = ProcessEnd::killed;
    result.number = status_ && WIFSIGNALED(*status_) ? WTERMSIG(*status_) : 0;
  }
  result.output = std::move(output_);
  result.errors = std::move(errors_);
  return result;
}

ProcessResult Process::carry_out(const std::stop_token& stop) {
  const StopSignal stop_signal(stop);
  if (stop_signal.fd() == -1 || !start()) {
    return {.end = ProcessEnd::not_started,
            .number = errno,
            .failed_part = "process",
            .output = {},
            .errors = {}};
  }
  const ProcessEnd end = wait_for_end(stop_signal);
  end_group();
  drain();
  return result_of(end);
}

}  // namespace

ProcessResult run_process(const ProcessPlan& plan, std::string_view input,
                          const std::stop_token& stop) {
  return Process(plan, input).carry_out(stop);
}

}  // namespace holdfast
