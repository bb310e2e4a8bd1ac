// The idempotency key as external systems see it: in handlers, in the environment of programs, in
// request headers.
#include <gmock/gmock.h>

#include <fstream>

#include "tests/support/feature_fixture.h"
#include "tests/support/scripted_server.h"
#include "tests/support/temp_dir.h"

namespace holdfast::step_key_test {
namespace {

using ::testing::Each;
using ::testing::SizeIs;

class StepKey : public FeatureTest {
 protected:
  std::vector<std::string> lines() const {
    std::vector<std::string> found;
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) {
      found.push_back(line);
    }
    return found;
  }
  // The keys of the received requests of a step that is tried three times.
  std::vector<std::string> sent(const std::string& headers) {
    // The request is executed and its response is lost.
    net::RecordingServer server("", net::RecordingServer::Manner::hang_up);
    define("{workflow: pay, steps: [{name: charge, retry: {max_attempts: 3, delay: 1ms}, http: " +
           ("{method: POST, url: '" + server.url("/charges") + "', allowed_hosts: ['" +
            server.authority() + "']" + headers + "}}]}"));
    const RunView view = run("pay");
    run_id_ = view.run_id;
    EXPECT_EQ(json_text(view.error, "code"), "http_interrupted");
    std::vector<std::string> keys;
    for (net::SeenRequest& request : server.seen()) {
      keys.push_back(request.headers["idempotency-key"]);
    }
    return keys;
  }

  TempDir dir_;
  std::string path_ = dir_.file("keys");
  std::string run_id_;
};

TEST_F(StepKey, of_a_handler_is_the_same_after_retries_and_deferrals) {
  define("{workflow: pay, steps: [{name: charge, retry: {max_attempts: 3, delay: 1ms}}]}");
  std::vector<std::string> keys;
  std::vector<std::string> names;
  handle("charge", [&](StepContext& context, std::string_view) {
    keys.push_back(context.info().idempotency_key);
    names.push_back(context.info().runnable_key);
    switch (keys.size()) {
      case 1:
        return StepResult::retry("no_answer", "it may have been charged");
      case 2:
        return StepResult::defer("not yet", milliseconds(1));
      default:
        return StepResult::ok();
    }
  });
  EXPECT_EQ(run("pay").status, "completed");
  ASSERT_THAT(keys, SizeIs(3));
  EXPECT_THAT(keys, Each(keys.front()));
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 3U);
}

TEST_F(StepKey, of_a_program_is_the_same_after_a_retry) {
  define("{workflow: pay, steps: [{name: charge, retry: {max_attempts: 2, delay: 1ms}, exec: " +
         ("[sh, -c, 'echo \"$HOLDFAST_IDEMPOTENCY_KEY\" >> " + path_ +
          "; test \"$HOLDFAST_ATTEMPT\" = 2']}]}"));
  const RunView view = run("pay");
  EXPECT_EQ(view.status, "completed");
  EXPECT_EQ(step(view, "charge").attempts, 2U);
  ASSERT_THAT(lines(), SizeIs(2));
  EXPECT_THAT(lines(), Each(view.run_id + ":charge:1"));
}

TEST_F(StepKey, of_a_request_is_the_same_after_retries) {
  const std::vector<std::string> keys = sent("");
  ASSERT_THAT(keys, SizeIs(3));
  EXPECT_THAT(keys, Each(run_id_ + ":charge:1"));
}

TEST_F(StepKey, that_the_workflow_sets_itself_is_sent_unchanged) {
  EXPECT_THAT(sent(", headers: {Idempotency-Key: mine}"), Each("mine"));
  EXPECT_THAT(sent(", headers: {idempotency-key: also mine}"), Each("also mine"));
}

}  // namespace
}  // namespace holdfast::step_key_test
