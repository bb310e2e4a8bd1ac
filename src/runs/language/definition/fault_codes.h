// The rules a definition can break, one code each. A code says which rule; what is wrong in words
// and where is in the fault (definition_fault.h).
//
// X(code, line)
#pragma once

#include <cstdint>
#include <string_view>

#include "base/fields.h"

#define HOLDFAST_FAULT_CODES(X)                                                               \
  X(invalid_spec, "the text is not a JSON object, or a field of the workflow cannot be used") \
  X(invalid_workflow, "the name of the workflow")                                             \
  X(invalid_definition_version, "the version is not a string of at most 128 bytes")           \
  X(invalid_collection, "triggers, steps or transitions are not a list, or too many")         \
  X(missing_triggers, "triggers is empty")                                                    \
  X(missing_steps, "there are no steps")                                                      \
  X(duplicate_trigger_name, "two triggers have the same name")                                \
  X(invalid_trigger, "a trigger is not an object")                                            \
  X(invalid_trigger_name, "the name of a trigger")                                            \
  X(invalid_trigger_type, "a trigger is not exactly one of manual and cron")                  \
  X(invalid_trigger_config, "a field of a trigger cannot be used")                            \
  X(invalid_cron_expression, "the expression of a cron trigger")                              \
  X(invalid_cron_timezone, "the time zone of a cron trigger")                                 \
  X(invalid_cron_idempotency, "the idempotency of a cron trigger")                            \
  X(conflicting_payload_field, "two triggers give one field different types")                 \
  X(invalid_payload_contract, "the payload of a trigger is not a contract")                   \
  X(invalid_payload_field, "a field of a contract is neither a type nor an object")           \
  X(invalid_payload_field_name, "the name of a field of a contract")                          \
  X(invalid_payload_field_type, "the type of a field of a contract")                          \
  X(invalid_payload_field_opts, "the options of a field of a contract")                       \
  X(invalid_payload_default, "a default of the wrong type, or one that a cron trigger lacks") \
  X(invalid_step, "a step is not an object")                                                  \
  X(invalid_step_name, "the name of a step, or one that is reserved")                         \
  X(invalid_step_module, "the handler of a step, or more than one kind of step at once")      \
  X(invalid_step_opts, "a field of a step cannot be used, or not with this kind of step")     \
  X(invalid_step_input_mapping, "the input of a step is not a mapping")                       \
  X(invalid_step_output_mapping, "the output of a step is not a name")                        \
  X(invalid_step_recovery_marker, "irreversible or compensatable is neither true nor false")  \
  X(invalid_step_compensate_callback, "how a step is compensated")                            \
  X(invalid_step_retry_opts, "how a step is retried")                                         \
  X(invalid_step_retry_max_attempts, "how often a step is attempted")                         \
  X(invalid_step_dependencies, "after is not a list of names, or has one twice")              \
  X(conflicting_step_recovery_markers, "a step is irreversible and compensatable at once")    \
  X(conflicting_step_compensation, "a step that cannot be compensated has a compensation")    \
  X(duplicate_step_name, "two steps have the same name")                                      \
  X(invalid_wait_duration, "how long a step waits")                                           \
  X(invalid_log_message, "what a step logs")                                                  \
  X(invalid_log_level, "the level of what a step logs")                                       \
  X(missing_approval_transitions, "an approval without a transition for each decision")       \
  X(manual_step_transition_condition, "a condition on what follows a manual step")            \
  X(unknown_step_dependency, "after names a step that does not exist")                        \
  X(self_step_dependency, "a step comes after itself")                                        \
  X(dependency_cycle, "steps that wait for each other")                                       \
  X(dependency_transitions, "after and transitions meet at one step")                         \
  X(unknown_step_reference, "a deadline names a step that does not exist")                    \
  X(invalid_transition, "a transition is not an object, or a field of it cannot be used")     \
  X(invalid_transition_outcome, "on is neither ok nor error")                                 \
  X(invalid_transition_condition, "the condition of a transition")                            \
  X(invalid_transition_recovery, "the recovery of a transition, or not on an error")          \
  X(unknown_transition_source, "a transition from a step that does not exist")                \
  X(unknown_transition_target, "a transition to a step that does not exist")                  \
  X(duplicate_transition, "a transition that can never be taken")                             \
  X(transition_cycle, "a loop without an exit")                                               \
  X(missing_entry_steps, "every step is the target of a transition: which one is the first?") \
  X(invalid_entry_steps, "steps that nothing leads to")                                       \
  X(invalid_entry_step, "entry names a step that cannot be the first")                        \
  X(unknown_entry_step, "entry names a step that does not exist")

namespace holdfast {

enum class FaultCode : std::uint8_t {
#define HOLDFAST_ENUMERATOR(code, line) code,
  HOLDFAST_FAULT_CODES(HOLDFAST_ENUMERATOR)
#undef HOLDFAST_ENUMERATOR
};
template <>
inline constexpr std::string_view kEnumNames<FaultCode>[] = {
#define HOLDFAST_NAME(code, line) #code,
    HOLDFAST_FAULT_CODES(HOLDFAST_NAME)
#undef HOLDFAST_NAME
};

}  // namespace holdfast
