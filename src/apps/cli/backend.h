// Backend: where a command works: a store that this program opens itself, or a server that has one.
// A command sends requests (backend_requests.h) and prints the responses; both backends print the
// same text, because both make it with apps/terminal/show_view.h.
//
// Which one: --store or --server, then HOLDFAST_SERVER, then HOLDFAST_STORE, then
// sqlite:holdfast.db. Opening a backend does no I/O; the first request reports whether it exists.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "apps/cli/backend_requests.h"
#include "apps/cli/cli_context.h"
#include "apps/cli/cli_store.h"
#include "apps/cli/option_groups.h"
#include "storage/journal/transfer_progress.h"

namespace holdfast::cli {

struct NamedServer {
  std::string url;
  std::string suffix;  // as NamedStore::suffix: " --server …"
  std::string token = {};
  std::string tls_ca = {};
};

using BackendName = std::variant<NamedStore, NamedServer>;
// Fails with invalid_argument when options contradict each other, or as reading a file does when
// the token cannot be read.
Result<BackendName> resolve_backend(const BackendOptions& options);

class Backend {
 public:
  Backend(std::string suffix, Form form)
      : suffix_(std::move(suffix)), form_(form), style_(style_of(suffix_)) {}
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  // Appended to every command that is shown, so that it can be copied as it is.
  [[nodiscard]] const std::string& suffix() const { return suffix_; }
  [[nodiscard]] Form form() const { return form_; }
  [[nodiscard]] const Style& style() const { return style_; }
  // How to proceed with a run that was started, without the suffix.
  [[nodiscard]] virtual std::string_view continue_hint() const = 0;

  // A complete text to print, ending with a newline.
  struct Answer {
    std::string text;
    bool fault = false;  // of Diagnose: a fault was found
  };
  Result<Answer> query(const Query& query) { return answer(query, form_); }
  Result<std::string> json(const Query& query);

  // What was done, and what the run does now: text, or the explanation as JSON.
  virtual Result<std::string> control(const RunControl& command) = 0;
  virtual Result<StartedRun> start(const RunStart& command) = 0;
  // The response as JSON; of a new token, with its secret.
  virtual Result<std::string> administer(const AdminCommand& command) = 0;
  // Writes the whole journal as an export, and counts progress in backup_unit().
  virtual Result<void> backup(std::ostream& out, const Progress& progress) = 0;
  [[nodiscard]] virtual const char* backup_unit() const = 0;

 private:
  virtual Result<Answer> answer(const Query& query, Form form) = 0;

  std::string suffix_;
  Form form_;
  Style style_;
};

Result<std::unique_ptr<Backend>> open_backend(const BackendOptions& options, Context& context);

// The same error; when the run or the page does not exist, with what to do next.
Error with_advice(const Error& error, const Backend& backend);

}  // namespace holdfast::cli
