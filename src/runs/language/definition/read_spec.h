// The parts of a spec, each read from its JSON with all its short forms. A part that cannot be
// read leaves a fault, and what could be read of it.
#pragma once

#include <string_view>

#include "runs/language/definition/spec.h"
#include "runs/language/definition/spec_reader.h"

namespace holdfast {

inline constexpr std::size_t kMaxSteps = 10'000;
inline constexpr std::size_t kMaxTransitions = 10'000;
inline constexpr std::size_t kMaxTriggers = 1000;

// From any text. Lists keep an item for each that is there, so places in them stay true.
void read_workflow(Faults& faults, std::string_view text, WorkflowSpec& spec);

void read_trigger(const SpecPlace& place, std::string_view slice, TriggerSpec& trigger);
void read_step(const SpecPlace& place, std::string_view slice, StepSpec& step);
void read_transition(const SpecPlace& place, std::string_view slice, TransitionSpec& transition);

void read_retry(const SpecPlace& place, std::string_view slice, RetryPolicy& policy);
void read_compensate(const SpecPlace& place, std::string_view slice, CompensateSpec& compensate);
void read_deadline(const SpecPlace& place, std::string_view slice, DeadlineSpec& deadline);
void read_for_each(const SpecPlace& place, std::string_view slice, ForEachSpec& for_each);

void read_log(const SpecPlace& place, std::string_view slice, LogSpec& log);
void read_wait(const SpecPlace& place, std::string_view slice, WaitSpec& wait);
void read_manual(const SpecPlace& place, std::string_view slice, ManualSpec& manual);
void read_await_event(const SpecPlace& place, std::string_view slice, AwaitEventSpec& await_event);
void read_http(const SpecPlace& place, std::string_view slice, HttpSpec& http);
void read_exec(const SpecPlace& place, std::string_view slice, ExecSpec& exec);
void read_child(const SpecPlace& place, std::string_view slice, ChildSpec& child);

// Values of data/, kept in their one form.
void read_mapping(const SpecPlace& place, std::string_view slice, Payload& mapping);
void read_condition(const SpecPlace& place, std::string_view slice, Payload& condition);
// `place` has one code for every fault, or invalid_payload_contract: then each has its own.
void read_contract(const SpecPlace& place, std::string_view slice, Payload& contract);
// A path that leads into the data, not to all of it.
bool check_path(const SpecPlace& place, std::string_view path);

}  // namespace holdfast
