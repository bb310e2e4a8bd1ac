// WorkPlace: where the work of a command is kept: a store that this program opens itself, or a
// server that has one. A command asks its place and prints the answer; the words are the same,
// because both sides make them with show/answers.h.
//
// Which it is: --store or --server, then HOLDFAST_SERVER, then HOLDFAST_STORE, then
// sqlite:holdfast.db. Opening a place touches nothing; whoever asks it first finds out whether it
// is there.
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

using NamedPlace = std::variant<NamedStore, NamedServer>;
// invalid_argument when options do not go together; not_found, ... when the token cannot be read.
Result<NamedPlace> named_place(const PlaceOptions& options);

class WorkPlace {
 public:
  WorkPlace(std::string suffix, Form form)
      : suffix_(std::move(suffix)), form_(form), style_(style_of(suffix_)) {}
  WorkPlace(const WorkPlace&) = delete;
  WorkPlace& operator=(const WorkPlace&) = delete;
  virtual ~WorkPlace() = default;

  // Behind every command that is shown, so that it can be typed as it is.
  [[nodiscard]] const std::string& suffix() const { return suffix_; }
  // How a run that was started goes on, before the suffix.
  [[nodiscard]] virtual std::string_view going_on() const = 0;
  [[nodiscard]] Form form() const { return form_; }
  [[nodiscard]] const Style& style() const { return style_; }

  // What is to be printed, whole.
  struct Answer {
    std::string text;
    bool fault = false;  // the doctor found one
  };
  virtual Result<Answer> look(const ListRunsOptions& options) = 0;
  virtual Result<Answer> look(const ShowRunOptions& options) = 0;
  virtual Result<Answer> look(const ExplainOptions& options) = 0;
  virtual Result<Answer> look(const GraphOptions& options) = 0;  // of a run
  virtual Result<Answer> look(const TimelineOptions& options) = 0;
  virtual Result<Answer> look(const DiffOptions& options) = 0;
  virtual Result<Answer> look(const StatusOptions& options) = 0;
  virtual Result<Answer> look(const DoctorOptions& options) = 0;

  // unknown_workflow.
  virtual Result<Answer> workflows() = 0;
  virtual Result<Answer> workflow(const std::string& name) = 0;
  virtual Result<std::shared_ptr<const Definition>> definition(const std::string& name) = 0;
  virtual Result<std::vector<KnownWorkflow>> versions(const std::string& name) = 0;

  // The whole id of a run. run_not_found.
  virtual Result<std::string> run_id(const std::string& run) = 0;
  // What was done, and what the run does since. JSON arguments are JSON by now.
  virtual Result<std::string> steer(const CancelRunOptions& options) = 0;
  virtual Result<std::string> steer(const SignalRunOptions& options) = 0;
  virtual Result<std::string> steer(const ResolveOptions& options) = 0;
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
  virtual Result<std::string> tell_server(std::string_view path, std::string_view body,
                                          std::string_view instead) = 0;
  // The whole journal as an export, piece by piece; what progress counts.
  virtual Result<void> backup(std::ostream& out, const Progress& progress) = 0;
  [[nodiscard]] virtual const char* backup_unit() const = 0;

 private:
  std::string suffix_;
  Form form_;
  Style style_;
};

Result<std::unique_ptr<WorkPlace>> open_place(const PlaceOptions& options, Context& context);

Answers::GraphWish wish_of(const GraphOptions& options);

// The same errors with what to do next: for commands on a run, and those that list them.
Error advised_look(const Error& error, const WorkPlace& place);

}  // namespace holdfast
