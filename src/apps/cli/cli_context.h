// What every command is given, and how commands print.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <string_view>

#include "apps/terminal/show_view.h"
#include "base/clock.h"
#include "base/json_writer.h"
#include "base/random.h"
#include "holdfast/result.h"
#include "storage/journal/journal.h"

namespace holdfast::cli {

// Exit codes of commands that succeeded.
inline constexpr int kExitNegativeResult = 1;
inline constexpr int kExitWaits = 6;
inline constexpr int kExitInterrupted = 130;

struct Context {
  Clock& clock;
  Random& random;
  std::ostream& out;  // standard output
  Form form;
  int exit_code = 0;  // of a command that succeeds
  // The command has printed its JSON although it fails: the error goes to standard error alone.
  bool json_printed = false;

  [[nodiscard]] bool json() const { return form == Form::json; }
};

// For commands that read every batch. Fails with unfinished_copy, as opening a journal does, but
// does not read the batches to open it.
Result<std::unique_ptr<Log>> open_log_to_read(const std::string& url, Context& context);

// The URL without its secrets, for messages. Must be valid.
std::string shown_url(std::string_view url);

// Prints "holdfast: MESSAGE" to standard error; nothing when the message is empty.
void warn(std::string_view message);
void print_line(Context& context, std::string_view line);
void print_json(Context& context, JsonWriter writer);
// A JSON body of a server, which may lack the final newline.
void print_body(Context& context, std::string_view body);

// Prints one result: as JSON the members that `write` adds to an object, else `text` as a line.
template <typename WriteMembers>
void print_result(Context& context, std::string_view text, WriteMembers write) {
  if (!context.json()) {
    print_line(context, text);
    return;
  }
  JsonWriter json;
  json.begin_object();
  write(json);
  json.end_object();
  print_json(context, std::move(json));
}

}  // namespace holdfast::cli
