#include <algorithm>

#include "runs/language/definition/read_spec.h"

namespace holdfast {

namespace {

void read_rule(SpecObject& object, RetryRule& rule) {
  if (const auto slice = object.take("max_attempts")) {
    read_count(object.at("max_attempts").with(FaultCode::invalid_step_retry_max_attempts), *slice,
               {.least = 1}, rule.max_attempts);
  }
  optional_duration(object, "delay", Zero::allowed, rule.delay_ms);
  optional_duration(object, "max_delay", Zero::allowed, rule.max_delay_ms);
  optional_choice(object, "backoff", rule.backoff);
  optional_count(object, "jitter_percent", {.most = 100}, rule.jitter_percent);
}

constexpr TextLimits kCodeLimits{.most = 128};

// {"timeout":{"max_attempts":5}}: what a rule leaves out is the policy's.
void read_code_map(const SpecLocation& location, std::string_view slice, RetryPolicy& policy) {
  for (const auto& [code, value] : read_members(location, slice)) {
    const SpecLocation at = location.at(code);
    if (code.empty() || code.size() > kCodeLimits.most) {
      at.fault("is not a valid code: use 1 to 128 bytes");
    }
    SpecObject object(at, value);
    CodeRetry& read = policy.codes.emplace_back(CodeRetry{code, policy.rule});
    read_rule(object, read.rule);
    object.finish();
  }
}

// [{"code":"timeout","max_attempts":5}]: the canonical form, where each rule is complete.
void read_code_list(const SpecLocation& location, std::string_view slice, RetryPolicy& policy) {
  const auto items = read_items(location, slice);
  for (std::size_t i = 0; i < items.size(); ++i) {
    SpecObject object(location.at(i), items[i]);
    CodeRetry& read = policy.codes.emplace_back();
    if (const auto code = object.need("code", location.code())) {
      read_text(object.at("code"), *code, read.code, kCodeLimits);
    }
    read_rule(object, read.rule);
    object.finish();
  }
  std::sort(policy.codes.begin(), policy.codes.end(),
            [](const CodeRetry& left, const CodeRetry& right) { return left.code < right.code; });
  const auto twice = std::adjacent_find(
      policy.codes.begin(), policy.codes.end(),
      [](const CodeRetry& left, const CodeRetry& right) { return left.code == right.code; });
  if (twice != policy.codes.end()) {
    location.fault("has the code " + quote(twice->code.view()) + " twice");
  }
}

}  // namespace

void read_retry(const SpecLocation& location, std::string_view slice, RetryPolicy& policy) {
  SpecObject object(location.with(FaultCode::invalid_step_retry_opts), slice);
  read_rule(object, policy.rule);
  if (const auto codes = object.take("codes")) {
    if (codes->starts_with('[')) {
      read_code_list(object.at("codes"), *codes, policy);
    } else {
      read_code_map(object.at("codes"), *codes, policy);
    }
  }
  object.finish();
}

void read_compensate(const SpecLocation& location, std::string_view slice,
                     CompensateSpec& compensate) {
  const SpecLocation at = location.with(FaultCode::invalid_step_compensate_callback);
  if (slice.starts_with('"')) {
    read_name(at, slice, "handler", compensate.handler);
    return;
  }
  SpecObject object(at, slice);
  if (const auto handler = object.need("handler", at.code())) {
    read_name(object.at("handler"), *handler, "handler", compensate.handler);
  }
  optional_name(object, "queue", compensate.queue);
  read_claim_options(object, compensate.claim);
  if (const auto retry = object.take("retry")) {
    read_retry(object.at("retry"), *retry, compensate.retry);
  }
  object.finish();
}

}  // namespace holdfast
