// The parts of a spec, each read from its JSON with all its short forms. A part that cannot be
// read leaves a fault, and what could be read of it.
#pragma once

#include <string_view>

#include "runs/language/definition/spec.h"
#include "runs/language/definition/spec_reader.h"

namespace holdfast {

// From any text. Lists keep an item for each that is there, so locations in them stay true.
void read_workflow(Faults& faults, std::string_view text, WorkflowSpec& spec);

void read_trigger(const SpecLocation& location, std::string_view slice, TriggerSpec& trigger);
void read_step(const SpecLocation& location, std::string_view slice, StepSpec& step);
void read_transition(const SpecLocation& location, std::string_view slice,
                     TransitionSpec& transition);

// From the fields of a step.
void read_policy(const SpecObject& step, StepPolicy& policy);
void read_retry(const SpecLocation& location, std::string_view slice, RetryPolicy& policy);
void read_compensate(const SpecLocation& location, std::string_view slice,
                     CompensateSpec& compensate);
void read_deadline(const SpecLocation& location, std::string_view slice, DeadlineSpec& deadline);
void read_for_each(const SpecLocation& location, std::string_view slice, ForEachSpec& for_each);

void read_log(const SpecLocation& location, std::string_view slice, LogSpec& log);
void read_wait(const SpecLocation& location, std::string_view slice, WaitSpec& wait);
void read_manual(const SpecLocation& location, std::string_view slice, ManualSpec& manual);
void read_await_event(const SpecLocation& location, std::string_view slice,
                      AwaitEventSpec& await_event);
void read_http(const SpecLocation& location, std::string_view slice, HttpSpec& http);
void read_exec(const SpecLocation& location, std::string_view slice, ExecSpec& exec);
void read_child(const SpecLocation& location, std::string_view slice, ChildSpec& child);

// Values of data/, kept in their one form.
void read_mapping(const SpecLocation& location, std::string_view slice, Payload& mapping);
void read_condition(const SpecLocation& location, std::string_view slice, Payload& condition);
// `location` has one code for every fault, or invalid_payload_contract: then each has its own.
void read_contract(const SpecLocation& location, std::string_view slice, Payload& contract);
// A path that leads into the data, not to all of it.
bool check_path(const SpecLocation& location, std::string_view path);

}  // namespace holdfast
