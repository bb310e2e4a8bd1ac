// Each short form of the language means the same as its long form, and the canonical text of a
// definition is a definition: the same one.
#include <gtest/gtest.h>

#include "runs/language/definition/definition.h"
#include "tests/support/must.h"

namespace holdfast::short_forms_test {
namespace {

std::string spec_of(const std::string& step_fields, const std::string& fields = "") {
  const auto parsed =
      must(Definition::parse(R"({"workflow":"w",)" + fields + R"("steps":[{"name":"a")" +
                             (step_fields.empty() ? "" : ",") + step_fields + "}]}"));
  const auto again = must(Definition::parse(parsed->spec().view()));
  EXPECT_EQ(again->spec(), parsed->spec());
  EXPECT_EQ(again->fingerprint(), parsed->fingerprint());
  const auto created = must(Definition::create(parsed->parts()));
  EXPECT_EQ(created->spec(), parsed->spec());
  return std::string(parsed->spec().view());
}

TEST(ShortForms, of_steps_mean_the_same_as_the_long_forms) {
  const std::vector<std::pair<std::string, std::string>> same = {
      {R"("handler":"a","after":[])", ""},
      {R"("lease":"1m30s")", R"("lease_ms":90000)"},
      {R"("timeout":{"heartbeat":"1s"})", R"("lease_ms":1000)"},
      {R"("timeout":"30s")", R"("timeout":{"start_to_close_ms":30000})"},
      {R"("timeout":{"start_to_close":"1s","schedule_to_start":"2s","heartbeat_ms":3})",
       R"("timeout":{"start_to_close_ms":1000,"schedule_to_start_ms":2000},"lease_ms":3)"},
      {R"("deadline":{"within":"1h","due_soon":"5m","escalate_after":"1s"})",
       R"("deadline":{"within_ms":3600000,"due_soon_ms":300000,"escalate_after_ms":1000,)"
       R"("escalation":"diagnostic"})"},
      {R"("compensate":"refund")", R"("compensate":{"handler":"refund","retry":{}})"},
      {R"("log":"hello {name}")", R"("log":{"message":"hello {name}","level":"info"})"},
      {R"("wait":5000)", R"("wait":{"for_ms":5000})"},
      {R"("wait":"5s")", R"("wait":{"for":"5s"})"},
      {R"("wait":"5s")", R"("wait":5000)"},
      {R"("pause":true)", R"("pause":{})"},
      {R"("approval":true)", R"("approval":{"reason":null})"},
      {R"("await_event":"paid")", R"("await_event":{"any_of":[{"event":"paid"}]})"},
      {R"("await_event":{"event":"paid","correlation":{"path":"id"},"timeout":"1h"})",
       R"("await_event":{"any_of":[{"event":"paid","correlation":{"path":"id"}}],)"
       R"("timeout_ms":3600000})"},
      {R"("await_event":{"any_of":["x","y"]})",
       R"("await_event":{"any_of":[{"event":"x"},{"event":"y"}]})"},
      {R"("exec":["prog","arg"])", R"("exec":{"command":["prog","arg"]})"},
      {R"("child":"other")", R"("child":{"workflow":"other","on_parent_close":"cancel"})"},
      {R"("child":{"workflow":"other","detached":true})",
       R"("child":{"workflow":"other","detached":true,"on_parent_close":"detach"})"},
      {R"("for_each":"lines")",
       R"("for_each":{"items":"lines","as":"item","concurrency":0,"on_error":"fail"})"},
      {R"("for_each":[1,2.0])", R"("for_each":{"items":[1.0,2]})"},
      {R"("retry":{"delay":"200ms","max_delay":"1s"})",
       R"("retry":{"delay_ms":200,"max_delay_ms":1000})"},
      {R"("retry":{"delay":"1s","codes":{"y":{},"x":{"max_attempts":2}}})",
       R"("retry":{"delay":"1s","codes":[{"code":"x","max_attempts":2,"delay":"1s"},)"
       R"({"code":"y","delay":"1s"}]})"},
      {R"("input":{"b":"x","a":{"value":1.0}})", R"("input":{"a":{"value":1},"b":"x"})"},
  };
  for (const auto& [left, right] : same) {
    EXPECT_EQ(spec_of(left), spec_of(right)) << left;
  }
}

TEST(ShortForms, of_the_workflow_mean_the_same_as_the_long_forms) {
  EXPECT_EQ(spec_of("", R"("timeout":"1d",)"), spec_of("", R"("timeout_ms":86400000,)"));
  const std::string manual = spec_of("", R"("triggers":[{"name":"t"}],)");
  EXPECT_EQ(spec_of("", R"("triggers":[{"name":"t","manual":true}],)"), manual);
  EXPECT_EQ(spec_of("", R"("triggers":[{"name":"t","manual":{},"type":"manual"}],)"), manual);
  EXPECT_EQ(spec_of("", R"("triggers":[{"name":"t","type":"cron","cron":{"expression":"@daily",)"
                        R"("timezone":"UTC"}}],)"),
            spec_of("", R"("triggers":[{"name":"t","cron":{"expression":"@daily",)"
                        R"("timezone":"UTC","idempotency":"return_existing_run",)"
                        R"("catch_up":"skip"}}],)"));
  EXPECT_EQ(spec_of("", R"("transitions":[{"from":"a","to":"complete"}],)"),
            spec_of("", R"("transitions":[{"to":"complete","on":"ok","from":"a"}],)"));
}

TEST(ShortForms, null_means_absent) {
  EXPECT_EQ(spec_of(R"("queue":null,"retry":null,"wait":null,"after":null,"timeout":null)",
                    R"("version":null,"triggers":null,"transitions":null,"entry":null,)"),
            spec_of(""));
}

TEST(ShortForms, the_canonical_text_keeps_every_field) {
  const std::string step =
      R"("handler":"h","queue":"q","after":["b"],"lease_ms":1,"retry":{"max_attempts":2,)"
      R"("delay_ms":3,"max_delay_ms":4,"backoff":"linear","jitter_percent":5,"codes":[{"code":"x",)"
      R"("max_attempts":1,"backoff":"fixed"}]},"description":"d","input":["x"],"output":"o",)"
      R"("timeout":{"start_to_close_ms":6,"schedule_to_start_ms":7},"deadline":{"within_ms":8,)"
      R"("due_soon_ms":7,"escalate_after_ms":9,"escalation":"operator_action","target":"ops"},)"
      R"("compensatable":true,"compensate":{"handler":"u","queue":"q","lease_ms":1,"retry":{)"
      R"("max_attempts":2,"backoff":"fixed"}},"input_schema":{"x":"string"},)"
      R"("output_schema":{"y":"integer"},"max_visits":3,"for_each":{"items":[1,2],"as":"line",)"
      R"("concurrency":2,"on_error":"collect"})";
  const std::string retry = R"(,"retry":{"max_attempts":1,"backoff":"fixed"})";
  const auto plain = [&](const std::string& name, const std::string& fields) {
    return R"(,{"name":")" + name + R"(",)" + fields + "}";
  };
  const auto called = [&](const std::string& name, const std::string& fields) {
    return R"(,{"name":")" + name + "\"" + retry + "," + fields + "}";
  };
  const std::string text =
      R"({"workflow":"w","version":"1","steps":[{"name":"a",)" + step + R"(},{"name":"b")" + retry +
      "}" + called("irreversible", R"("irreversible":true)") +
      plain("log", R"("log":{"message":"m","level":"error"})") +
      plain("wait", R"("wait":{"for_ms":1})") + plain("until", R"("wait":{"until":"due.at"})") +
      plain("pause", R"("pause":{"reason":"r"})") + plain("approval", R"("approval":{})") +
      plain("await", R"("await_event":{"any_of":[{"event":"e","correlation":"c"},)"
                     R"({"event":"f","correlation":{"path":"id"}}],"timeout_ms":5,)"
                     R"("on_timeout":"fail"})") +
      called("http", R"("http":{"method":"PUT","url":"https://h.example:8443/x/{id}",)"
                     R"("allowed_hosts":["h.example"],"headers":{"A":"1"},)"
                     R"("credential_refs":{"Authorization":"key"},"query":["q"],)"
                     R"("send_input":true,"keep_body":true,"timeout_ms":5})") +
      called("exec", R"("exec":{"command":["x","y"],"directory":"/tmp","environment":{"A":"b"}})") +
      called("child", R"("child":{"workflow":"w","trigger":"t","queue":"q","key":"k",)"
                      R"("detached":true,"on_parent_close":"cancel"})") +
      R"(],"description":"d","triggers":[{"name":"t","payload":{"x":"string"}},{"name":"u",)"
      R"("cron":{"expression":"@daily","timezone":"UTC","idempotency":"none",)"
      R"("catch_up":"latest"}}],)"
      R"("entry":"b","transitions":[{"from":"b","on":"ok","to":"b",)"
      R"("when":{"equals":1,"path":"x"}},)"
      R"({"from":"b","on":"error","to":"fail","recovery":"undo"}],"timeout_ms":1,"max_visits":2,)"
      R"("output":{"x":"y"},"compensate_on_cancel":true})";
  const auto parsed = must(Definition::parse(text));
  EXPECT_EQ(parsed->spec().view(), text);
  EXPECT_EQ(must(Definition::create(parsed->parts()))->spec().view(), text);
}

}  // namespace
}  // namespace holdfast::short_forms_test
