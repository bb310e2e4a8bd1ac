// Access tokens: the facts of the thread access:tokens, what they add up to, and the commands.
//
// A token is hf_<id>_<secret>. The id is public and names it; of the secret, 32 random bytes, only
// the SHA-256 is stored. It is shown once, when it is made.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/roles.h"
#include "base/hash.h"
#include "base/undo.h"
#include "holdfast/result.h"
#include "storage/entry/entry.h"
#include "storage/entry/thread_id.h"

namespace holdfast {

struct TokenCreated {
  static constexpr std::string_view kKind = "token_created";
  SharedText token_id;
  SharedText name;
  Role role = Role::viewer;
  Digest secret_hash{};
  std::vector<SharedText> queues;     // of a worker: only these; empty: all
  std::vector<SharedText> workflows;  // of the others: only runs of these; empty: all
  std::optional<TimeMs> expires_at;
  SharedText actor;

  HOLDFAST_FIELDS(required(token_id), required(name), required(role), required(secret_hash),
                  optional(queues), optional(workflows), optional(expires_at), optional(actor));
  friend bool operator==(const TokenCreated&, const TokenCreated&) = default;
};

struct TokenRevoked {
  static constexpr std::string_view kKind = "token_revoked";
  SharedText token_id;
  SharedText actor;

  HOLDFAST_FIELDS(required(token_id), optional(actor));
  friend bool operator==(const TokenRevoked&, const TokenRevoked&) = default;
};

ThreadId tokens_thread();

struct Token {
  TokenCreated created;
  TimeMs created_at;
  std::optional<TimeMs> revoked_at = std::nullopt;

  [[nodiscard]] bool valid(TimeMs now) const {
    return !revoked_at.has_value() &&
           (!created.expires_at.has_value() || now < *created.expires_at);
  }

  HOLDFAST_FIELDS(required(created), required(created_at), optional(revoked_at));
};

// The fold. A fact that breaks a rule changes nothing: the first of an id wins.
class Tokens {
 public:
  void evolve(UndoLog* undo, TimeMs at, const TokenCreated& fact);
  void evolve(UndoLog* undo, TimeMs at, const TokenRevoked& fact);
  void fold(const EntryView& entry);

  // Every caller needs a token once the first one exists, even if that one was revoked.
  [[nodiscard]] bool empty() const { return tokens_.empty(); }
  [[nodiscard]] const std::map<SharedText, Token>& all() const { return tokens_; }
  [[nodiscard]] const Token* find(std::string_view token_id) const;
  // Another number whenever something may be different.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }
  void restore(std::vector<Token> tokens);

 private:
  void note_change(UndoLog* undo);

  std::map<SharedText, Token> tokens_;  // by id
  std::uint64_t changes_ = 0;
};

struct CreateToken {
  std::string name;
  Role role = Role::viewer;
  std::vector<std::string> queues;
  std::vector<std::string> workflows;
  std::optional<TimeMs> expires_at;
  std::string actor;
};
// The public and the secret part of a new token, made of random bytes.
struct TokenParts {
  static constexpr std::size_t kIdBytes = 12;
  static constexpr std::size_t kSecretBytes = 32;
  using RandomBytes = std::array<std::byte, kIdBytes + kSecretBytes>;

  explicit TokenParts(const RandomBytes& random);

  std::string id;
  std::string secret;
};

// invalid_argument names the field.
Result<TokenCreated> decide_create(const Tokens& tokens, const CreateToken& command,
                                   std::string_view token_id, std::string_view secret, TimeMs now);
// No value: it was revoked before. not_found.
Result<std::optional<TokenRevoked>> decide_revoke(const Tokens& tokens, std::string_view token_id,
                                                  std::string_view actor);

// As it is shown: hf_<id>_<secret>.
std::string bearer_text(std::string_view token_id, std::string_view secret);
struct Bearer {
  std::string_view token_id;
  std::string_view secret;
};
std::optional<Bearer> parse_bearer(std::string_view text);
// Takes as long whether the secret fits or not.
bool fits(const Token& token, std::string_view secret);

// For lists: everything but the hash.
JsonText to_json(const Token& token, TimeMs now);
// {"tokens":[…]}
JsonText to_json(const Tokens& tokens, TimeMs now);

}  // namespace holdfast
