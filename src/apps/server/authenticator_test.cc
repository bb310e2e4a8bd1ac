#include "apps/server/authenticator.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/must.h"

namespace holdfast::authenticator_test {
namespace {

constexpr TimeMs kNow{1'700'000'000'000};

class AuthenticatorTest : public testing::Test {
 protected:
  void add_token(const std::string& id, const CreateToken& command) {
    tokens_.evolve(nullptr, kNow, must(decide_create(tokens_, command, id, id + "-secret", kNow)));
  }
  void revoke(const std::string& id) {
    tokens_.evolve(nullptr, kNow, must(decide_revoke(tokens_, id, "ann")).value());
  }
  Result<Caller> authenticate(const net::Request& request) {
    return authenticator_.authenticate(request, tokens_);
  }

  static CreateToken named(std::string name, Role role) {
    CreateToken command;
    command.name = std::move(name);
    command.role = role;
    return command;
  }
  static net::Request remote_request(std::vector<net::Header> headers = {}) {
    net::Request request;
    request.method = "GET";
    request.path = "/v1/runs";
    request.headers = std::move(headers);
    request.peer.address = "10.0.0.7:4000";
    return request;
  }
  static net::Request local_request(std::vector<net::Header> headers = {}) {
    net::Request request = remote_request(std::move(headers));
    request.peer.address = "127.0.0.1:4000";
    request.peer.loopback = true;
    return request;
  }
  static net::Request socket_request(unsigned uid) {
    net::Request request = local_request();
    request.peer.address = "unix";
    request.peer.uid = uid;
    return request;
  }
  static net::Request with(const std::string& authorization) {
    return remote_request({{"Authorization", authorization}});
  }
  static std::string bearer(const std::string& id) {
    return "Bearer " + bearer_text(id, id + "-secret");
  }

