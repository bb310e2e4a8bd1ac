#include "runs/steps/exec_step.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "base/owned_fd.h"

namespace holdfast::exec_step_test {
namespace {

constexpr int kLongestWaitMs = 10'000;

ExecSpec command(std::vector<SharedText> words) {
  ExecSpec spec;
  spec.command = std::move(words);
  return spec;
}

ExecSpec shell(std::string_view script) { return command({"/bin/sh", "-c", script}); }

StepOutput run(const ExecSpec& spec, std::string_view input = "{}",
               const std::stop_token& stop = {}) {
  return run_exec(spec, input, {}, stop);
}

std::string stderr_of(const StepOutput& output) {
  const Json details = Json::parse(output.details.view()).value();
  return std::string(details.find("stderr")->string().value());
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

bool has_no_children() { return waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD; }

// A process that is not a child, identified by a descriptor: its id cannot be reused meanwhile.
class OtherProcess {
 public:
  explicit OtherProcess(pid_t pid)
      : fd_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))), existed_(fd_.is_open()) {}
  [[nodiscard]] bool existed() const { return existed_; }
  [[nodiscard]] bool ends_within(int wait_ms) const {
    pollfd poll_fd{fd_.get(), POLLIN, 0};
    return !existed_ || poll(&poll_fd, 1, wait_ms) == 1;
  }

 private:
  OwnedFd fd_;
  bool existed_;
};

// A folder with a named pipe through which a process reports its progress.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "exec_test_XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    path_ = name;
    EXPECT_EQ(mkfifo(fifo().c_str(), 0600), 0);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] std::string path() const { return path_; }
  [[nodiscard]] std::string fifo() const { return path_ + "/fifo"; }
  // Waits until a process has written the line.
  [[nodiscard]] pid_t read_pid() const {
    std::ifstream in(fifo());
    pid_t pid = 0;
    in >> pid;
    return pid;
  }

 private:
  std::string path_;
};

TEST(ExecStep, stdout_is_the_result) {
  const StepOutput output = run(command({"/bin/cat"}), R"({"a":[1,"x"]})");
  EXPECT_TRUE(output.ok) << output.message;
  EXPECT_EQ(output.result.view(), R"({"a":[1,"x"]})");
  const Json details = Json::parse(output.details.view()).value();
  EXPECT_EQ(details.find("exit_code")->integer(), 0);
  EXPECT_EQ(details.find("stderr")->string(), "");
  EXPECT_TRUE(details.find("duration_ms")->unsigned_integer().has_value());
}

TEST(ExecStep, any_json_value_is_a_result_and_surrounding_white_space_is_ignored) {
  EXPECT_EQ(run(shell("echo ' [1, 2] '")).result.view(), "[1,2]");
  EXPECT_EQ(run(shell("echo 7")).result.view(), "7");
}

TEST(ExecStep, no_output_is_the_empty_object) {
  for (const char* script : {"true", "echo", "exec >&-"}) {
    const StepOutput output = run(shell(script));
    EXPECT_TRUE(output.ok) << output.message;
    EXPECT_EQ(output.result.view(), "{}");
  }
}

TEST(ExecStep, other_output_is_a_failure_that_shows_its_start) {
  const StepOutput text = run(shell("printf 'hello \\377 world'"));
  EXPECT_FALSE(text.ok);
  EXPECT_EQ(text.code, "invalid_output");
  EXPECT_FALSE(text.retryable);
  EXPECT_NE(text.message.find("hello \xEF\xBF\xBD world"), std::string::npos) << text.message;
  EXPECT_EQ(run(shell("echo '{} {}'")).code, "invalid_output");
}

TEST(ExecStep, exit_codes_determine_the_failure) {
  const StepOutput failed = run(shell("exit 3"));
  EXPECT_FALSE(failed.ok);
  EXPECT_EQ(failed.code, "exec_failed");
  EXPECT_TRUE(failed.retryable);
  EXPECT_NE(failed.message.find("exit code 3"), std::string::npos);
  EXPECT_EQ(Json::parse(failed.details.view()).value().find("exit_code")->integer(), 3);

  const StepOutput later = run(shell("exit 75"));
  EXPECT_EQ(later.code, "exec_tempfail");
  EXPECT_TRUE(later.retryable);

  const StepOutput killed = run(shell("kill -TERM $$"));
  EXPECT_EQ(killed.code, "exec_killed");
  EXPECT_TRUE(killed.retryable);
  EXPECT_NE(killed.message.find("signal 15"), std::string::npos);
  EXPECT_EQ(Json::parse(killed.details.view()).value().find("signal")->integer(), 15);
}

