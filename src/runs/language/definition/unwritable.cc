#include "runs/language/definition/unwritable.h"

#include "base/text.h"

namespace holdfast {

namespace {

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    if (length == 0) {
      return false;
    }
    text.remove_prefix(length);
  }
  return true;
}

// Walks over all fields of a spec.
class FieldWalk {
 public:
  explicit FieldWalk(SpecLocation location) : location_(std::move(location)) {}

  // NOLINTBEGIN(misc-no-recursion): as deep as the structs are.
  template <typename T>
  void required(std::string_view name, const T& value) {
    if constexpr (std::same_as<T, SharedText>) {
      if (!is_utf8(value.view())) {
        location_.at(name).fault("is not valid UTF-8");
      }
    } else if constexpr (std::same_as<T, Payload>) {
      if (!value.empty() && !is_compact_json(value.view())) {
        location_.at(name).fault("is not valid, compact JSON");
      }
    } else if constexpr (std::same_as<T, std::uint32_t>) {
      if (name == "max_attempts" && value == 0) {
        location_.at(name).fault(FaultCode::invalid_step_retry_max_attempts, "must be at least 1");
      }
    } else if constexpr (HasFields<T>) {
      FieldWalk inner(named(location_.at(name), value));
      T::visit(value, inner);
    } else if constexpr (requires { value.has_value(); }) {
      if (value.has_value()) {
        required(name, *value);
      }
    } else if constexpr (requires { typename T::mapped_type; }) {
      FieldWalk inner(location_.at(name));
      for (const auto& [key, item] : value) {
        inner.required(key, SharedText(key));
        inner.required(key, item);
      }
    } else if constexpr (IsList<T>) {
      FieldWalk inner(location_.at(name));
      for (std::size_t i = 0; i < value.size(); ++i) {
        inner.required(std::to_string(i), value[i]);
      }
    }
  }
  template <typename T>
  void optional(std::string_view name, const T& value) {
    required(name, value);
  }
  // NOLINTEND(misc-no-recursion)

 private:
  template <typename T>
  static SpecLocation named(SpecLocation location, const T& value) {
    if constexpr (std::same_as<T, StepSpec>) {
      return location.called("step " + quote(value.name.view()));
    }
    return location;
  }

  SpecLocation location_;
};

}  // namespace

void check_unwritable(const SpecLocation& whole, const WorkflowSpec& spec) {
  FieldWalk walk(whole);
  WorkflowSpec::visit(spec, walk);
}

}  // namespace holdfast
