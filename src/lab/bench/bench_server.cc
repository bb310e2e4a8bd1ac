#include "lab/bench/bench_server.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <fstream>
#include <sstream>

extern char** environ;

namespace holdfast {

namespace {

// The port in {"url":"http://127.0.0.1:4711"}; 0 if there is none.
std::uint16_t port_of(std::string_view line) {
  const std::size_t colon = line.rfind(':');
  std::uint16_t port = 0;
  if (colon != std::string_view::npos) {
    const std::string_view digits = line.substr(colon + 1);
    std::from_chars(digits.data(), digits.data() + digits.size(), port);
  }
  return port;
}

std::string first_line(int fd) {
  std::string line;
  char c = 0;
  while (::read(fd, &c, 1) == 1 && c != '\n') {
    line += c;
  }
  return line;
}

}  // namespace

Result<std::unique_ptr<BenchServer>> BenchServer::start(const std::string& program,
                                                        const std::vector<std::string>& command) {
  std::array<int, 2> pipe{};
  if (pipe2(pipe.data(), O_CLOEXEC) != 0) {
    return Error{ErrorCode::io_error, "cannot create a pipe"};
  }
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
  std::vector<std::string> words{program};
  words.insert(words.end(), command.begin(), command.end());
  words.insert(words.end(), {"--json", "--listen", "127.0.0.1:0", "--log-level", "error"});
  std::vector<char*> arguments;
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  pid_t pid = 0;
  const int failed =
      posix_spawn(&pid, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(pipe[1]);
  const std::uint16_t port = failed == 0 ? port_of(first_line(pipe[0])) : std::uint16_t{0};
  ::close(pipe[0]);
  if (failed != 0) {
    return Error{ErrorCode::io_error, program + " cannot be started"};
  }
  std::unique_ptr<BenchServer> server(new BenchServer(pid, port));
  if (port == 0) {
    return Error{ErrorCode::unavailable, "the server did not report its port"};
  }
  return server;
}

BenchServer::~BenchServer() {
  ::kill(pid_, SIGTERM);
  int status = 0;
  ::waitpid(pid_, &status, 0);
}

std::uint64_t BenchServer::memory_bytes() const {
  std::ifstream file("/proc/" + std::to_string(pid_) + "/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

double BenchServer::cpu_seconds() const {
  std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
  std::string text;
  std::getline(file, text);
  // After the name in brackets: state, ten numbers, then user and system time in ticks.
  std::istringstream rest(text.substr(text.rfind(')') + 1));
  std::string skipped;
  constexpr int kBeforeTimes = 11;
  for (int i = 0; i < kBeforeTimes; ++i) {
    rest >> skipped;
  }
  double user = 0;
  double system = 0;
  rest >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace holdfast
