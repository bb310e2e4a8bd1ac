// The workflow of the ledger's runs: a first step; then concurrently a step, a step whose first
// attempts sometimes fail, an event and a wait; then two more steps.
#pragma once

namespace holdfast {

inline constexpr const char* kLedgerSteps[] = {"a", "b", "d", "e", "f"};
inline constexpr const char* kLedgerWorkflow =
    R"({"workflow":"ledger","version":"1","steps":[)"
    R"({"name":"a","lease_ms":500},)"
    R"({"name":"b","lease_ms":500,"after":["a"]},)"
    R"({"name":"d","lease_ms":500,"after":["a"],"retry":{"max_attempts":3,"delay_ms":5}},)"
    R"({"name":"g","await_event":{"event":"go"},"after":["a"]},)"
    R"({"name":"w","wait":{"for_ms":30},"after":["a"]},)"
    R"({"name":"e","lease_ms":500,"after":["b","d","g","w"]},)"
    R"({"name":"f","lease_ms":500,"after":["e"]}]})";

}  // namespace holdfast
