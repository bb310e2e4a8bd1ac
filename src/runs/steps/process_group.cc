#include "runs/steps/process_group.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <sstream>
#include <string>
#include <system_error>

#include "base/read_file.h"

namespace holdfast {
namespace {

constexpr int kLongestWaitMs = 500;
constexpr std::size_t kLongestStat = 4096;

// Reads /proc/PID/stat: "PID (name) STATE PARENT GROUP ...", where the name may contain any
// character.
bool runs_in_group(const std::filesystem::path& process, pid_t group) {
  const auto text = read_file((process / "stat").string(), kLongestStat);
  const std::size_t name_end = text.ok() ? text.value().rfind(')') : std::string::npos;
  if (name_end == std::string::npos) {
    return false;  // the process has ended
  }
  std::istringstream rest(text.value().substr(name_end + 1));
  char state = 0;
  pid_t parent = 0;
  pid_t its_group = 0;
  rest >> state >> parent >> its_group;
  return its_group == group && state != 'Z' && state != 'X';
}

// kill still counts dead members that are not reaped yet; this does not.
bool group_runs(pid_t group) {
  if (kill(-group, 0) != 0) {
    return false;
  }
  std::error_code problem;
  std::filesystem::directory_iterator entry("/proc", problem);
  if (problem) {
    return true;
  }
  const std::filesystem::directory_iterator end;
  while (entry != end) {
    const std::string name = entry->path().filename().string();
    if (name.find_first_not_of("0123456789") == std::string::npos &&
        runs_in_group(entry->path(), group)) {
      return true;
    }
    entry.increment(problem);
    if (problem) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<int> end_process_group(pid_t leader) {
  // Kill before reaping: until then the group id cannot be reused.
  kill(-leader, SIGKILL);
  kill(leader, SIGKILL);
  int status = 0;
  pid_t reaped = -1;
  do {
    reaped = waitpid(leader, &status, 0);
  } while (reaped == -1 && errno == EINTR);
  // This process must reap the members that it inherited.
  int waited_ms = 0;
  for (int delay_ms = 1; group_runs(leader) && waited_ms < kLongestWaitMs; delay_ms *= 2) {
    poll(nullptr, 0, delay_ms);
    waited_ms += delay_ms;
  }
  while (waitpid(-leader, nullptr, WNOHANG) > 0) {
  }
  return reaped == leader ? std::optional(status) : std::nullopt;
}

}  // namespace holdfast
