#include "net/http_load.h"

#include <gtest/gtest.h>

#include "tests/support/scripted_server.h"

namespace holdfast::net::http_load_test {
namespace {

void answer_all(ScriptedPeer& peer) {
  while (const auto seen = peer.read()) {
    peer.answer(seen->method + " " + seen->target + " " + seen->body);
  }
}

TEST(HttpLoad, callers_have_one_connection_each_and_reuse_it) {
  constexpr std::size_t kCallers = 3;
  constexpr std::size_t kCalls = 20;
  const ScriptedServer server(answer_all);
  const auto load = HttpLoad::create(server.url()).value();
  std::size_t finished = 0;
  std::vector<std::size_t> left(kCallers, kCalls);
  const std::function<void(std::size_t)> next = [&](std::size_t caller) {
    if (left[caller]-- == 0) {
      ++finished;
      return;
    }
    load->post(caller, "/a?b", std::to_string(caller), [&, caller](const HttpOutcome& response) {
      EXPECT_EQ(response.status, 200);
      EXPECT_EQ(response.body, "POST /a?b " + std::to_string(caller));
      next(caller);
    });
  };
  for (std::size_t caller = 0; caller < kCallers; ++caller) {
    EXPECT_EQ(load->add_caller(), caller);
    next(caller);
  }
  ASSERT_TRUE(load->run_until([&] { return finished == kCallers; }).ok());
  EXPECT_EQ(server.connections(), kCallers);
  bool read = false;
  load->get(0, "/c", [&](const HttpOutcome& response) {
    EXPECT_EQ(response.body, "GET /c ");
    read = true;
  });
  EXPECT_TRUE(load->run_until([&] { return read; }).ok());
}

TEST(HttpLoad, a_call_without_a_response_ends_the_run) {
  const ScriptedServer server([](ScriptedPeer& peer) { peer.read(); });
  const auto load = HttpLoad::create(server.url()).value();
  load->get(load->add_caller(), "/", [](const HttpOutcome&) { ADD_FAILURE(); });
  EXPECT_EQ(load->run_until([] { return false; }).error().code(), ErrorCode::unavailable);
}

}  // namespace
}  // namespace holdfast::net::http_load_test
