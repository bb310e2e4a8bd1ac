#include "cli/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/text.h"
#include "cli/terminal.h"
#include "journal/open_journal.h"

namespace holdfast {

namespace {

constexpr const char* kDefaultStore = "sqlite:holdfast.db";
constexpr std::size_t kMaxArgumentBytes = 64U << 20U;

Error no_store(const NamedStore& store, const Error& error) {
  return Error{error.code(),
               fmt::format("there is no store {}; `holdfast run FILE` makes one, or name another "
                           "with --store or HOLDFAST_STORE",
                           shown_url(store.url))};
}

class OpenFile {
 public:
  explicit OpenFile(const std::string& name)
      : fd_(name == "-" ? STDIN_FILENO : ::open(name.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~OpenFile() {
    if (fd_ > STDIN_FILENO) {
      ::close(fd_);
    }
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

Error cannot_read(const std::string& file, int failure) {
  const ErrorCode code = failure == ENOENT   ? ErrorCode::not_found
                         : failure == EACCES ? ErrorCode::permission_denied
                                             : ErrorCode::invalid_argument;
  return Error{code, fmt::format("{} cannot be read: {}", file == "-" ? "standard input" : file,
                                 std::strerror(failure))}
      .with("path", file);
}

}  // namespace

NamedStore store_of(const std::string& option) {
  if (!option.empty()) {
    return {option, " --store " + shell_word(option)};
  }
  const char* const variable = getenv("HOLDFAST_STORE");
  return {variable != nullptr && *variable != '\0' ? variable : kDefaultStore, ""};
}

Result<Looker> Looker::open(const NamedStore& store, Context& context) {
  auto journal = open_journal(store.url, OpenMode::read, context.clock, context.random);
  if (!journal.ok()) {
    return journal.error().code() == ErrorCode::not_found ? no_store(store, journal.error())
                                                          : journal.error();
  }
  return Looker(std::move(journal).value(), context.clock);
}

Result<RunId> Looker::find(const NamedStore& store, const std::string& run) {
  const std::string advice = fmt::format("`holdfast list{}` shows what there is", store.suffix);
  auto found = inspector().find(run);
  if (!found.ok()) {
    return found.error().code() == ErrorCode::run_not_found ? advised(found.error(), advice)
                                                            : found.error();
  }
  // A whole id is taken as it is.
  HOLDFAST_CHECK(journal_->catch_up());
  HOLDFAST_TRY(const auto entries, journal_->load(run_thread(found.value()), {}, 1));
  if (entries.empty()) {
    return Error{ErrorCode::run_not_found, fmt::format("there is no run {}; {}", run, advice)}.with(
        "run_id", run);
  }
  return found;
}

Result<Engine> open_engine(const NamedStore& store, EngineOptions options) {
  options.all_queues = options.queues.empty();
  options.source = "cli";
  auto engine = Engine::open(store.url, options);
  if (!engine.ok() && engine.error().code() == ErrorCode::not_found) {
    return no_store(store, engine.error());
  }
  return engine;
}

Error advised(const Error& error, std::string_view advice) {
  Error told(error.code(), fmt::format("{}; {}", error.message(), advice));
  for (const auto& [name, value] : error.fields()) {
    std::move(told).with(name, value);
  }
  for (const std::string& frame : error.context()) {
    std::move(told).in(frame);
  }
  return std::move(told).with(error.what_next());
}

Result<void> check_start(const Definition& definition, const std::string& run_id,
                         const std::string& trigger) {
  if (!run_id.empty()) {
    HOLDFAST_CHECK(parse_run_id(run_id));
  }
  if (!trigger.empty() && definition.find_trigger(trigger) == nullptr) {
    return Error{ErrorCode::invalid_trigger, fmt::format("workflow {} has no trigger {}",
                                                         definition.workflow().view(), trigger)};
  }
  return {};
}

Style style_of(const NamedStore& store) {
  Style style;
  style.colour = wants_colour();
  style.command_suffix = store.suffix;
  winsize size{};
  if (is_terminal(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
      size.ws_col > 0) {
    constexpr std::size_t kNarrowest = 60;
    style.width = std::max<std::size_t>(size.ws_col, kNarrowest);
  } else {
    constexpr std::size_t kOfFiles = 120;
    const char* const columns = getenv("COLUMNS");
    const auto asked = parse_decimal(columns == nullptr ? "" : columns);
    style.width = std::max<std::size_t>(asked.value_or(kOfFiles), 60);
  }
  return style;
}

std::string shell_word(std::string_view text) {
  const bool plain = !text.empty() && text.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789_:/.,=@%+-") == std::string_view::npos;
  if (plain) {
    return std::string(text);
  }
  std::string word = "'";
  for (const char c : text) {
    word += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return word + "'";
}

Result<std::string> read_file_argument(const std::string& file) {
  const OpenFile opened(file);
  if (opened.fd() < 0) {
    return cannot_read(file, errno);
  }
  std::string text;
  std::array<char, 65536> piece;
  for (;;) {
    const ssize_t got = read(opened.fd(), piece.data(), piece.size());
    if (got < 0) {
      return cannot_read(file, errno);
    }
    if (got == 0) {
      return text;
    }
    text.append(piece.data(), static_cast<std::size_t>(got));
    if (text.size() > kMaxArgumentBytes) {
      return Error{ErrorCode::too_large, fmt::format("{} is longer than 64 MiB", file)};
    }
  }
}

Result<std::string> json_argument(std::string_view field, const std::string& argument) {
  if (argument.empty()) {
    return std::string("{}");
  }
  std::string text = argument;
  if (argument == "-" || argument.starts_with('@')) {
    HOLDFAST_TRY(text, read_file_argument(argument == "-" ? argument : argument.substr(1)));
  }
  const auto json = JsonText::parse(text);
  if (!json.ok()) {
    return Error{ErrorCode::invalid_json, fmt::format("--{} needs a JSON object, @FILE or -: {}",
                                                      field, json.error().message())}
        .with("field", field);
  }
  if (!json.value().view().starts_with('{')) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("--{} needs a JSON object: {{\"name\":\"value\"}}", field)}
        .with("field", field);
  }
  return text;
}

Result<std::string> attributes_argument(const std::vector<std::string>& attributes) {
  if (attributes.empty()) {
    return std::string();
  }
  JsonWriter json;
  json.begin_object();
  for (const std::string& attribute : attributes) {
    const std::size_t equals = attribute.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error{ErrorCode::invalid_argument,
                   fmt::format("--attribute needs NAME=VALUE, not '{}'", attribute)}
          .with("field", "attribute");
    }
    // 12, true and "12" are what they look like; everything else is a text.
    const std::string value = attribute.substr(equals + 1);
    const auto parsed = JsonText::parse(value);
    const bool is_json = parsed.ok() && value != "null" && !value.starts_with('{');
    json.key(attribute.substr(0, equals));
    if (is_json) {
      json.raw(parsed.value());
    } else {
      json.string(value);
    }
  }
  json.end_object();
  return std::move(json).take();
}

Result<TimeMs> time_argument(std::string_view field, const std::string& text, TimeMs now) {
  const auto at = At::parse(text);
  if (at.ok() && at.value().kind == At::Kind::time) {
    return at.value().time;
  }
  if (at.ok() && at.value().kind == At::Kind::ago) {
    return TimeMs{now.value - static_cast<std::int64_t>(at.value().number)};
  }
  return Error{ErrorCode::invalid_argument,
               fmt::format("--{} needs a time (2026-11-16T14:02:00Z, 2026-11-16) or an age (2h), "
                           "not '{}'",
                           field, text)}
      .with("field", field);
}

}  // namespace holdfast
