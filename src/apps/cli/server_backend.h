// ServerBackend: a server, called over HTTP. The server makes the text, in the width and with the
// colours of this terminal.
#pragma once

#include <memory>
#include <string>

#include "apps/cli/backend.h"
#include "apps/cli/server_calls.h"
#include "apps/cli/server_requests.h"

namespace holdfast::cli {

class ServerBackend final : public Backend {
 public:
  // Sends nothing. Fails with invalid_url or invalid_argument.
  static Result<std::unique_ptr<ServerBackend>> open(const NamedServer& server, Context& context);

  [[nodiscard]] std::string_view continue_hint() const override {
    return "inspect it with: holdfast explain latest";
  }
  Result<std::string> control(const RunControl& command) override;
  Result<StartedRun> start(const RunStart& command) override;
  Result<std::string> administer(const AdminCommand& command) override;
  Result<void> backup(std::ostream& out, const Progress& progress) override;
  [[nodiscard]] const char* backup_unit() const override { return "bytes"; }

  ServerCalls& calls() { return *calls_; }
  Result<void> register_workflow(const Definition& definition);

 private:
  ServerBackend(std::unique_ptr<ServerCalls> calls, Context& context)
      : Backend(calls->suffix(), context.form), calls_(std::move(calls)), context_(context) {}

  Result<Answer> answer(const Query& query, Form form) override;
  Result<Answer> send(ServerRequest request, Form form);

  std::unique_ptr<ServerCalls> calls_;
  Context& context_;
};

}  // namespace holdfast::cli