  ManualClock clock_{kNow};
  Tokens tokens_;
  Authenticator authenticator_{clock_, 0};
};

TEST_F(AuthenticatorTest, a_token_identifies_the_caller_and_its_permissions) {
  CreateToken command = named("ci", Role::client);
  command.workflows = {"order", "refund"};
  add_token("t1", command);
  const Caller caller = must(authenticate(with(bearer("t1"))));
  EXPECT_EQ(caller.kind, Caller::Kind::token);
  EXPECT_EQ(caller.name, "ci");
  EXPECT_EQ(caller.role, Role::client);
  EXPECT_EQ(caller.token_id, "t1");
  EXPECT_TRUE(caller.may_see("order"));
  EXPECT_TRUE(caller.may_see("refund"));
  EXPECT_FALSE(caller.may_see("orders"));
  EXPECT_FALSE(caller.may_see(""));
}

TEST_F(AuthenticatorTest, a_worker_token_limits_the_caller_to_its_queues) {
  CreateToken command = named("box", Role::worker);
  command.queues = {"gpu"};
  add_token("t1", command);
  const Caller caller = must(authenticate(with(bearer("t1"))));
  EXPECT_EQ(caller.queues, std::vector<SharedText>{"gpu"});
  EXPECT_TRUE(caller.may_see("anything"));
}

TEST_F(AuthenticatorTest, every_invalid_token_gets_the_same_error) {
  CreateToken short_lived = named("brief", Role::admin);
  short_lived.expires_at = TimeMs{kNow.value + 1000};
  add_token("t1", named("ops", Role::admin));
  add_token("t2", named("gone", Role::admin));
  add_token("t3", short_lived);
  revoke("t2");
  EXPECT_TRUE(authenticate(with(bearer("t3"))).ok());
  clock_.advance_ms(1000);
  const std::string same_text = authenticate(with("Bearer hf_t9_nothing")).error().text();
  for (const std::string& wrong :
       {std::string("Bearer hf_t1_wrong"), std::string("Bearer hf_t1_"), bearer("t2"), bearer("t3"),
        bearer("t9"), std::string("Bearer "), std::string("Basic b3BzOnNlY3JldA=="),
        bearer_text("t1", "t1-secret"), std::string("nonsense")}) {
    const auto refused = authenticate(with(wrong));
    ASSERT_EQ(code_of(refused), "unauthenticated") << wrong;
    EXPECT_EQ(refused.error().text(), same_text) << wrong;
    EXPECT_EQ(refused.error().text().find("secret"), std::string::npos);
  }
  EXPECT_TRUE(authenticate(with(bearer("t1"))).ok());
}

TEST_F(AuthenticatorTest, an_invalid_token_is_refused_also_from_loopback_and_the_socket) {
  net::Request request = local_request({{"Authorization", "Bearer hf_t9_x"}});
  EXPECT_EQ(code_of(authenticate(request)), "unauthenticated");
  request.peer.uid = geteuid();
  EXPECT_EQ(code_of(authenticate(request)), "unauthenticated");
}

TEST_F(AuthenticatorTest, the_user_of_the_server_is_admin_on_the_socket_with_or_without_tokens) {
  for (int round = 0; round < 2; ++round) {
    const Caller caller = must(authenticate(socket_request(geteuid())));
    EXPECT_EQ(caller.kind, Caller::Kind::socket_owner);
    EXPECT_EQ(caller.role, Role::admin);
    EXPECT_FALSE(caller.name.empty());
    EXPECT_TRUE(authenticate(socket_request(0)).ok()) << "root has every permission";
    add_token("t" + std::to_string(round), named("ops" + std::to_string(round), Role::admin));
  }
}

TEST_F(AuthenticatorTest, other_users_on_the_socket_need_a_token) {
  const unsigned other = geteuid() + 4711;
  EXPECT_EQ(code_of(authenticate(socket_request(other))), "unauthenticated");
  add_token("t1", named("ops", Role::viewer));
  net::Request request = socket_request(other);
  request.headers.push_back({"Authorization", bearer("t1")});
  EXPECT_EQ(must(authenticate(request)).role, Role::viewer);
}

TEST_F(AuthenticatorTest, without_tokens_only_the_same_machine_is_admitted) {
  const Caller caller = must(authenticate(local_request()));
  EXPECT_EQ(caller.kind, Caller::Kind::same_machine);
  EXPECT_EQ(caller.role, Role::admin);
  EXPECT_EQ(caller.name, "");
  EXPECT_EQ(code_of(authenticate(remote_request())), "unauthenticated");
}

TEST_F(AuthenticatorTest,
       once_a_token_was_created_every_caller_needs_one_even_after_its_revocation) {
  add_token("t1", named("ops", Role::admin));
  EXPECT_EQ(code_of(authenticate(local_request())), "unauthenticated");
  revoke("t1");
  EXPECT_EQ(code_of(authenticate(local_request())), "unauthenticated");
}

TEST_F(AuthenticatorTest, without_tokens_the_host_header_must_name_this_machine) {
  for (const char* host : {"localhost", "localhost:8080", "127.0.0.1", "127.0.0.1:8080", "[::1]",
                           "[::1]:8080", "holdfast.localhost:1"}) {
    EXPECT_TRUE(authenticate(local_request({{"Host", host}})).ok()) << host;
  }
  for (const char* host : {"evil.example", "evil.example:8080", "localhost.evil.example",
                           "127.0.0.1.evil.example", "[::1", "10.0.0.1", "notlocalhost"}) {
    EXPECT_EQ(code_of(authenticate(local_request({{"Host", host}}))), "permission_denied") << host;
  }
}

TEST_F(AuthenticatorTest, without_tokens_pages_of_other_sites_are_refused) {
  for (const char* origin :
       {"http://localhost:3000", "http://127.0.0.1", "https://[::1]:8443", "http://a.localhost"}) {
    EXPECT_TRUE(authenticate(local_request({{"Host", "localhost"}, {"Origin", origin}})).ok())
        << origin;
  }
  for (const char* origin :
       {"http://evil.example", "null", "http://localhost.evil.example", "localhost", "http://"}) {
    EXPECT_EQ(code_of(authenticate(local_request({{"Host", "localhost"}, {"Origin", origin}}))),
              "permission_denied")
        << origin;
  }
}

TEST_F(AuthenticatorTest, a_token_is_valid_for_any_host_and_origin) {
  add_token("t1", named("ops", Role::admin));
  EXPECT_TRUE(authenticate(remote_request({{"Authorization", bearer("t1")},
                                           {"Host", "holdfast.example"},
                                           {"Origin", "https://dashboard.example"}}))
                  .ok());
}

class TokenRateTest : public AuthenticatorTest {
 protected:
  // The number of requests that are admitted.
  int admitted(const std::string& id, int requests) {
    int count = 0;
    for (int i = 0; i < requests; ++i) {
      const auto caller = limited_.authenticate(with(bearer(id)), tokens_);
      count += caller.ok() ? 1 : 0;
      EXPECT_TRUE(caller.ok() || code_of(caller) == "rate_limited") << code_of(caller);
    }
    return count;
  }

