#include <fmt/format.h>
#include <unistd.h>

#include "apps/cli/backend_commands.h"
#include "apps/cli/cli_terminal.h"
#include "apps/cli/json_rows.h"

namespace holdfast::cli {

namespace {

Result<std::optional<TimeMs>> expiry_of(const std::string& text, TimeMs now) {
  if (text.empty()) {
    return std::optional<TimeMs>();
  }
  const auto at = At::parse(text);
  if (at.ok() && at.value().kind == At::Kind::time) {
    return std::optional(at.value().time);
  }
  if (at.ok() && at.value().kind == At::Kind::ago) {
    return std::optional(TimeMs{now.value + static_cast<std::int64_t>(at.value().number)});
  }
  return Error{ErrorCode::invalid_argument,
               fmt::format("--expires needs a time (2027-01-31) or a duration from now (30d), not "
                           "\"{}\"",
                           text)}
      .with("field", "expires");
}

struct TokenCreateCommand {
  BackendOptions backend = {};
  CreateToken request = {};
  std::string role = {};
  std::string expires = {};

  void declare(Arguments& arguments) {
    add_backend(arguments, backend);
    arguments.option("--role", "ROLE", role, "What the token allows");
    arguments.require("--role");
    arguments.restrict_to("--role", {"viewer", "client", "worker", "operator", "admin"});
    arguments.option("--name", "NAME", request.name, "Owner of the token, for the record");
    arguments.require("--name");
    arguments.option("--queue", "NAME", request.queues,
                     "Of a worker: only steps of this queue; may be given several times");
    arguments.option("--workflow", "NAME", request.workflows,
                     "Of the other roles: only runs of this workflow; may be given several times");
    arguments.option("--expires", "TIME", expires,
                     "Expiry: a time (2027-01-31) or a duration from now (30d) (default: never)");
    add_actor(arguments, request.actor);
  }

  Result<void> run(Context& context) const {
    CreateToken token = request;
    const auto known = enum_from<Role>(role);
    HOLDFAST_ASSERT(known.has_value());  // the option takes no other word
    token.role = *known;
    HOLDFAST_TRY(token.expires_at, expiry_of(expires, context.clock.now()));
    HOLDFAST_TRY(const auto opened, open_backend(backend, context));
    HOLDFAST_TRY(const std::string created, opened->administer(token));
    if (context.json()) {
      print_body(context, created);
      return {};
    }
    HOLDFAST_TRY(const Json json, Json::parse(created));
    print_line(context, JsonRow(json).text("token"));
    context.out.flush();
    if (is_terminal(STDERR_FILENO)) {
      fmt::print(stderr,
                 "the token is shown only once; pass it in HOLDFAST_TOKEN or with --token-file "
                 "FILE\nrevoke it with: holdfast token revoke {}{}\n",
                 JsonRow(json).text("id"), opened->suffix());
    }
    return {};
  }
};

}  // namespace

extern const Command kTokenCreateCommand = make_command<TokenCreateCommand>(
    "token create", "Create a token and print it; it is shown only once.",
    R"(The store keeps only a hash of the token. Once a store has a token, its server requires
one for every request over the network; the user that runs the server can still use its unix
socket without.

Roles:
  viewer    reads
  client    reads, starts runs, sends events
  worker    executes steps; with --queue only those of the named queues
  operator  reads, starts, cancels, approves, registers workflows
  admin     everything, including tokens and backups
With --workflow, a viewer, client or operator has access to runs of the named workflows only.

Examples:
  holdfast token create --role admin --name ann > ann.token
  holdfast token create --role worker --name billing --queue billing --queue refunds
  holdfast token create --role client --name shop --workflow order --expires 90d
  holdfast list --server https://work.example --token-file ann.token)");

}  // namespace holdfast::cli
