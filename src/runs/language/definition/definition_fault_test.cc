#include "runs/language/definition/definition_fault.h"

#include <gtest/gtest.h>

#include <set>

#include "runs/language/definition/definition.h"
#include "runs/language/definition/fault_codes.h"

namespace holdfast::definition_fault_test {
namespace {

using Code = FaultCode;

// {"workflow":"w", <fields>, "steps":[<steps>]}
std::string workflow(const std::string& steps, const std::string& fields = "") {
  return R"({"workflow":"w",)" + fields + R"("steps":[)" + steps + "]}";
}
std::string step(const std::string& fields) { return workflow(R"({"name":"a",)" + fields + "}"); }
std::string trigger(const std::string& fields) {
  return workflow(R"({"name":"a"})", R"("triggers":[{)" + fields + "}],");
}
std::string payload(const std::string& contract) {
  return trigger(R"("name":"t","payload":)" + contract);
}
// Steps a and b.
std::string transitions(const std::string& list) {
  return workflow(R"({"name":"a"},{"name":"b"})", R"("transitions":[)" + list + "],");
}

struct Case {
  Code code;
  std::string path;
  std::string text;
};

std::vector<Case> workflow_cases() {
  const std::string a = R"({"name":"a"})";
  return {
      {Code::invalid_spec, "", "{"},
      {Code::invalid_spec, "", "[]"},
      {Code::invalid_spec, "timout", workflow(a, R"("timout":"1s",)")},
      {Code::invalid_spec, "workflow", R"({"workflow":"w","workflow":"v","steps":[{"name":"a"}]})"},
      {Code::invalid_spec, "description", workflow(a, R"("description":7,)")},
      {Code::invalid_spec, "timeout", workflow(a, R"("timeout":5,)")},
      {Code::invalid_spec, "timeout", workflow(a, R"("timeout":"5s","timeout_ms":5000,)")},
      {Code::invalid_spec, "timeout_ms", workflow(a, R"("timeout_ms":0,)")},
      {Code::invalid_spec, "max_visits", workflow(a, R"("max_visits":0,)")},
      {Code::invalid_spec, "output", workflow(a, R"("output":7,)")},
      {Code::invalid_spec, "compensate_on_cancel", workflow(a, R"("compensate_on_cancel":1,)")},
      {Code::invalid_workflow, "workflow", R"({"steps":[{"name":"a"}]})"},
      {Code::invalid_workflow, "workflow", R"({"workflow":"a b","steps":[{"name":"a"}]})"},
      {Code::invalid_definition_version, "version", workflow(a, R"("version":1,)")},
      {Code::invalid_definition_version, "version",
       workflow(a, R"("version":")" + std::string(129, 'v') + "\",")},
      {Code::invalid_collection, "triggers", workflow(a, R"("triggers":{},)")},
      {Code::invalid_collection, "steps", R"({"workflow":"w","steps":"a"})"},
      {Code::invalid_collection, "transitions", workflow(a, R"("transitions":{},)")},
      {Code::missing_triggers, "triggers", workflow(a, R"("triggers":[],)")},
      {Code::missing_steps, "steps", R"({"workflow":"w"})"},
      {Code::missing_steps, "steps", R"({"workflow":"w","steps":[]})"},
  };
}

std::vector<Case> trigger_cases() {
  const auto cron = [](const std::string& fields) {
    return trigger(R"("name":"t","cron":{)" + fields + "}");
  };
  const std::string a = R"({"name":"a"})";
  return {
      {Code::invalid_trigger, "triggers[0]", workflow(a, R"("triggers":["manual"],)")},
      {Code::invalid_trigger_name, "triggers[0].name", trigger(R"("manual":true)")},
      {Code::invalid_trigger_name, "triggers[0].name", trigger(R"("name":"_")")},
      {Code::duplicate_trigger_name, "triggers[1].name", trigger(R"("name":"t"},{"name":"t")")},
      {Code::invalid_trigger_type, "triggers[0]",
       trigger(R"("name":"t","manual":{},"cron":{"expression":"@daily","timezone":"UTC"})")},
      {Code::invalid_trigger_type, "triggers[0].type", trigger(R"("name":"t","type":"cron")")},
      {Code::invalid_trigger_type, "triggers[0].type", trigger(R"("name":"t","type":"often")")},
      {Code::invalid_trigger_type, "triggers[0].type",
       trigger(R"("name":"t","type":"manual","cron":{"expression":"@daily","timezone":"UTC"})")},
      {Code::invalid_trigger_config, "triggers[0].when", trigger(R"("name":"t","when":"now")")},
      {Code::invalid_trigger_config, "triggers[0].manual", trigger(R"("name":"t","manual":1)")},
      {Code::invalid_trigger_config, "triggers[0].cron", trigger(R"("name":"t","cron":"@daily")")},
      {Code::invalid_trigger_config, "triggers[0].cron.catch_up",
       cron(R"("expression":"@daily","timezone":"UTC","catch_up":"all")")},
      {Code::invalid_trigger_config, "triggers[0].cron.zone",
       cron(R"("expression":"@daily","timezone":"UTC","zone":"UTC")")},
      {Code::invalid_cron_expression, "triggers[0].cron.expression", cron(R"("timezone":"UTC")")},
      {Code::invalid_cron_expression, "triggers[0].cron.expression",
       cron(R"("expression":"99 * * * *","timezone":"UTC")")},
      {Code::invalid_cron_timezone, "triggers[0].cron.timezone", cron(R"("expression":"@daily")")},
      {Code::invalid_cron_timezone, "triggers[0].cron.timezone",
       cron(R"("expression":"@daily","timezone":"over there")")},
      {Code::invalid_cron_idempotency, "triggers[0].cron.idempotency",
       cron(R"("expression":"@daily","timezone":"UTC","idempotency":"some")")},
      {Code::conflicting_payload_field, "triggers[1].payload.x",
       trigger(R"("name":"t","payload":{"x":"string"}},{"name":"u","payload":{"x":"integer"})")},
      {Code::invalid_payload_contract, "triggers[0].payload", payload("7")},
      {Code::invalid_payload_contract, "triggers[0].payload.x",
       payload(R"({"x":"string","x":"string"})")},
      {Code::invalid_payload_field, "triggers[0].payload.x", payload(R"({"x":7})")},
      {Code::invalid_payload_field_name, "triggers[0].payload.", payload(R"({"":"string"})")},
      {Code::invalid_payload_field_type, "triggers[0].payload.x", payload(R"({"x":"text"})")},
      {Code::invalid_payload_field_opts, "triggers[0].payload.x.size",
       payload(R"({"x":{"type":"string","size":7}})")},
      {Code::invalid_payload_default, "triggers[0].payload.x.default",
       payload(R"({"x":{"type":"string","default":7}})")},
      {Code::invalid_payload_default, "triggers[0].payload.y",
       trigger(R"("name":"t","cron":{"expression":"@daily","timezone":"UTC"},)"
               R"("payload":{"x":{"type":"string","required":false},"y":"string",)"
               R"("z":{"type":"string","default":"z"}})")},
      {Code::invalid_payload_contract, "triggers[0].payload.x",
       trigger(R"("name":"t","cron":{"expression":"@daily","timezone":"UTC"},"payload":)"
               R"({"x":{"type":"any","default":1},"x":{"type":"any","default":1}})")},
  };
}

std::vector<Case> step_cases() {
  return {
      {Code::invalid_step, "steps[0]", workflow("7")},
      {Code::invalid_step_name, "steps[0].name", workflow(R"({"handler":"h"})")},
      {Code::invalid_step_name, "steps[0].name", workflow(R"({"name":"a b"})")},
      {Code::invalid_step_name, "steps[0].name", workflow(R"({"name":"complete"})")},
      {Code::invalid_step_name, "steps[0].name", workflow(R"({"name":"fail"})")},
      {Code::duplicate_step_name, "steps[1].name", workflow(R"({"name":"a"},{"name":"a"})")},
      {Code::invalid_step_module, "steps[0].handler", step(R"("handler":"__http__")")},
      {Code::invalid_step_module, "steps[0]", step(R"("handler":"h","wait":5)")},
      {Code::invalid_step_module, "steps[0]", step(R"("log":"x","pause":true,"retry":{})")},
      {Code::invalid_step_opts, "steps[0].afer", step(R"("afer":"b")")},
      {Code::invalid_step_opts, "steps[0].queue", step(R"("queue":"two words")")},
      {Code::invalid_step_opts, "steps[0].lease_ms", step(R"("lease_ms":-1)")},
      {Code::invalid_step_opts, "steps[0].lease", step(R"("lease":"36526d")")},
      {Code::invalid_step_opts, "steps[0].max_visits", step(R"("max_visits":0)")},
      {Code::invalid_step_opts, "steps[0].input_schema.x", step(R"("input_schema":{"x":"text"})")},
      {Code::invalid_step_opts, "steps[0].output_schema", step(R"("output_schema":[])")},
      {Code::invalid_step_input_mapping, "steps[0].input", step(R"("input":7)")},
      {Code::invalid_step_output_mapping, "steps[0].output", step(R"("output":["x"])")},
      {Code::invalid_step_recovery_marker, "steps[0].irreversible", step(R"("irreversible":1)")},
      {Code::invalid_step_recovery_marker, "steps[0].compensatable",
       step(R"("compensatable":"yes")")},
      {Code::invalid_step_compensate_callback, "steps[0].compensate", step(R"("compensate":1)")},
      {Code::invalid_step_compensate_callback, "steps[0].compensate.handler",
       step(R"("compensate":{})")},
      {Code::conflicting_step_recovery_markers, "steps[0]",
       step(R"("irreversible":true,"compensatable":true)")},
      {Code::conflicting_step_compensation, "steps[0].compensate",
       step(R"("irreversible":true,"compensate":"undo")")},
      {Code::conflicting_step_compensation, "steps[0].compensate",
       step(R"("compensatable":false,"compensate":"undo")")},
      {Code::invalid_step_retry_opts, "steps[0].retry", step(R"("retry":[])")},
      {Code::invalid_step_retry_opts, "steps[0].retry.backoff",
       step(R"("retry":{"backoff":"up"})")},
      {Code::invalid_step_retry_opts, "steps[0].retry.delay", step(R"("retry":{"delay":200})")},
      {Code::invalid_step_retry_opts, "steps[0].retry.jitter_percent",
       step(R"("retry":{"jitter_percent":101})")},
      {Code::invalid_step_retry_opts, "steps[0].retry.codes.x.code",
       step(R"("retry":{"codes":{"x":{"code":"y"}}})")},
      {Code::invalid_step_retry_opts, "steps[0].retry.codes[0].code",
       step(R"("retry":{"codes":[{}]})")},
      {Code::invalid_step_retry_opts, "steps[0].retry.codes",
       step(R"("retry":{"codes":[{"code":"x"},{"code":"x"}]})")},
      {Code::invalid_step_retry_max_attempts, "steps[0].retry.max_attempts",
       step(R"("retry":{"max_attempts":0})")},
      {Code::invalid_step_retry_max_attempts, "steps[0].compensate.retry.max_attempts",
       step(R"("compensate":{"handler":"h","retry":{"max_attempts":"3"}})")},
      {Code::invalid_step_dependencies, "steps[0].after", step(R"("after":7)")},
      {Code::invalid_step_dependencies, "steps[1].after[1]",
       workflow(R"({"name":"a"},{"name":"b","after":["a","a"]})")},
      {Code::unknown_step_dependency, "steps[0].after[0]", step(R"("after":"x")")},
      {Code::self_step_dependency, "steps[0].after[0]", step(R"("after":["a"])")},
      {Code::dependency_cycle, "steps[0].after",
       workflow(R"({"name":"a","after":"b"},{"name":"b","after":"a"})")},
      {Code::unknown_step_reference, "steps[0].deadline.target",
       step(R"("deadline":{"within":"1h","escalation":"workflow_step","target":"x"})")},
  };
}

std::vector<Case> timing_cases() {
  return {
      {Code::invalid_step_opts, "steps[0].timeout", step(R"("timeout":30)")},
      {Code::invalid_step_opts, "steps[0].timeout", step(R"("timeout":"0s")")},
      {Code::invalid_step_opts, "steps[0].timeout.total", step(R"("timeout":{"total":"1s"})")},
      {Code::invalid_step_opts, "steps[0].timeout.heartbeat",
       step(R"("lease":"1s","timeout":{"heartbeat":"1s"})")},
      {Code::invalid_step_opts, "steps[0].deadline.within", step(R"("deadline":{})")},
      {Code::invalid_step_opts, "steps[0].deadline.within_ms",
       step(R"("deadline":{"within_ms":0})")},
      {Code::invalid_step_opts, "steps[0].deadline.due_soon",
       step(R"("deadline":{"within":"1h","due_soon":"60m"})")},
      {Code::invalid_step_opts, "steps[0].deadline.escalation",
       step(R"("deadline":{"within":"1h","escalation":"shout"})")},
  };
}

std::vector<Case> kind_cases() {
  return {
      {Code::invalid_log_message, "steps[0].log", step(R"("log":"")")},
      {Code::invalid_log_message, "steps[0].log.message", step(R"("log":{"level":"info"})")},
      {Code::invalid_log_level, "steps[0].log.level",
       step(R"("log":{"message":"x","level":"loud"})")},
      {Code::invalid_wait_duration, "steps[0].wait", step(R"("wait":0)")},
      {Code::invalid_wait_duration, "steps[0].wait", step(R"("wait":"soon")")},
      {Code::invalid_wait_duration, "steps[0].wait", step(R"("wait":{})")},
      {Code::invalid_wait_duration, "steps[0].wait", step(R"("wait":{"for":"1s","until":"x"})")},
      {Code::invalid_wait_duration, "steps[0].wait.for_ms",
       step(R"("wait":{"for_ms":3155760000001})")},
      {Code::invalid_wait_duration, "steps[0].wait.until",
       step(R"("wait":{"until":"2026-13-01"})")},
      {Code::invalid_step_opts, "steps[0].pause", step(R"("pause":false)")},
      {Code::invalid_step_opts, "steps[0].approval.why", step(R"("approval":{"why":"x"})")},
      {Code::invalid_step_opts, "steps[0].await_event", step(R"("await_event":7)")},
      {Code::invalid_step_opts, "steps[0].await_event.event", step(R"("await_event":{})")},
      {Code::invalid_step_opts, "steps[0].await_event.any_of",
       step(R"("await_event":{"any_of":[]})")},
      {Code::invalid_step_opts, "steps[0].await_event.any_of",
       step(R"("await_event":{"any_of":["x"],"event":"y"})")},
      {Code::invalid_step_opts, "steps[0].await_event.any_of[1]",
       step(R"("await_event":{"any_of":["x",{"event":"x"}]})")},
      {Code::invalid_step_opts, "steps[0].await_event.correlation.path",
       step(R"("await_event":{"event":"x","correlation":{"path":"$"}})")},
      {Code::invalid_step_opts, "steps[0].await_event.on_timeout",
       step(R"("await_event":{"event":"x","on_timeout":"fail"})")},
      {Code::invalid_step_opts, "steps[0].exec", step(R"("exec":"ls -l")")},
      {Code::invalid_step_opts, "steps[0].exec", step(R"("exec":[])")},
      {Code::invalid_step_opts, "steps[0].exec.command", step(R"("exec":{"command":[""]})")},
      {Code::invalid_step_opts, "steps[0].exec.command[1]",
       step(R"("exec":{"command":["x","\u0000"]})")},
      {Code::invalid_step_opts, "steps[0].exec.environment.A=B",
       step(R"("exec":{"command":["x"],"environment":{"A=B":""}})")},
      {Code::invalid_step_opts, "steps[0].child.workflow", step(R"("child":{})")},
      {Code::invalid_step_opts, "steps[0].child.on_parent_close",
       step(R"("child":{"workflow":"w","on_parent_close":"wait"})")},
      {Code::invalid_step_opts, "steps[0].for_each", step(R"("for_each":7)")},
      {Code::invalid_step_opts, "steps[0].for_each.items", step(R"("for_each":{"as":"x"})")},
      {Code::invalid_step_opts, "steps[0].for_each", step(R"("for_each":"$")")},
      {Code::invalid_step_opts, "steps[0].for_each", step(R"("wait":5,"for_each":"x")")},
      {Code::invalid_step_opts, "steps[0].retry", step(R"("wait":5,"retry":{})")},
      {Code::invalid_step_opts, "steps[0].timeout", step(R"("await_event":"x","timeout":"1s")")},
      {Code::invalid_step_opts, "steps[0].compensate", step(R"("pause":true,"compensate":"x")")},
      {Code::invalid_step_opts, "steps[0].input", step(R"("log":"x","input":["x"])")},
      {Code::invalid_step_opts, "steps[0].output", step(R"("pause":true,"output":"x")")},
      {Code::invalid_step_opts, "steps[0].queue", step(R"("child":"w","queue":"x")")},
      {Code::invalid_step_opts, "steps[0].lease", step(R"("approval":true,"lease":"1s")")},
      {Code::invalid_step_opts, "steps[0].output_schema",
       step(R"("approval":true,"output_schema":{})")},
  };
}

std::vector<Case> http_cases() {
  const auto http = [](const std::string& url, const std::string& fields = "") {
    return step(R"("http":{"method":"GET","allowed_hosts":["h.example"],)" + fields + R"("url":")" +
                url + "\"}");
  };
  const std::string fine = "https://h.example/x";
  const Code code = Code::invalid_step_opts;
  return {
      {code, "steps[0].http.method",
       step(R"("http":{"method":"FETCH","allowed_hosts":["h.example"],)"
            R"("url":"https://h.example/"})")},
      {code, "steps[0].http.allowed_hosts",
       step(R"("http":{"method":"GET","url":"https://h.example/"})")},
      {code, "steps[0].http.allowed_hosts", http("https://other.example/")},
      {code, "steps[0].http.url", http("ftp://h.example/")},
      {code, "steps[0].http.url", http("https://me:secret@h.example/")},
      {code, "steps[0].http.url", http("https://h.example/?q=1")},
      {code, "steps[0].http.url", http("https://h.example/#top")},
      {code, "steps[0].http.url", http("https://{host}/")},
      {code, "steps[0].http.url", http("https://h.example:port/")},
      {code, "steps[0].http.url", http("https://h.example/{id")},
      {code, "steps[0].http.url", http("https://h.example/{a!b}x")},
      {code, "steps[0].http.url", http("https://h.example/a b")},
      {code, "steps[0].http.headers.X-Api-Key", http(fine, R"("headers":{"X-Api-Key":"1"},)")},
      {code, "steps[0].http.headers.Authorization",
       http(fine, R"("headers":{"Authorization":"Basic"},)")},
      {code, "steps[0].http.headers.a b", http(fine, R"("headers":{"a b":"1"},)")},
      {code, "steps[0].http.headers.A", http(fine, R"("headers":{"A":"1\r\nB: 2"},)")},
      {code, "steps[0].http.credential_refs.A",
       http(fine, R"("credential_refs":{"A":"the key"},)")},
      {code, "steps[0].http.credential_refs.a",
       http(fine, R"("headers":{"A":"1"},"credential_refs":{"a":"key"},)")},
      {code, "steps[0].http.query", http(fine, R"("query":"id",)")},
      {code, "steps[0].http.timeout", http(fine, R"("timeout":"0s",)")},
      {code, "steps[0].http.redirects", http(fine, R"("redirects":true,)")},
  };
}

std::vector<Case> transition_cases() {
  return {
      {Code::invalid_transition, "transitions[0]", transitions("7")},
      {Code::invalid_transition, "transitions[0].to", transitions(R"({"from":"a"})")},
      {Code::invalid_transition, "transitions[0].if",
       transitions(R"({"from":"a","to":"b","if":{}})")},
      {Code::invalid_transition_outcome, "transitions[0].on",
       transitions(R"({"from":"a","to":"b","on":"done"})")},
      {Code::invalid_transition_condition, "transitions[0].when",
       transitions(R"({"from":"a","to":"b","when":{"path":"x"}})")},
      {Code::invalid_transition_recovery, "transitions[0].recovery",
       transitions(R"({"from":"a","to":"b","on":"error","recovery":"none"})")},
      {Code::invalid_transition_recovery, "transitions[0].recovery",
       transitions(R"({"from":"a","to":"b","recovery":"undo"})")},
      {Code::unknown_transition_source, "transitions[0].from",
       transitions(R"({"from":"x","to":"b"})")},
      {Code::unknown_transition_source, "transitions[1].from",
       transitions(R"({"from":"a","to":"b"},{"from":"complete","to":"b"})")},
      {Code::unknown_transition_target, "transitions[0].to",
       transitions(R"({"from":"a","to":"x"})")},
      {Code::unknown_transition_target, "steps[0].await_event.on_timeout",
       step(R"("await_event":{"event":"x","timeout":"1s","on_timeout":"x"})")},
      {Code::duplicate_transition, "transitions[1]",
       transitions(R"({"from":"a","to":"b"},{"from":"a","to":"complete"})")},
      {Code::duplicate_transition, "transitions[1]",
       transitions(R"({"from":"a","to":"b"},)"
                   R"({"from":"a","to":"complete","when":{"path":"x","equals":1}})")},
      {Code::duplicate_transition, "transitions[1].when",
       transitions(R"({"from":"a","to":"b","when":{"path":"x","equals":1}},)"
                   R"({"from":"a","to":"complete","when":{"equals":1.0,"path":"x"}})")},
  };
}

std::vector<Case> structure_cases() {
  const std::string loop = R"({"from":"a","to":"b"},{"from":"b","to":"a"})";
  const std::string way_out = R"({"from":"b","to":"complete","when":{"path":"x","exists":true}},)";
  const std::string joined = R"("transitions":[{"from":"a","to":"b"}],)";
  return {
      {Code::manual_step_transition_condition, "transitions[0].when",
       workflow(R"({"name":"a","pause":true},{"name":"b"})",
                R"("transitions":[{"from":"a","to":"b","when":{"path":"x","exists":true}}],)")},
      {Code::missing_approval_transitions, "steps[0]",
       workflow(R"({"name":"a","approval":true},{"name":"b"})", joined)},
      {Code::transition_cycle, "transitions[1]",
       workflow(R"({"name":"a"},{"name":"b"})", R"("entry":"a","transitions":[)" + loop +
                                                    R"(,{"from":"b","on":"error","to":"fail"}],)")},
      {Code::missing_entry_steps, "entry", transitions(way_out + loop)},
      {Code::invalid_entry_steps, "steps",
       workflow(R"({"name":"a"},{"name":"b"},{"name":"c"})", joined)},
      {Code::invalid_entry_steps, "steps",
       workflow(R"({"name":"a"},{"name":"b"},{"name":"c"})", R"("entry":"a",)" + joined)},
      {Code::invalid_entry_steps, "steps",
       workflow(R"({"name":"a"},{"name":"b"},{"name":"first"})",
                R"("transitions":[)" + way_out + loop + "],")},
      {Code::unknown_entry_step, "entry",
       workflow(R"({"name":"a"},{"name":"b"})", R"("entry":"x",)" + joined)},
      {Code::invalid_entry_step, "entry", workflow(R"({"name":"a"})", R"("entry":7,)")},
      {Code::invalid_entry_step, "entry",
       workflow(R"({"name":"a"},{"name":"b","after":"a"})", R"("entry":"b",)")},
      {Code::invalid_entry_step, "entry",
       workflow(R"({"name":"a"},{"name":"b"})", R"("entry":"a",)")},
      {Code::dependency_transitions, "transitions[0].to",
       workflow(R"({"name":"a"},{"name":"b","after":"c"},{"name":"c"})", joined)},
      {Code::dependency_transitions, "steps[2].after[0]",
       workflow(R"({"name":"a"},{"name":"b"},{"name":"c","after":"b"})", joined)},
      {Code::dependency_transitions, "steps[0].await_event.on_timeout",
       workflow(R"({"name":"a","await_event":{"event":"e","timeout":"1s","on_timeout":"b"}},)"
                R"({"name":"b","after":"a"})")},
  };
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const auto& cases : {workflow_cases(), trigger_cases(), step_cases(), timing_cases(),
                            kind_cases(), http_cases(), transition_cases(), structure_cases()}) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

std::string described(const std::vector<DefinitionFault>& faults) {
  std::string text;
  for (const DefinitionFault& fault : faults) {
    text += path_text(fault.path) + " " + fault.code + ": " + fault.message + "\n";
  }
  return text;
}

TEST(DefinitionFault, each_mistake_is_one_fault_with_its_code_and_location) {
  for (const Case& one : all_cases()) {
    const auto faults = Definition::check(one.text);
    ASSERT_EQ(faults.size(), 1U) << one.text << "\n" << described(faults);
    EXPECT_EQ(faults[0].code, to_text(one.code)) << one.text << "\n" << described(faults);
    EXPECT_EQ(path_text(faults[0].path), one.path) << one.text << "\n" << described(faults);
    EXPECT_FALSE(Definition::parse(one.text).ok()) << one.text;
  }
}

TEST(DefinitionFault, every_code_has_a_case) {
  std::set<Code> covered;
  for (const Case& one : all_cases()) {
    covered.insert(one.code);
  }
  for (std::size_t i = 0; i < std::size(kEnumNames<Code>); ++i) {
    EXPECT_TRUE(covered.contains(static_cast<Code>(i))) << kEnumNames<Code>[i];
  }
}

std::string message_of(const std::string& text) {
  const auto faults = Definition::check(text);
  return faults.empty() ? "" : faults[0].message;
}

TEST(DefinitionFault, messages_say_where_and_what_to_do) {
  EXPECT_EQ(
      message_of(step(R"("retry":{"delay":200})")),
      "step \"a\": retry.delay is not a duration; write delay: \"200ms\", delay: \"1h30m\" or "
      "delay_ms: 200");
  EXPECT_EQ(message_of(step(R"("await_event":"x","timeout":"1s")")),
            "step \"a\": timeout cannot be used with an await_event step: it has no attempts that "
            "could time out; use await_event.timeout");
  EXPECT_EQ(
      message_of(workflow(R"({"name":"a"},{"name":"b"},{"name":"c","after":"b"})",
                          R"("transitions":[{"from":"a","to":"b"}],)")),
      "step \"c\": after[0] names \"b\", which a transition leads to; name \"a\" instead, which "
      "is done when its whole path is");
  EXPECT_EQ(message_of(step(R"("after":[],"after":[])")), "steps[0]: \"after\" appears twice");
}

TEST(DefinitionFault, conditions_name_the_operator_that_is_unknown) {
  const auto transition = [](const std::string& when) {
    return workflow(R"({"name":"a"},{"name":"b"})",
                    R"("transitions":[{"from":"a","to":"b","when":)" + when + "}],");
  };
  const std::string subject = "the transition from \"a\" to \"b\": ";
  EXPECT_EQ(message_of(transition(R"({"path":"x","eq":1})")),
            subject +
                "when.eq: unknown operator \"eq\"; use equals, not_equals, greater, "
                "greater_or_equal, less, less_or_equal, in, exists, all, any or not");
  EXPECT_EQ(message_of(transition(R"({"all":[{"path":"x","equal":1}]})")),
            subject + "when.all[0].equal: unknown operator \"equal\"; did you mean \"equals\"?");
  EXPECT_EQ(message_of(transition(R"({"path":"x"})")),
            subject +
                "when: the operator is missing; use equals, not_equals, greater, "
                "greater_or_equal, less, less_or_equal, in, exists, all, any or not");
}

TEST(DefinitionFault, messages_never_repeat_control_characters) {
  for (const std::string name : {R"(\u001b[31m)", R"(a\nb)", R"(\u009b)", R"(\u202e)"}) {
    for (const std::string& text :
         {step("\"" + name + "\":1"), step(R"("after":")" + name + "\""),
          step(R"("input":{")" + name + R"(":1})"), step(R"("input":{"x":")" + name + R"(..a"})"),
          step(R"("input_schema":{")" + name + R"(":1})"), step(R"("http":{")" + name + R"(":1})"),
          workflow(R"({"name":"a"},{"name":"b"})",
                   R"("transitions":[{"from":"a","to":"b","when":{")" + name + "\":1}}],")}) {
      const std::string message = message_of(text);
      EXPECT_NE(message, "") << text;
      for (const std::string_view bad : {"\x1b", "\n", "\xC2\x9B", "\xE2\x80\xAE"}) {
        EXPECT_EQ(message.find(bad), std::string::npos) << text;
      }
    }
  }
}

TEST(DefinitionFault, a_misspelt_word_is_recognised) {
  EXPECT_EQ(message_of(step(R"("afetr":[])")),
            "step \"a\": unknown field \"afetr\"; did you mean \"after\"?");
  EXPECT_EQ(message_of(workflow(R"({"name":"charge"},{"name":"ship","after":"chrge"})")),
            "step \"ship\": after[0] names unknown step \"chrge\"; did you mean \"charge\"?");
  EXPECT_EQ(message_of(workflow(R"({"name":"a","log":{"message":"x","level":"warn"}})")),
            "step \"a\": log.level must be one of debug, info, warning, error");
  EXPECT_EQ(
      message_of(workflow(R"({"name":"a","log":{"message":"x","level":"eror"}})")),
      "step \"a\": log.level must be one of debug, info, warning, error; did you mean \"error\"?");
  EXPECT_EQ(message_of(step(R"("something_else":1)")),
            "step \"a\": unknown field \"something_else\"");
}

TEST(DefinitionFault, the_error_has_every_fault_as_text_and_as_json) {
  const auto result = Definition::parse(R"({"workflow":"w","steps":[{"name":"a","x":1,"y":2}]})");
  ASSERT_FALSE(result.ok());
  const Error& error = result.error();
  EXPECT_EQ(error.message(),
            "the definition cannot be used: step \"a\": unknown field \"x\"; step \"a\": "
            "unknown field \"y\"");
  EXPECT_EQ(error.field("errors"), R"([{"path":["steps","0","x"],"code":"invalid_step_opts",)"
                                   R"("message":"step \"a\": unknown field \"x\""},)"
                                   R"({"path":["steps","0","y"],"code":"invalid_step_opts",)"
                                   R"("message":"step \"a\": unknown field \"y\""}])");
}

TEST(DefinitionFault, faults_beyond_the_limit_are_counted) {
  std::string steps;
  for (int i = 0; i < 1500; ++i) {
    steps += (i == 0 ? "" : ",") + std::string("7");
  }
  const auto faults = Definition::check(workflow(steps));
  ASSERT_EQ(faults.size(), 1001U);
  EXPECT_EQ(faults.back().message, "500 more faults are not shown");
}

}  // namespace
}  // namespace holdfast::definition_fault_test
