#include "runs/steps/exec_step.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <map>
#include <optional>
#include <system_error>

#include "base/json_value.h"
#include "base/json_writer.h"
#include "base/utf8_cut.h"
#include "runs/steps/child_process.h"

namespace holdfast {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

constexpr int kTryAgainLater = 75;  // EX_TEMPFAIL of sysexits.h
constexpr std::size_t kShownOutputBytes = 80;
constexpr std::size_t kMaxCodeBytes = 64;
constexpr std::size_t kMaxMessageBytes = 4096;

using Environment = std::map<std::string, std::string, std::less<>>;

StepOutput failure(std::string_view code, std::string message) {
  StepOutput output;
  output.code = code;
  output.message = std::move(message);
  return output;
}

Environment whole_environment(const ExecSpec& spec,
                              const std::vector<std::pair<std::string, std::string>>& added) {
  Environment all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos && equals > 0) {
      all.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  for (const auto& [name, value] : spec.environment) {
    all.insert_or_assign(name, value.str());
  }
  for (const auto& [name, value] : added) {
    all.insert_or_assign(name, value);
  }
  return all;
}

// Why the system could not pass on the command unchanged; empty if it can.
std::string problem_of(const ExecSpec& spec, const Environment& environment) {
  const auto has_nul = [](std::string_view text) {
    return text.find('\0') != std::string_view::npos;
  };
  if (spec.command.empty() || spec.command.front().empty()) {
    return "the command is empty";
  }
  if (has_nul(spec.directory.view()) ||
      std::any_of(spec.command.begin(), spec.command.end(),
                  [&](const SharedText& text) { return has_nul(text.view()); })) {
    return "the command or its directory contains a NUL byte";
  }
  for (const auto& [name, value] : environment) {
    if (name.empty() || name.find('=') != std::string::npos || has_nul(name) || has_nul(value)) {
      return fmt::format("the environment variable \"{}\" is not valid", valid_utf8(name));
    }
  }
  return {};
}

// Searches a name without a slash in the absolute folders of PATH; empty if it is not found.
std::string find_program(std::string_view name, const Environment& environment) {
  constexpr std::string_view kUsualPath = "/usr/local/bin:/usr/bin:/bin";
  if (name.find('/') != std::string_view::npos) {
    return std::string(name);
  }
  const auto path = environment.find("PATH");
  std::string_view rest = path == environment.end() ? kUsualPath : std::string_view(path->second);
  while (!rest.empty()) {
    const std::size_t length = std::min(rest.find(':'), rest.size());
    const std::string_view folder = rest.substr(0, length);
    rest.remove_prefix(std::min(length + 1, rest.size()));
    if (!folder.starts_with('/')) {
      continue;
    }
    std::string candidate = fmt::format("{}/{}", folder, name);
    struct stat found {};
    if (stat(candidate.c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
        access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
  }
  return {};
}

// Errors that depend on the machine, not on the step.
bool may_pass(int error) {
  constexpr std::array kPassing = {EAGAIN, ENOMEM, EMFILE, ENFILE, ETXTBSY, EINTR, EIO};
  return std::find(kPassing.begin(), kPassing.end(), error) != kPassing.end();
}

StepOutput not_started(std::string_view command, std::string_view part, int error) {
  StepOutput output =
      failure("exec_not_started", fmt::format("cannot start \"{}\": {}: {}", valid_utf8(command),
                                              part, std::generic_category().message(error)));
  output.retryable = may_pass(error);
  return output;
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

StepOutput succeeded(std::string_view output) {
  StepOutput done;
  done.ok = true;
  if (is_blank(output)) {
    return done;
  }
  auto value = JsonText::parse(output);
  if (!value.ok()) {
    const std::string_view shown = utf8_prefix(output, kShownOutputBytes);
    return failure("invalid_output",
                   fmt::format("stdout is not one JSON value, it starts with: {}{}",
                               valid_utf8(shown), shown.size() < output.size() ? "..." : ""));
  }
  done.result = std::move(value).value();
  return done;
}

// [a-z][a-z0-9_]{0,63}
bool is_code(std::string_view text) {
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  return !text.empty() && text.size() <= kMaxCodeBytes && is_lower(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_lower(c) || (c >= '0' && c <= '9') || c == '_'; });
}

// A failing process may report a JSON object with a code on stdout.
void use_own_words(StepOutput& output, std::string_view text) {
  const auto said = Json::parse(text);
  if (!said.ok()) {
    return;
  }
  const auto string_of = [&](std::string_view name) {
    const auto found = said.value().find(name);
    return found ? found->string() : std::nullopt;
  };
  const auto code = string_of("code");
  if (!code || !is_code(*code)) {
    return;
  }
  output.code = *code;
  if (const auto message = string_of("message")) {
    output.message = utf8_prefix(*message, kMaxMessageBytes);
  }
  if (const auto retryable = said.value().find("retryable")) {
    output.retryable = retryable->boolean().value_or(output.retryable);
  }
  if (const auto after = said.value().find("retry_after_ms")) {
    if (const auto delay_ms = after->unsigned_integer()) {
      output.retry_after_ms = std::min(*delay_ms, kMaxDurationMs);
    }
  }
}

StepOutput exited(int exit_code, std::string_view output) {
  if (exit_code == 0) {
    return succeeded(output);
  }
  StepOutput failed = failure(exit_code == kTryAgainLater ? "exec_tempfail" : "exec_failed",
                              fmt::format("the process ended with exit code {}", exit_code));
  failed.retryable = true;
  use_own_words(failed, output);
  return failed;
}

StepOutput output_of(const ExecSpec& spec, const ProcessResult& result) {
  switch (result.end) {
    case ProcessEnd::not_started:
      return not_started(spec.command.front().view(), result.failed_part, result.number);
    case ProcessEnd::exited:
      return exited(result.number, result.output);
    case ProcessEnd::killed: {
      StepOutput output =
          failure("exec_killed", fmt::format("the process was killed by signal {}", result.number));
      output.retryable = true;
      return output;
    }
    case ProcessEnd::stopped:
      return failure("cancelled", "the process was killed because the step was stopped");
    case ProcessEnd::too_much_output:
      break;
  }
  return failure("output_too_large",
                 fmt::format("stdout is larger than {} bytes", kMaxExecOutputBytes));
}

JsonText details_of(const ProcessResult& result, SteadyTime started) {
  const auto took = std::chrono::steady_clock::now() - started;
  JsonWriter writer;
  writer.begin_object();
  if (result.end == ProcessEnd::exited) {
    writer.member("exit_code", std::int64_t{result.number});
  } else if (result.end == ProcessEnd::killed) {
    writer.member("signal", std::int64_t{result.number});
  }
  if (result.end != ProcessEnd::not_started) {
    // One byte more was kept, to see whether the output was longer.
    writer.member("stderr", utf8_suffix(result.errors, kKeptStderrBytes));
  }
  writer.member("duration_ms",
                std::int64_t{std::chrono::ceil<std::chrono::milliseconds>(took).count()});
  return std::move(writer.end_object()).take_text();
}

}  // namespace

StepOutput run_exec(const ExecSpec& spec, std::string_view input,
                    const std::vector<std::pair<std::string, std::string>>& environment,
                    const std::stop_token& stop) {
  if (stop.stop_requested()) {
    return failure("cancelled", "the step was stopped before its process was started");
  }
  const Environment variables = whole_environment(spec, environment);
  if (const std::string problem = problem_of(spec, variables); !problem.empty()) {
    return failure("exec_not_started", problem);
  }
  ProcessPlan plan{.program = find_program(spec.command.front().view(), variables),
                   .arguments = {},
                   .environment = {},
                   .directory = spec.directory.str(),
                   .max_output_bytes = kMaxExecOutputBytes,
                   .kept_error_bytes = kKeptStderrBytes + 1};
  if (plan.program.empty()) {
    return not_started(spec.command.front().view(), "program", ENOENT);
  }
  for (const SharedText& argument : spec.command) {
    plan.arguments.push_back(argument.str());
  }
  for (const auto& [name, value] : variables) {
    plan.environment.push_back(fmt::format("{}={}", name, value));
  }
  const SteadyTime started = std::chrono::steady_clock::now();
  const ProcessResult result = run_process(plan, input, stop);
  StepOutput output = output_of(spec, result);
  output.details = details_of(result, started);
  return output;
}

}  // namespace holdfast
