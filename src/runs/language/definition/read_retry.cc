#include <algorithm>

#include "runs/language/definition/read_spec.h"

namespace holdfast {

namespace {

// {"timeout":{"max_attempts":5}}: what a rule leaves out is the policy's.
void read_code_map(const SpecLocation& location, std::string_view slice, RetryPolicy& policy) {
  for (const auto& [code, value] : read_members(location, slice)) {
    const SpecLocation at = location.at(code);
    if (code.empty() || code.size() > kCodeLimits.most) {
      at.fault("is not a valid code: use 1 to 128 bytes");
    }
    const SpecObject object(at, value, kRetryRuleObject);
    CodeRetry& read = policy.codes.emplace_back(CodeRetry{code, policy.rule});
    object.read_all(read.rule);
    object.finish();
  }
}

// [{"code":"timeout","max_attempts":5}]: the canonical form, where each rule is complete.
void read_code_list(const SpecLocation& location, std::string_view slice, RetryPolicy& policy) {
  const auto items = read_items(location, slice);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const SpecObject object(location.at(i), items[i], kCodeRuleObject);
    CodeRetry& read = policy.codes.emplace_back();
    object.read_all(read);
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
  const SpecObject object(location.with(FaultCode::invalid_step_retry_opts), slice, kRetryObject);
  object.read_all(policy);
  object.read("then", policy.then);
  if (const auto codes = object.find("codes")) {
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
  const SpecObject object(at, slice, kCompensateObject);
  object.read_all(compensate);
  object.read_part("retry", read_retry, compensate.retry);
  object.finish();
}

}  // namespace holdfast
