#include "runs/view/circuit_cause.h"

#include <fmt/format.h>

#include "runs/facts/activation.h"
#include "runs/view/view_words.h"

namespace holdfast {

Cause circuit_cause(const Attempt& attempt, const SharedText& queue, const OpenCircuit& open) {
  const Circuit& circuit = open.circuit;
  const TimeMs opened_at = circuit.opened_at.value_or(TimeMs{});
  Cause cause;
  cause.reason = Reason::circuit_open;
  cause.waits_for = "circuit_breaker";
  cause.since = opened_at;
  cause.until = attempt.times_out_at();
  std::string next = "a probe is due now";
  if (open.until.has_value()) {
    NextAction wait;
    wait.action = "wait_for_circuit_probe";
    wait.at = open.until;
    if (open.probe_run.empty()) {
      next = "one attempt probes it at " + format_time(*open.until);
      wait.summary = "a worker may claim one attempt at " + format_time(*open.until);
    } else {
      const std::string run = to_string(open.probe_run);
      next = "run " + run + " probes it now";
      wait.summary = "the probe reports, or its lease ends at " + format_time(*open.until);
      wait.command = "holdfast explain " + run;
    }
    cause.next_actions.push_back(std::move(wait));
  }
  cause.summary = fmt::format(
      "waits at step {}: its circuit breaker (workflow {}, queue {}) is open since {} after {}{}; "
      "{}",
      attempt.step.view(), attempt.workflow.view(), queue.view(), format_time(opened_at),
      counted(circuit.failures, "consecutive failure"),
      circuit.error.empty() ? "" : fmt::format(": {}", error_text(circuit.error)), next);
  cause.next_actions.push_back(
      {"fix_failing_step",
       fmt::format("fix what makes step {} fail: its first success closes the circuit breaker",
                   parse_activation(attempt.step.view()).step)});
  NextAction close;
  close.action = "close_circuit_breaker";
  close.summary = "or close the circuit breaker now, if the step works again";
  close.command = fmt::format("holdfast circuit close {} {} --queue {}", attempt.workflow.view(),
                              parse_activation(attempt.step.view()).step, queue.view());
  cause.next_actions.push_back(std::move(close));
  return cause;
}

}  // namespace holdfast
