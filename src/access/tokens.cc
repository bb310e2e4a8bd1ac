#include "access/tokens.h"

#include <algorithm>

#include "base/encoding.h"
#include "base/json_writer.h"
#include "base/names.h"

namespace holdfast {

namespace {

constexpr std::string_view kPrefix = "hf_";
constexpr std::size_t kMaxName = 128;

Error bad_field(std::string_view field, const std::string& message) {
  return Error{ErrorCode::invalid_argument, message}.with("field", field);
}

Result<std::vector<SharedText>> names_of(std::string_view field,
                                         const std::vector<std::string>& names) {
  std::vector<SharedText> checked;
  for (const std::string& name : names) {
    HOLDFAST_CHECK(check_name(field, name));
    checked.emplace_back(name);
  }
  return checked;
}

void write_names(JsonWriter& json, std::string_view key, const std::vector<SharedText>& names) {
  json.key(key).begin_array();
  for (const SharedText& name : names) {
    json.string(name.view());
  }
  json.end_array();
}

}  // namespace

ThreadId tokens_thread() { return ThreadId::trusted("access:tokens"); }

void Tokens::note_change(UndoLog* undo) {
  ++changes_;
  if (undo != nullptr) {
    undo->add([this] { ++changes_; });
  }
}

void Tokens::evolve(UndoLog* undo, TimeMs at, const TokenCreated& fact) {
  if (!tokens_.contains(fact.token_id)) {
    note_change(undo);
    insert(undo, tokens_, fact.token_id, Token{fact, at});
  }
}

void Tokens::evolve(UndoLog* undo, TimeMs at, const TokenRevoked& fact) {
  const auto known = tokens_.find(fact.token_id);
  if (known != tokens_.end() && !known->second.revoked_at.has_value()) {
    note_change(undo);
    save(undo, known->second.revoked_at);
    known->second.revoked_at = at;
  }
}

void Tokens::fold(const EntryView& entry) {
  if (entry.kind == TokenCreated::kKind) {
    if (const auto fact = from_json<TokenCreated>(entry.data); fact.ok()) {
      evolve(nullptr, entry.at, fact.value());
    }
  } else if (entry.kind == TokenRevoked::kKind) {
    if (const auto fact = from_json<TokenRevoked>(entry.data); fact.ok()) {
      evolve(nullptr, entry.at, fact.value());
    }
  }
}

const Token* Tokens::find(std::string_view token_id) const {
  const auto found = tokens_.find(SharedText(token_id));
  return found == tokens_.end() ? nullptr : &found->second;
}

void Tokens::restore(std::vector<Token> tokens) {
  for (Token& token : tokens) {
    const SharedText id = token.created.token_id;
    tokens_.insert_or_assign(id, std::move(token));
  }
  ++changes_;
}

TokenParts::TokenParts(const RandomBytes& random)
    : id(to_hex(std::span(random).first<kIdBytes>())),
      secret(to_base64url(std::span(random).last<kSecretBytes>())) {}

Result<TokenCreated> decide_create(const Tokens& tokens, const CreateToken& command,
                                   std::string_view token_id, std::string_view secret, TimeMs now) {
  if (command.name.empty() || command.name.size() > kMaxName) {
    return bad_field("name", "a token needs a name of 1 to 128 bytes");
  }
  const bool worker = command.role == Role::worker;
  if (!command.queues.empty() && !worker) {
    return bad_field("queues", "only a worker token can be limited to queues");
  }
  if (!command.workflows.empty() && (worker || command.role == Role::admin)) {
    return bad_field("workflows", "a token of role " + std::string(to_text(command.role)) +
                                      " cannot be limited to workflows");
  }
  if (command.expires_at.has_value() && *command.expires_at <= now) {
    return bad_field("expires_at", "the token would expire before it becomes valid");
  }
  const bool taken = std::any_of(tokens.all().begin(), tokens.all().end(), [&](const auto& known) {
    return known.second.created.name.view() == command.name && known.second.valid(now);
  });
  if (taken) {
    return Error{
        ErrorCode::already_exists,
        "a token named \"" + command.name + "\" already exists; revoke it, or choose another name"}
        .with("field", "name");
  }
  TokenCreated fact;
  fact.token_id = token_id;
  fact.name = command.name;
  fact.role = command.role;
  fact.secret_hash = sha256(secret);
  HOLDFAST_TRY(fact.queues, names_of("queue", command.queues));
  HOLDFAST_TRY(fact.workflows, names_of("workflow", command.workflows));
  fact.expires_at = command.expires_at;
  fact.actor = command.actor;
  return fact;
}

Result<std::optional<TokenRevoked>> decide_revoke(const Tokens& tokens, std::string_view token_id,
                                                  std::string_view actor) {
  const Token* token = tokens.find(token_id);
  if (token == nullptr) {
    return Error{ErrorCode::not_found, "no token has the id \"" + std::string(token_id) + "\""}
        .with("token_id", token_id);
  }
  if (token->revoked_at.has_value()) {
    return std::optional<TokenRevoked>();
  }
  return std::optional(TokenRevoked{SharedText(token_id), SharedText(actor)});
}

std::string bearer_text(std::string_view token_id, std::string_view secret) {
  return std::string(kPrefix) + std::string(token_id) + "_" + std::string(secret);
}

std::optional<Bearer> parse_bearer(std::string_view text) {
  if (!text.starts_with(kPrefix)) {
    return std::nullopt;
  }
  text.remove_prefix(kPrefix.size());
  // Ids have no underscore, secrets may have some.
  const std::size_t end = text.find('_');
  if (end == std::string_view::npos || end == 0 || end + 1 == text.size()) {
    return std::nullopt;
  }
  return Bearer{text.substr(0, end), text.substr(end + 1)};
}

bool fits(const Token& token, std::string_view secret) {
  const Digest shown = sha256(secret);
  return equal_secrets(as_text(shown), as_text(token.created.secret_hash));
}

JsonText to_json(const Token& token, TimeMs now) {
  const TokenCreated& created = token.created;
  JsonWriter json;
  json.begin_object().member("id", created.token_id.view()).member("name", created.name.view());
  json.member("role", to_text(created.role));
  write_names(json, "queues", created.queues);
  write_names(json, "workflows", created.workflows);
  json.member("created_at", token.created_at.value).member("created_by", created.actor.view());
  if (created.expires_at.has_value()) {
    json.member("expires_at", created.expires_at->value);
  }
  if (token.revoked_at.has_value()) {
    json.member("revoked_at", token.revoked_at->value);
  }
  json.member("valid", token.valid(now)).end_object();
  return std::move(json).take_text();
}

JsonText to_json(const Tokens& tokens, TimeMs now) {
  JsonWriter json;
  json.begin_object().key("tokens").begin_array();
  for (const auto& [id, token] : tokens.all()) {
    json.raw(to_json(token, now));
  }
  json.end_array().end_object();
  return std::move(json).take_text();
}

}  // namespace holdfast
