// ServerBackend: a place that is a server, asked over HTTP. What people read is made by the server,
// in the width and with the colours of this terminal.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/cli/backend.h"
#include "apps/cli/server_calls.h"
#include "apps/client/client_api.h"

namespace holdfast {

class ServerBackend final : public Backend {
 public:
  // Nothing is sent. invalid_url, invalid_argument.
  static Result<std::unique_ptr<ServerBackend>> open(const NamedServer& server, Context& context);

  [[nodiscard]] std::string_view continue_hint() const override {
    return "see how it goes: holdfast explain latest";
  }
  Result<Answer> inspect(const ListRunsOptions& options) override;
  Result<Answer> inspect(const ShowRunOptions& options) override;
  Result<Answer> inspect(const ExplainOptions& options) override;
  Result<Answer> inspect(const GraphOptions& options) override;
  Result<Answer> inspect(const TimelineOptions& options) override;
  Result<Answer> inspect(const DiffOptions& options) override;
  Result<Answer> inspect(const StatusOptions& options) override;
  Result<Answer> inspect(const DoctorOptions& options) override;

  Result<Answer> workflows() override;
  Result<Answer> workflow(const std::string& name) override;
  Result<std::shared_ptr<const Definition>> definition(const std::string& name) override;
  Result<std::vector<KnownWorkflow>> versions(const std::string& name) override;

  Result<std::string> run_id(const std::string& run) override;
  Result<std::string> control(const CancelRunOptions& options) override;
  Result<std::string> control(const SignalRunOptions& options) override;
  Result<std::string> control(const ResolveOptions& options) override;
  Result<StartedRun> replay(const ReplayRunOptions& options) override;
  Result<StartedRun> start(const Start& start) override;
  Result<std::string> snapshot(const std::string& run_id) override;

  Result<std::string> create_token(const CreateToken& token) override;
  Result<std::string> tokens() override;
  Result<void> revoke_token(const std::string& token_id) override;

  Result<std::string> server_json(std::string_view path, std::string_view instead) override;
  Result<std::string> post_to_server(std::string_view path, std::string_view body,
                                     std::string_view instead) override;
  Result<void> backup(std::ostream& out, const Progress& progress) override;
  [[nodiscard]] const char* backup_unit() const override { return "bytes"; }

  ServerCalls& calls() { return *calls_; }
  Result<void> register_workflow(const Definition& definition);

 private:
  ServerBackend(std::unique_ptr<ServerCalls> calls, Context& context)
      : Backend(calls->suffix(), context.json() ? Form::json : Form::text),
        calls_(std::move(calls)),
        context_(context) {}

  // In the form that was asked for.
  Result<Answer> query_server(const std::string& path, client::Query query);
  Result<std::string> send_command(const std::string& run, std::string_view command,
                                   JsonWriter body, bool repeatable);
  Result<StartedRun> start_at(const std::string& path, JsonWriter body, bool repeatable);

  std::unique_ptr<ServerCalls> calls_;
  Context& context_;
};

}  // namespace holdfast
