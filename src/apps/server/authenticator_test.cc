#include "apps/server/authenticator.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/must.h"

namespace holdfast {
namespace {

constexpr TimeMs kNow{1'700'000'000'000};

class Door : public testing::Test {
 protected:
  void add_token(const std::string& id, const CreateToken& command) {
    tokens_.evolve(nullptr, kNow, must(decide_create(tokens_, command, id, id + "-secret", kNow)));
  }
  void revoke(const std::string& id) {
    tokens_.evolve(nullptr, kNow, must(decide_revoke(tokens_, id, "ann")).value());
  }
  Result<Caller> authenticate(const net::Request& request) {
    return keeper_.authenticate(request, tokens_);
  }

  static CreateToken named(std::string name, Role role) {
    CreateToken command;
    command.name = std::move(name);
    command.role = role;
    return command;
  }
  static net::Request from_elsewhere(std::vector<net::Header> headers = {}) {
    net::Request request;
    request.method = "GET";
    request.path = "/v1/runs";
    request.headers = std::move(headers);
    request.peer.address = "10.0.0.7:4000";
    return request;
  }
  static net::Request from_here(std::vector<net::Header> headers = {}) {
    net::Request request = from_elsewhere(std::move(headers));
    request.peer.address = "127.0.0.1:4000";
    request.peer.loopback = true;
    return request;
  }
  static net::Request at_socket(unsigned uid) {
    net::Request request = from_here();
    request.peer.address = "unix";
    request.peer.uid = uid;
    return request;
  }
  static net::Request with(const std::string& authorization) {
    return from_elsewhere({{"Authorization", authorization}});
  }
  static std::string bearer(const std::string& id) {
    return "Bearer " + bearer_text(id, id + "-secret");
  }

