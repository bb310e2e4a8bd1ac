// Tokens of a store that is opened here.
#include <array>

#include "apps/cli/store_backend.h"
#include "base/encoding.h"
#include "storage/journal/open_journal.h"

namespace holdfast {

namespace {

template <std::size_t Bytes>
std::array<std::byte, Bytes> drawn(Random& random) {
  std::array<std::byte, Bytes> bytes{};
  random.fill(bytes);
  return bytes;
}

// The token as lists show it, and its text.
std::string created_json(const Token& token, TimeMs now, std::string_view text) {
  std::string json(to_json(token, now).view());
  json.pop_back();
  json += R"(,"token":)";
  append_json_string(json, text);
  return json + "}";
}

}  // namespace

Result<std::unique_ptr<Loop>> StoreBackend::open_loop(OpenMode mode) {
  HOLDFAST_TRY(auto journal, open_journal(store_.url, mode, context_.clock, context_.random));
  LoopOptions options;
  options.owner = "cli";
  return Loop::open(std::move(journal), context_.clock, context_.random, options);
}

Result<std::string> StoreBackend::create_token(const CreateToken& token) {
  constexpr std::size_t kIdBytes = 12;
  constexpr std::size_t kSecretBytes = 32;
  const std::string id = to_hex(drawn<kIdBytes>(context_.random));
  const std::string secret = to_base64url(drawn<kSecretBytes>(context_.random));
  HOLDFAST_TRY(const auto loop, open_loop(OpenMode::create));
  HOLDFAST_TRY(const TokenCreated created,
               loop->execute<TokenCreated>([&](Turn& turn) -> Result<TokenCreated> {
                 HOLDFAST_TRY(TokenCreated fact, decide_create(turn.state().registry().tokens(),
                                                               token, id, secret, turn.now()));
                 HOLDFAST_CHECK(turn.emit(fact));
                 return fact;
               }));
  const TimeMs now = context_.clock.now();
  return created_json(Token{created, now}, now, bearer_text(id, secret));
}

Result<std::string> StoreBackend::tokens() {
  HOLDFAST_TRY(StoreReader* const opened, reader());
  HOLDFAST_CHECK(opened->journal().catch_up());
  HOLDFAST_TRY(const auto entries, opened->journal().load(tokens_thread()));
  Tokens tokens;
  for (const auto& entry : entries) {
    tokens.fold(entry);
  }
  JsonWriter json;
  json.begin_object().key("tokens").begin_array();
  for (const auto& [id, token] : tokens.all()) {
    json.raw(to_json(token, context_.clock.now()));
  }
  json.end_array().end_object();
  return std::move(json).take();
}

Result<void> StoreBackend::revoke_token(const std::string& token_id) {
  HOLDFAST_CHECK(reader());  // not_found says how a store is made
  HOLDFAST_TRY(const auto loop, open_loop(OpenMode::write));
  HOLDFAST_CHECK(loop->execute<Done>([&](Turn& turn) -> Result<Done> {
    HOLDFAST_TRY(const auto fact, decide_revoke(turn.state().registry().tokens(), token_id, ""));
    if (fact.has_value()) {
      HOLDFAST_CHECK(turn.emit(*fact));
    }
    return Done{};
  }));
  return {};
}

}  // namespace holdfast
