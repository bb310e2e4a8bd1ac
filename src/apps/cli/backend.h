// Backend: where a command works: a store that this program opens itself, or a server that has one.
// A command queries its backend and prints the answer; both backends print the same text, because
// both make it with apps/terminal/answers.h.
//
// Which one: --store or --server, then HOLDFAST_SERVER, then HOLDFAST_STORE, then
// sqlite:holdfast.db. Opening a backend does no I/O; the first query reports whether it exists.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "access/tokens.h"
#include "apps/cli/cli_context.h"
#include "apps/cli/cli_store.h"
#include "apps/terminal/answers.h"
#include "storage/journal/transfer_progress.h"

namespace holdfast {

struct NamedServer {
  std::string url;
  std::string suffix;  // as NamedStore::suffix: " --server …"
  std::string token = {};
  std::string tls_ca = {};
};

using BackendName = std::variant<NamedStore, NamedServer>;
// invalid_argument when options do not go together; not_found, ... when the token cannot be read.
Result<BackendName> resolve_backend(const BackendOptions& options);

class Backend {
 public:
  Backend(std::string suffix, Form form)
      : suffix_(std::move(suffix)), form_(form), style_(style_of(suffix_)) {}
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  // Behind every command that is shown, so that it can be typed as it is.
  [[nodiscard]] const std::string& suffix() const { return suffix_; }
  // How a run that was started goes on, before the suffix.
  [[nodiscard]] virtual std::string_view continue_hint() const = 0;
  [[nodiscard]] Form form() const { return form_; }
  [[nodiscard]] const Style& style() const { return style_; }

  // What is to be printed, whole.
  struct Answer {
    std::string text;
    bool fault = false;  // the doctor found one
  };
  virtual Result<Answer> inspect(const ListRunsOptions& options) = 0;
  virtual Result<Answer> inspect(const ShowRunOptions& options) = 0;
  virtual Result<Answer> inspect(const ExplainOptions& options) = 0;
  virtual Result<Answer> inspect(const GraphOptions& options) = 0;  // of a run
  virtual Result<Answer> inspect(const TimelineOptions& options) = 0;
  virtual Result<Answer> inspect(const DiffOptions& options) = 0;
  virtual Result<Answer> inspect(const StatusOptions& options) = 0;
  virtual Result<Answer> inspect(const DoctorOptions& options) = 0;

  // unknown_workflow.
  virtual Result<Answer> workflows() = 0;
  virtual Result<Answer> workflow(const std::string& name) = 0;
  virtual Result<std::shared_ptr<const Definition>> definition(const std::string& name) = 0;
  virtual Result<std::vector<KnownWorkflow>> versions(const std::string& name) = 0;

  // The whole id of a run. run_not_found.
  virtual Result<std::string> run_id(const std::string& run) = 0;
  // What was done, and what the run does since. JSON arguments are JSON by now.
  virtual Result<std::string> control(const CancelRunOptions& options) = 0;
  virtual Result<std::string> control(const SignalRunOptions& options) = 0;
  virtual Result<std::string> control(const ResolveOptions& options) = 0;
  virtual Result<StartedRun> replay(const ReplayRunOptions& options) = 0;
  struct Start {
    std::string workflow;
    std::string input;
    StartOptions options;
    std::shared_ptr<const Definition> definition = nullptr;  // is registered before
  };
  virtual Result<StartedRun> start(const Start& start) = 0;
  // The run as JSON. run_not_found.
  virtual Result<std::string> snapshot(const std::string& run_id) = 0;

  // {"id","name",...}, and "token": what is shown once.
  virtual Result<std::string> create_token(const CreateToken& token) = 0;
  virtual Result<std::string> tokens() = 0;  // {"tokens":[...]}
  virtual Result<void> revoke_token(const std::string& token_id) = 0;

  // JSON of a server. invalid_argument of a store: `instead` says what it has in place of it.
  virtual Result<std::string> server_json(std::string_view path, std::string_view instead) = 0;
  virtual Result<std::string> post_to_server(std::string_view path, std::string_view body,
                                             std::string_view instead) = 0;
  // The whole journal as an export, piece by piece; what progress counts.
  virtual Result<void> backup(std::ostream& out, const Progress& progress) = 0;
  [[nodiscard]] virtual const char* backup_unit() const = 0;

 private:
  std::string suffix_;
  Form form_;
  Style style_;
};

Result<std::unique_ptr<Backend>> open_backend(const BackendOptions& options, Context& context);

Answers::GraphWish graph_view_of(const GraphOptions& options);

// The same errors with what to do next: for commands on a run, and those that list them.
Error advised_inspect(const Error& error, const Backend& backend);

}  // namespace holdfast