TEST(ExecStep, a_failing_process_may_report_a_code) {
  const StepOutput said = run(shell(
      R"(echo '{"code":"card_declined","message":"no","retryable":false,"retry_after_ms":50}'
         exit 75)"));
  EXPECT_EQ(said.code, "card_declined");
  EXPECT_EQ(said.message, "no");
  EXPECT_FALSE(said.retryable);
  EXPECT_EQ(said.retry_after_ms, 50U);

  const StepOutput only_code = run(shell(R"(echo '{"code":"x"}'; exit 1)"));
  EXPECT_EQ(only_code.code, "x");
  EXPECT_TRUE(only_code.retryable);
  EXPECT_NE(only_code.message.find("exit code 1"), std::string::npos);
  EXPECT_FALSE(only_code.retry_after_ms.has_value());
}

TEST(ExecStep, an_invalid_code_is_ignored) {
  for (const char* text : {R"({"code":"Bad"})", R"({"code":""})", R"({"code":1})", R"(["code"])",
                           R"({"code":"9x"})", "text", R"({"message":"m"})"}) {
    const StepOutput output = run(shell("echo '" + std::string(text) + "'; exit 1"));
    EXPECT_EQ(output.code, "exec_failed") << text;
  }
  EXPECT_EQ(run(shell("echo '{\"code\":\"" + std::string(64, 'a') + "\"}'; exit 1")).code,
            std::string(64, 'a'));
  EXPECT_EQ(run(shell("echo '{\"code\":\"" + std::string(65, 'a') + "\"}'; exit 1")).code,
            "exec_failed");
}

TEST(ExecStep, a_command_that_cannot_be_started_is_not_retryable) {
  const Folder folder;
  std::ofstream(folder.path() + "/no_rights") << "#!/bin/sh\n";
  std::ofstream(folder.path() + "/no_program") << "text\n";
  std::filesystem::permissions(folder.path() + "/no_program", std::filesystem::perms::owner_all);
  ExecSpec no_folder = command({"/bin/true"});
  no_folder.directory = "/nowhere/at/all";
  for (const ExecSpec& spec :
       {command({"/nowhere/program"}), command({"no-such-program-anywhere"}), command({}),
        command({""}), command({folder.path()}), command({folder.path() + "/no_rights"}),
        command({folder.path() + "/no_program"}), no_folder,
        command({"/bin/echo", std::string_view("a\0b", 3)})}) {
    const StepOutput output = run(spec);
    EXPECT_FALSE(output.ok);
    EXPECT_EQ(output.code, "exec_not_started");
    EXPECT_FALSE(output.retryable) << output.message;
    EXPECT_FALSE(output.message.empty());
  }
  EXPECT_TRUE(has_no_children());
}

TEST(ExecStep, no_shell_is_involved) {
  const StepOutput output = run(command({"echo", "[\"$HOME;*\"]"}));
  EXPECT_EQ(output.result.view(), R"(["$HOME;*"])");
}

TEST(ExecStep, environment_and_directory_are_set) {
  const Folder folder;
  ExecSpec spec = shell(R"(echo "[\"$A\",\"$B\",\"$(pwd)\",\"${PATH:+path}\"]")");
  spec.environment = {{"A", "step"}, {"B", "step"}};
  spec.directory = folder.path();
  const StepOutput output = run_exec(spec, "{}", {{"B", "engine"}}, {});
  EXPECT_EQ(output.result.view(), R"(["step","engine",")" + folder.path() + R"(","path"])");
}

TEST(ExecStep, the_end_of_stderr_is_kept) {
  EXPECT_EQ(stderr_of(run(shell("echo one >&2; echo two >&2; exit 1"))), "one\ntwo\n");
  const StepOutput output =
      run(shell("head -c 300000 /dev/zero | tr '\\0' x >&2; printf 'end\\377' >&2; exit 1"));
  const std::string kept = stderr_of(output);
  EXPECT_EQ(kept.size(), kKeptStderrBytes + 2);  // the last byte became U+FFFD
  EXPECT_TRUE(kept.ends_with("xend\xEF\xBF\xBD"));
}

TEST(ExecStep, a_cut_of_stderr_leaves_no_half_character) {
  const StepOutput output =
      run(shell("for i in $(seq 3000); do printf '\\342\\202\\254'; done >&2"));
  const std::string kept = stderr_of(output);
  EXPECT_EQ(kept.size(), kKeptStderrBytes - kKeptStderrBytes % 3);
  EXPECT_EQ(kept.find("\xEF\xBF\xBD"), std::string::npos);
}

TEST(ExecStep, large_input_comes_back_whole) {
  const std::string input = "\"" + std::string(kMaxExecOutputBytes - 2, 'x') + "\"";
  const StepOutput output = run(command({"/bin/cat"}), input);
  EXPECT_TRUE(output.ok) << output.message;
  EXPECT_TRUE(output.result.view() == input);
}

TEST(ExecStep, too_much_output_ends_the_process) {
  const StepOutput endless = run(command({"yes"}));
  EXPECT_EQ(endless.code, "output_too_large");
  EXPECT_FALSE(endless.retryable);
  const std::string input = "\"" + std::string(kMaxExecOutputBytes - 1, 'x') + "\"";
  EXPECT_EQ(run(command({"/bin/cat"}), input).code, "output_too_large");
  EXPECT_TRUE(has_no_children());
}

TEST(ExecStep, input_need_not_be_read) {
  const std::string input = "\"" + std::string(1U << 20U, 'x') + "\"";
  EXPECT_TRUE(run(command({"/bin/true"}), input).ok);
  EXPECT_TRUE(run(shell("exec <&-; echo {}"), input).ok);
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
}

TEST(ExecStep, stop_kills_the_whole_group) {
  const Folder folder;
  std::stop_source stop;
  StepOutput output;
  std::thread worker([&] {
    output =
        run(shell("trap '' TERM; sleep 600 & echo $! >" + folder.fifo() + "; echo waits >&2; wait"),
            "{}", stop.get_token());
  });
  const OtherProcess grandchild(folder.read_pid());
  EXPECT_TRUE(grandchild.existed());
  stop.request_stop();
  worker.join();
  EXPECT_TRUE(grandchild.ends_within(0));
  EXPECT_FALSE(output.ok);
  EXPECT_EQ(output.code, "cancelled");
  EXPECT_FALSE(output.retryable);
  EXPECT_TRUE(has_no_children());
}

TEST(ExecStep, stop_before_the_start_starts_nothing) {
  const Folder folder;
  std::stop_source stop;
  stop.request_stop();
  const StepOutput output =
      run(shell("touch " + folder.path() + "/started"), "{}", stop.get_token());
  EXPECT_EQ(output.code, "cancelled");
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/started"));
}

TEST(ExecStep, a_descendant_that_holds_the_pipes_is_killed) {
  const auto started = std::chrono::steady_clock::now();
  const StepOutput output = run(shell("sleep 600 & echo $! >&2; echo '{\"a\":1}'"));
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(60));
  EXPECT_TRUE(output.ok) << output.message;
  EXPECT_EQ(output.result.view(), R"({"a":1})");
  EXPECT_TRUE(OtherProcess(std::stoi(stderr_of(output))).ends_within(0));
}

TEST(ExecStep, a_descendant_that_leaves_the_group_is_not_waited_for) {
  const Folder folder;
  const StepOutput output =
      run(shell("setsid sh -c 'echo $$ >" + folder.fifo() + "; exec yes >&2' & read pid <" +
                folder.fifo() + "; echo \"{\\\"pid\\\":$pid}\""));
  EXPECT_TRUE(output.ok) << output.message;
  const auto pid = Json::parse(output.result.view()).value().find("pid")->integer();
  // Its pipe has no reader any more: it ends by itself.
  EXPECT_TRUE(OtherProcess(static_cast<pid_t>(pid.value())).ends_within(kLongestWaitMs));
}

TEST(ExecStep, a_process_dies_with_its_worker) {
  const Folder folder;
  const pid_t worker = fork();
  ASSERT_NE(worker, -1);
  if (worker == 0) {
    (void)run(shell("echo $$ >" + folder.fifo() + "; exec sleep 600"));
    _exit(0);
  }
  const OtherProcess process(folder.read_pid());
  EXPECT_TRUE(process.existed());
  kill(worker, SIGKILL);
  EXPECT_EQ(waitpid(worker, nullptr, 0), worker);
  EXPECT_TRUE(process.ends_within(kLongestWaitMs));
}

TEST(ExecStep, a_process_inherits_no_descriptor_and_no_signal_setting) {
  const OwnedFd careless(open("/dev/null", O_RDONLY));  // without O_CLOEXEC
  ASSERT_TRUE(careless.is_open());
  struct sigaction ignore {};
  struct sigaction before {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &before);
  EXPECT_EQ(stderr_of(run(shell("ls -m /proc/self/fd >&2"))), "0, 1, 2, 3\n");
  const std::string signals = stderr_of(run(command({"sh", "-c", "cat /proc/self/status >&2"})));
  sigaction(SIGPIPE, &before, nullptr);
  EXPECT_NE(signals.find("SigBlk:\t0000000000000000"), std::string::npos) << signals;
  EXPECT_NE(signals.find("SigIgn:\t0000000000000000"), std::string::npos) << signals;
}

TEST(ExecStep, many_threads_may_call_at_once) {
  const std::size_t before = open_descriptors();
  std::vector<std::thread> threads;
  std::vector<std::string> wrong(16);
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    threads.emplace_back([&wrong, i] {
      for (std::size_t round = 0; round < 8; ++round) {
        const std::string input =
            "\"" + std::string(100'000 + i, static_cast<char>('a' + i)) + "\"";
        const StepOutput output = run(command({"/bin/cat"}), input);
        if (!output.ok || output.result.view() != input) {
          wrong[i] = output.code + " " + output.message;
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const std::string& problem : wrong) {
    EXPECT_EQ(problem, "");
  }
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_TRUE(has_no_children());
}

TEST(ExecStep, nothing_is_left_open_however_it_ends) {
  (void)run(shell("true"));
  const std::size_t before = open_descriptors();
  std::stop_source stopped;
  stopped.request_stop();
  (void)run(shell("true"));
  (void)run(shell("exit 1"));
  (void)run(shell("kill -KILL $$"));
  (void)run(shell("sleep 600 &"));
  (void)run(command({"/nowhere/program"}));
  (void)run(command({"yes"}));
  (void)run(shell("true"), "{}", stopped.get_token());
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_TRUE(has_no_children());
}

}  // namespace
}  // namespace holdfast::exec_step_test
