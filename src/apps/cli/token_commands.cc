// Tokens: what programs show to a server.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "apps/cli/backend.h"
#include "apps/cli/cli_commands.h"
#include "apps/cli/cli_terminal.h"
#include "apps/cli/json_rows.h"
#include "apps/terminal/text_table.h"
#include "runs/view/view_words.h"

namespace holdfast {

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
               fmt::format("--expires needs a time (2027-01-31) or how long from now (30d), not "
                           "'{}'",
                           text)}
      .with("field", "expires");
}

Role role_of(const std::string& name) {
  const auto& names = kEnumNames<Role>;
  const auto* const found = std::find(std::begin(names), std::end(names), name);
  HOLDFAST_ASSERT(found != std::end(names));  // the grammar takes no other
  return static_cast<Role>(std::distance(std::begin(names), found));
}

std::string state_of(const Json& token) {
  if (JsonRow(token).truth("valid")) {
    return "valid";
  }
  return token.find("revoked_at").has_value() ? "revoked" : "expired";
}

}  // namespace

Result<void> run_command(const TokenCreateOptions& options, Context& context) {
  CreateToken token;
  token.name = options.name;
  token.role = role_of(options.role);
  token.queues = options.queues;
  token.workflows = options.workflows;
  token.actor = options.actor;
  HOLDFAST_TRY(token.expires_at, expiry_of(options.expires, context.clock.now()));
  HOLDFAST_TRY(const auto backend, open_backend(options.backend, context));
  HOLDFAST_TRY(const std::string created, backend->create_token(token));
  if (context.json()) {
    context.out << created << (created.ends_with('\n') ? "" : "\n");
    return {};
  }
  HOLDFAST_TRY(const Json json, Json::parse(created));
  print_line(context, JsonRow(json).text("token"));
  context.out.flush();
  if (is_terminal(STDERR_FILENO)) {
    fmt::print(stderr,
               "it is shown this once; give it in HOLDFAST_TOKEN or with --token-file FILE\n"
               "take it back with: holdfast token revoke {}{}\n",
               JsonRow(json).text("id"), backend->suffix());
  }
  return {};
}

Result<void> run_command(const TokenListOptions& options, Context& context) {
  HOLDFAST_TRY(const auto backend, open_backend(options.backend, context));
  HOLDFAST_TRY(const std::string listed, backend->tokens());
  if (context.json()) {
    context.out << listed << (listed.ends_with('\n') ? "" : "\n");
    return {};
  }
  HOLDFAST_TRY(const Json json, Json::parse(listed));
  const std::vector<Json> rows = rows_of(json, "tokens");
  if (rows.empty()) {
    print_line(context,
               "there is no token yet: everybody on the server's machine may do "
               "everything; `holdfast token create` makes one");
    return {};
  }
  Table table({{"ID"},
               {"NAME", {}, 8},
               {"ROLE"},
               {"STATE"},
               {"EXPIRES"},
               {"QUEUES", {}, 8, true},
               {"WORKFLOWS", {}, 8, true},
               {"CREATED", {}, 0, true}});
  for (const Json& item : rows) {
    const JsonRow row(item);
    table.add({{row.text("id")},
               {row.text("name")},
               {row.text("role")},
               {state_of(item), row.truth("valid") ? Ink::green : Ink::dim},
               {row.time("expires_at")},
               {row.names("queues")},
               {row.names("workflows")},
               {row.time("created_at")}});
  }
  context.out << table.text(backend->style());
  return {};
}

Result<void> run_command(const TokenRevokeOptions& options, Context& context) {
  HOLDFAST_TRY(const auto backend, open_backend(options.backend, context));
  const auto revoked = backend->revoke_token(options.id);
  if (!revoked.ok()) {
    return revoked.error().code() == ErrorCode::not_found
               ? advised(revoked.error(), fmt::format("`holdfast token list{}` shows what there is",
                                                      backend->suffix()))
               : revoked.error();
  }
  if (context.json()) {
    JsonWriter json;
    json.begin_object().member("id", options.id).member("revoked", true).end_object();
    print_json(context, std::move(json));
    return {};
  }
  print_line(context, fmt::format("token {} is revoked", harmless(options.id)));
  return {};
}

}  // namespace holdfast
