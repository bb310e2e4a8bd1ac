// Worker processes that tests start and kill (tests/engine_worker.cc), and what must be true of
// their journal afterwards.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/journal_audit.h"
#include "tests/support/journal_proof.h"
#include "tests/support/postgres_cluster.h"
#include "tests/support/temp_dir.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace holdfast {

using Milliseconds = std::chrono::milliseconds;

class WorkerProcess {
 public:
  // The program and its arguments; standard error is appended to the file, if one is given.
  explicit WorkerProcess(std::vector<std::string> args, const std::string& errors = "") {
    std::vector<char*> raw;
    for (std::string& arg : args) {
      raw.push_back(arg.data());
    }
    raw.push_back(nullptr);
    int ends[2];
    HOLDFAST_ASSERT(pipe2(ends, O_CLOEXEC) == 0);
    output_ = ends[0];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (!errors.empty()) {
      posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(),
                                       O_WRONLY | O_CREAT | O_APPEND, 0644);
    }
    HOLDFAST_ASSERT(posix_spawn(&pid_, raw[0], &actions, nullptr, raw.data(), environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
  }
  ~WorkerProcess() {
    if (pid_ > 0) {
      kill_9();
    }
    close(output_);
  }
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  // The number of lines printed so far; waits until there are `count` or the time has passed.
  std::size_t wait_for_lines(std::size_t count, Milliseconds at_most) {
    const auto end = std::chrono::steady_clock::now() + at_most;
    while (lines_ < count && read_some(end)) {
    }
    return lines_;
  }
  // False if the process ended before the time had passed.
  bool runs_for(Milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (read_some(end)) {
    }
    return !at_end_;
  }
  void kill_9() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  // Sends SIGTERM once the process is ready for it.
  void request_stop() {
    EXPECT_GE(wait_for_lines(1, std::chrono::seconds(30)), 1U);
    kill(pid_, SIGTERM);
  }
  // The exit code; -1 if the process was killed or did not end in time.
  int wait_for_exit(Milliseconds at_most) {
    if (runs_for(at_most)) {
      return -1;
    }
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  // False when the time has passed or the process has ended.
  bool read_some(std::chrono::steady_clock::time_point end) {
    const auto left =
        std::chrono::duration_cast<Milliseconds>(end - std::chrono::steady_clock::now());
    pollfd ready{output_, POLLIN, 0};
    if (at_end_ || left.count() <= 0 || poll(&ready, 1, static_cast<int>(left.count())) <= 0) {
      return false;
    }
    char bytes[4096];
    const ssize_t count = read(output_, bytes, sizeof(bytes));
    at_end_ = count == 0;
    for (ssize_t i = 0; i < count; ++i) {
      lines_ += bytes[i] == '\n' ? 1 : 0;
    }
    return count > 0;
  }

  pid_t pid_ = -1;
  int output_ = -1;
  std::size_t lines_ = 0;
  bool at_end_ = false;
};

// A journal that processes share, and its side files.
struct CrashSite {
  explicit CrashSite(std::string store_url = "") : url(std::move(store_url)) {
    if (url.empty()) {
      url = "sqlite:" + dir.file("journal.db");
    }
  }
  [[nodiscard]] std::unique_ptr<WorkerProcess> worker(const std::string& mode, int threads = 2,
                                                      std::size_t count = 1'000'000) const {
    return std::make_unique<WorkerProcess>(
        std::vector<std::string>{HOLDFAST_ENGINE_WORKER, url, side, std::to_string(threads), mode,
                                 acks, std::to_string(count)});
  }
  [[nodiscard]] std::unique_ptr<Journal> open() {
    return must(open_journal(url, OpenMode::create, clock, random));
  }
  [[nodiscard]] static std::vector<std::string> lines(const std::string& path) {
    std::ifstream file(path);
    std::vector<std::string> found;
    for (std::string line; std::getline(file, line);) {
      found.push_back(line);
    }
    return found;
  }
  // A worker finishes all runs.
  void drain() const {
    auto last = worker("drain");
    EXPECT_EQ(last->wait_for_exit(std::chrono::seconds(120)), 0);
  }

  TempDir dir;
  std::string url;
  std::string side = dir.file("side");
  std::string acks = dir.file("acks");
  SystemClock clock;
  SystemRandom random;
};

inline void expect_finished(const RunProjection& run) {
  EXPECT_EQ(run.status(), RunStatus::completed) << to_string(run.run_id());
  std::map<std::string, int> applied;
  for (const PlannedRunnable* planned : run.runnables()) {
    applied[planned->plan.step.str()] += planned->applied ? 1 : 0;
  }
  const std::map<std::string, int> once{{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 1}, {"f", 1}};
  EXPECT_EQ(applied, once) << to_string(run.run_id());
}

// Every line of the side file is a claim that was durable before the step ran; no claim ran twice.
inline void expect_honest_side_file(const CrashSite& site, const Audit& found) {
  std::set<std::string> claims;
  std::set<std::string> keys;
  for (const std::string& line : CrashSite::lines(site.side)) {
    std::istringstream words(line);
    std::string key;
    std::string owner;
    std::string claim;
    words >> key >> owner >> claim;
    EXPECT_TRUE(claims.insert(claim).second) << "ran twice: " << line;
    keys.insert(key);
    const auto stored = found.claims.find(claim);
    if (stored == found.claims.end()) {
      ADD_FAILURE() << "ran without a durable claim: " << line;
      continue;
    }
    EXPECT_EQ(stored->second.owner_id.str(), owner);
  }
  for (const auto& [id, run] : found.runs) {
    for (const PlannedRunnable* planned : run->runnables()) {
      EXPECT_TRUE(!planned->applied || keys.contains(planned->plan.runnable_key.str()))
          << planned->plan.runnable_key.view() << " was applied but never ran";
    }
  }
}

// Nothing acknowledged is lost, and every step is completed exactly once.
inline void expect_exactly_once(CrashSite& site) {
  auto journal = site.open();
  const Audit found = audit(journal->log());
  EXPECT_THAT(found.anomalies(), testing::IsEmpty());
  for (const std::string& id : CrashSite::lines(site.acks)) {
    EXPECT_TRUE(found.runs.contains(must(parse_run_id(id)))) << "lost: " << id;
  }
  for (const auto& [id, run] : found.runs) {
    expect_finished(*run);
    EXPECT_EQ(must(journal->revision(run_thread(id))), run->revision());
  }
  expect_honest_side_file(site, found);
  must(prove_journal(journal->log()));
}

}  // namespace holdfast
