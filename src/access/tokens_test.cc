#include "access/tokens.h"

#include <gtest/gtest.h>

namespace holdfast::tokens_test {
namespace {

constexpr TimeMs kNow{1000};

TokenCreated created(const CreateToken& command, std::string_view id = "t1") {
  auto fact = decide_create(Tokens(), command, id, "secret", kNow);
  EXPECT_TRUE(fact.ok()) << (fact.ok() ? "" : fact.error().text());
  return fact.ok() ? std::move(fact).value() : TokenCreated();
}

CreateToken named(std::string name, Role role) {
  CreateToken command;
  command.name = std::move(name);
  command.role = role;
  return command;
}

std::string refused_field(const CreateToken& command) {
  const auto fact = decide_create(Tokens(), command, "t1", "secret", kNow);
  return fact.ok() ? "nothing" : std::string(fact.error().field("field"));
}

TEST(Tokens, only_the_secret_that_was_shown_fits) {
  const Token token{created(named("ops", Role::admin)), kNow};
  EXPECT_TRUE(fits(token, "secret"));
  EXPECT_FALSE(fits(token, "Secret"));
  EXPECT_FALSE(fits(token, ""));
  const auto stored = to_json(token.created);
  EXPECT_EQ(stored.value().view().find("\"secret\""), std::string_view::npos);
}

TEST(Tokens, text_of_a_token_parses_to_its_parts_also_with_underscores_in_the_secret) {
  const std::string text = bearer_text("abc", "x_y_z");
  const auto bearer = parse_bearer(text);
  ASSERT_TRUE(bearer.has_value());
  EXPECT_EQ(bearer->token_id, "abc");
  EXPECT_EQ(bearer->secret, "x_y_z");
  for (const char* bad : {"", "hf_", "hf_a", "hf_a_", "hf__a", "xx_a_b", "a_b"}) {
    EXPECT_FALSE(parse_bearer(bad).has_value()) << bad;
  }
}

TEST(Tokens, id_and_secret_are_made_of_different_random_bytes) {
  TokenParts::RandomBytes random{};
  random[11] = std::byte{0xab};  // the last of the id
  random[12] = std::byte{0xff};  // the first of the secret
  const TokenParts parts(random);
  EXPECT_EQ(parts.id, "0000000000000000000000ab");
  EXPECT_EQ(parts.secret.size(), 43U);
  EXPECT_TRUE(parts.secret.starts_with("_wA")) << parts.secret;
}

TEST(Tokens, revoked_and_expired_tokens_are_not_valid) {
  Tokens tokens;
  CreateToken command = named("ops", Role::operator_);
  command.expires_at = TimeMs{2000};
  tokens.evolve(nullptr, kNow, created(command));
  EXPECT_TRUE(tokens.find("t1")->valid(TimeMs{1999}));
  EXPECT_FALSE(tokens.find("t1")->valid(TimeMs{2000}));
  const auto revoked = decide_revoke(tokens, "t1", "ann");
  ASSERT_TRUE(revoked.ok() && revoked.value().has_value());
  tokens.evolve(nullptr, TimeMs{1500}, *revoked.value());
  EXPECT_FALSE(tokens.find("t1")->valid(TimeMs{1600}));
  const auto again = decide_revoke(tokens, "t1", "ann");
  EXPECT_TRUE(again.ok() && !again.value().has_value());
  EXPECT_EQ(decide_revoke(tokens, "t2", "ann").error().code(), ErrorCode::not_found);
}

TEST(Tokens, what_was_not_written_is_taken_back) {
  Tokens tokens;
  UndoLog undo;
  const auto mark = undo.mark();
  tokens.evolve(&undo, kNow, created(named("ops", Role::admin)));
  tokens.evolve(&undo, kNow, TokenRevoked{"t1", "ann"});
  undo.roll_back_to(mark);
  EXPECT_TRUE(tokens.empty());
}

TEST(Tokens, a_name_is_free_again_when_its_token_has_ended) {
  Tokens tokens;
  tokens.evolve(nullptr, kNow, created(named("ops", Role::admin)));
  EXPECT_EQ(decide_create(tokens, named("ops", Role::viewer), "t2", "s", kNow).error().code(),
            ErrorCode::already_exists);
  tokens.evolve(nullptr, kNow, TokenRevoked{"t1", "ann"});
  EXPECT_TRUE(decide_create(tokens, named("ops", Role::viewer), "t2", "s", kNow).ok());
}

TEST(Tokens, limits_that_a_role_cannot_have_are_refused) {
  CreateToken queues = named("a", Role::client);
  queues.queues = {"default"};
  EXPECT_EQ(refused_field(queues), "queues");
  CreateToken workflows = named("a", Role::worker);
  workflows.workflows = {"order"};
  EXPECT_EQ(refused_field(workflows), "workflows");
  workflows.role = Role::admin;
  EXPECT_EQ(refused_field(workflows), "workflows");
  CreateToken late = named("a", Role::viewer);
  late.expires_at = kNow;
  EXPECT_EQ(refused_field(late), "expires_at");
  EXPECT_EQ(refused_field(named("", Role::viewer)), "name");
  EXPECT_EQ(refused_field(named(std::string(129, 'x'), Role::viewer)), "name");
}

TEST(Roles, table_is_as_documented) {
  struct Row {
    Role role;
    std::string_view permissions;
  };
  for (const Row& row : {Row{Role::viewer, "look"}, Row{Role::client, "look start"},
                         Row{Role::worker, "work"}, Row{Role::operator_, "look start steer define"},
                         Row{Role::admin, "look start steer define work administer"}}) {
    for (const Permission permission :
         {Permission::look, Permission::start, Permission::steer, Permission::define,
          Permission::work, Permission::administer}) {
      const bool listed = row.permissions.find(to_text(permission)) != std::string_view::npos;
      EXPECT_EQ(allows(row.role, permission), listed)
          << to_text(row.role) << " " << to_text(permission);
    }
  }
}

}  // namespace
}  // namespace holdfast::tokens_test