  Authenticator limited_{clock_, 10};
};

TEST_F(TokenRateTest, a_token_has_a_budget_of_one_second_that_refills_with_time) {
  add_token("t1", named("ci", Role::client));
  EXPECT_EQ(admitted("t1", 25), 10);
  clock_.advance_ms(99);
  EXPECT_EQ(admitted("t1", 5), 0);
  clock_.advance_ms(1);
  EXPECT_EQ(admitted("t1", 5), 1) << "ten per second is one per 100 ms";
  clock_.advance_ms(550);
  EXPECT_EQ(admitted("t1", 20), 5);
  clock_.advance_ms(60'000);
  EXPECT_EQ(admitted("t1", 25), 10) << "the budget never exceeds one second";
}

TEST_F(TokenRateTest, each_token_has_its_own_budget) {
  add_token("t1", named("ci", Role::client));
  add_token("t2", named("box", Role::worker));
  EXPECT_EQ(admitted("t1", 12), 10);
  EXPECT_EQ(admitted("t2", 12), 10);
}

TEST_F(TokenRateTest, requests_with_a_wrong_secret_do_not_use_the_budget) {
  add_token("t1", named("ci", Role::client));
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(code_of(limited_.authenticate(with("Bearer hf_t1_guess"), tokens_)),
              "unauthenticated");
  }
  EXPECT_EQ(admitted("t1", 12), 10);
}

TEST_F(TokenRateTest, the_budget_refills_after_the_clock_was_set_back) {
  add_token("t1", named("ci", Role::client));
  EXPECT_EQ(admitted("t1", 12), 10);
  clock_.advance_ms(-3'600'000);
  EXPECT_EQ(admitted("t1", 2), 0);
  clock_.advance_ms(1000);
  EXPECT_EQ(admitted("t1", 12), 10) << "the token does not wait for the clock to catch up";
}

TEST(Caller, the_name_of_a_token_is_always_recorded) {
  Caller caller;
  caller.kind = Caller::Kind::token;
  caller.name = "ci";
  EXPECT_EQ(caller.actor(""), "ci");
  EXPECT_EQ(caller.actor("ci"), "ci");
  EXPECT_EQ(caller.actor("ann"), "ann via ci");
}

TEST(Caller, without_a_token_the_actor_of_the_request_is_recorded) {
  Caller owner;
  owner.kind = Caller::Kind::socket_owner;
  owner.name = "root";
  EXPECT_EQ(owner.actor(""), "root");
  EXPECT_EQ(owner.actor("ann"), "ann");
  EXPECT_EQ(Caller().actor(""), "");
  EXPECT_EQ(Caller().actor("ann"), "ann");
}

}  // namespace
}  // namespace holdfast::authenticator_test