  ManualClock clock_{kNow};
  Tokens tokens_;
  Authenticator keeper_{clock_, 0};
};

TEST_F(Door, a_token_tells_who_calls_and_what_that_allows) {
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

TEST_F(Door, a_token_of_a_worker_brings_its_queues) {
  CreateToken command = named("box", Role::worker);
  command.queues = {"gpu"};
  add_token("t1", command);
  const Caller caller = must(authenticate(with(bearer("t1"))));
  EXPECT_EQ(caller.queues, std::vector<SharedText>{"gpu"});
  EXPECT_TRUE(caller.may_see("anything"));
}

TEST_F(Door, what_does_not_fit_is_refused_without_saying_why) {
  CreateToken short_lived = named("brief", Role::admin);
  short_lived.expires_at = TimeMs{kNow.value + 1000};
  add_token("t1", named("ops", Role::admin));
  add_token("t2", named("gone", Role::admin));
  add_token("t3", short_lived);
  revoke("t2");
  EXPECT_TRUE(authenticate(with(bearer("t3"))).ok());
  clock_.advance_ms(1000);
  const std::string said = authenticate(with("Bearer hf_t9_nothing")).error().text();
  for (const std::string& wrong :
       {std::string("Bearer hf_t1_wrong"), std::string("Bearer hf_t1_"), bearer("t2"), bearer("t3"),
        bearer("t9"), std::string("Bearer "), std::string("Basic b3BzOnNlY3JldA=="),
        bearer_text("t1", "t1-secret"), std::string("nonsense")}) {
    const auto refused = authenticate(with(wrong));
    ASSERT_EQ(code_of(refused), "unauthenticated") << wrong;
    EXPECT_EQ(refused.error().text(), said) << wrong;
    EXPECT_EQ(refused.error().text().find("secret"), std::string::npos);
  }
  EXPECT_TRUE(authenticate(with(bearer("t1"))).ok());
}

TEST_F(Door, a_wrong_token_is_not_forgiven_because_of_where_it_comes_from) {
  net::Request here = from_here({{"Authorization", "Bearer hf_t9_x"}});
  EXPECT_EQ(code_of(authenticate(here)), "unauthenticated");
  here.peer.uid = geteuid();
  EXPECT_EQ(code_of(authenticate(here)), "unauthenticated");
}

TEST_F(Door, the_user_of_the_server_is_admin_at_the_socket_with_or_without_tokens) {
  for (int round = 0; round < 2; ++round) {
    const Caller caller = must(authenticate(at_socket(geteuid())));
    EXPECT_EQ(caller.kind, Caller::Kind::socket_owner);
    EXPECT_EQ(caller.role, Role::admin);
    EXPECT_FALSE(caller.name.empty());
    EXPECT_TRUE(authenticate(at_socket(0)).ok()) << "root may do everything anyway";
    add_token("t" + std::to_string(round), named("ops" + std::to_string(round), Role::admin));
  }
}

TEST_F(Door, other_users_at_the_socket_need_a_token) {
  const unsigned other = geteuid() + 4711;
  EXPECT_EQ(code_of(authenticate(at_socket(other))), "unauthenticated");
  add_token("t1", named("ops", Role::viewer));
  net::Request request = at_socket(other);
  request.headers.push_back({"Authorization", bearer("t1")});
  EXPECT_EQ(must(authenticate(request)).role, Role::viewer);
}

TEST_F(Door, without_tokens_this_machine_is_let_in_and_no_other) {
  const Caller caller = must(authenticate(from_here()));
  EXPECT_EQ(caller.kind, Caller::Kind::same_machine);
  EXPECT_EQ(caller.role, Role::admin);
  EXPECT_EQ(caller.name, "");
  EXPECT_EQ(code_of(authenticate(from_elsewhere())), "unauthenticated");
}

TEST_F(Door, from_the_first_token_on_everybody_needs_one_also_when_it_is_revoked) {
  add_token("t1", named("ops", Role::admin));
  EXPECT_EQ(code_of(authenticate(from_here())), "unauthenticated");
  revoke("t1");
  EXPECT_EQ(code_of(authenticate(from_here())), "unauthenticated");
}

TEST_F(Door, without_tokens_the_host_must_be_this_machine) {
  for (const char* host : {"localhost", "localhost:8080", "127.0.0.1", "127.0.0.1:8080", "[::1]",
                           "[::1]:8080", "holdfast.localhost:1"}) {
    EXPECT_TRUE(authenticate(from_here({{"Host", host}})).ok()) << host;
  }
  for (const char* host : {"evil.example", "evil.example:8080", "localhost.evil.example",
                           "127.0.0.1.evil.example", "[::1", "10.0.0.1", "notlocalhost"}) {
    EXPECT_EQ(code_of(authenticate(from_here({{"Host", host}}))), "permission_denied") << host;
  }
}

TEST_F(Door, without_tokens_pages_of_other_sites_are_refused) {
  for (const char* origin :
       {"http://localhost:3000", "http://127.0.0.1", "https://[::1]:8443", "http://a.localhost"}) {
    EXPECT_TRUE(authenticate(from_here({{"Host", "localhost"}, {"Origin", origin}})).ok())
        << origin;
  }
  for (const char* origin :
       {"http://evil.example", "null", "http://localhost.evil.example", "localhost", "http://"}) {
    EXPECT_EQ(code_of(authenticate(from_here({{"Host", "localhost"}, {"Origin", origin}}))),
              "permission_denied")
        << origin;
  }
}

TEST_F(Door, a_token_is_good_under_any_name_of_the_server) {
  add_token("t1", named("ops", Role::admin));
  EXPECT_TRUE(authenticate(from_elsewhere({{"Authorization", bearer("t1")},
                                           {"Host", "holdfast.example"},
                                           {"Origin", "https://dashboard.example"}}))
                  .ok());
}

class Rate : public Door {
 protected:
  // How many of so many requests are let in.
  int let_in(const std::string& id, int requests) {
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

TEST_F(Rate, of_a_token_is_limited_to_a_seconds_worth_and_fills_with_time) {
  add_token("t1", named("ci", Role::client));
  EXPECT_EQ(let_in("t1", 25), 10);
  clock_.advance_ms(99);
  EXPECT_EQ(let_in("t1", 5), 0);
  clock_.advance_ms(1);
  EXPECT_EQ(let_in("t1", 5), 1) << "ten a second are one in 100 ms";
  clock_.advance_ms(550);
  EXPECT_EQ(let_in("t1", 20), 5);
  clock_.advance_ms(60'000);
  EXPECT_EQ(let_in("t1", 25), 10) << "it does not fill beyond a second";
}

TEST_F(Rate, of_one_token_does_not_count_for_another) {
  add_token("t1", named("ci", Role::client));
  add_token("t2", named("box", Role::worker));
  EXPECT_EQ(let_in("t1", 12), 10);
  EXPECT_EQ(let_in("t2", 12), 10);
}

TEST_F(Rate, is_not_used_up_by_whoever_does_not_know_the_secret) {
  add_token("t1", named("ci", Role::client));
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(code_of(limited_.authenticate(with("Bearer hf_t1_guess"), tokens_)),
              "unauthenticated");
  }
  EXPECT_EQ(let_in("t1", 12), 10);
}

TEST_F(Rate, survives_a_clock_that_goes_back) {
  add_token("t1", named("ci", Role::client));
  EXPECT_EQ(let_in("t1", 12), 10);
  clock_.advance_ms(-3'600'000);
  EXPECT_EQ(let_in("t1", 2), 0);
  clock_.advance_ms(1000);
  EXPECT_EQ(let_in("t1", 12), 10) << "it is not locked out until the clock is where it was";
}

TEST(Caller, of_a_token_is_named_whatever_the_request_says) {
  Caller caller;
  caller.kind = Caller::Kind::token;
  caller.name = "ci";
  EXPECT_EQ(caller.actor(""), "ci");
  EXPECT_EQ(caller.actor("ci"), "ci");
  EXPECT_EQ(caller.actor("ann"), "ann via ci");
}

TEST(Caller, who_cannot_be_told_apart_is_who_the_request_says) {
  Caller owner;
  owner.kind = Caller::Kind::socket_owner;
  owner.name = "root";
  EXPECT_EQ(owner.actor(""), "root");
  EXPECT_EQ(owner.actor("ann"), "ann");
  EXPECT_EQ(Caller().actor(""), "");
  EXPECT_EQ(Caller().actor("ann"), "ann");
}

}  // namespace
}  // namespace holdfast
