#include "workflow/definition.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"

namespace holdfast {

namespace {

constexpr std::size_t kMaxShownBytes = 128;
constexpr std::size_t kMaxShownSteps = 8;

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

std::string_view shown(std::string_view text) { return text.substr(0, kMaxShownBytes); }

// Everything that is wrong with a spec.
class Faults {
 public:
  void add(const std::string& fault) {
    text_ += text_.empty() ? "" : "; ";
    text_ += fault;
    ++count_;
  }
  [[nodiscard]] bool none() const { return count_ == 0; }
  [[nodiscard]] Error error() const {
    return Error{ErrorCode::invalid_definition, "the definition cannot be used: " + text_}.with(
        "errors", text_);
  }

 private:
  std::string text_;
  std::size_t count_ = 0;
};

// Reads an object of a spec. Unlike FieldReader it refuses members that nobody asks for, because
// a misspelt "after" must not be ignored, and says exactly where a fault is.
class SpecReader {
 public:
  SpecReader(std::string_view text, std::string path, Faults& faults)
      : path_(std::move(path)), faults_(faults) {
    JsonSlicer slicer(text.starts_with('{') ? text : std::string_view());
    while (const auto member = slicer.next()) {
      add_member(*member);
    }
    if (!slicer.valid()) {
      unreadable(path_.empty() ? "the spec" : path_, "is not an object");
    }
  }

  template <typename T>
  void required(std::string_view name, T& value) {
    if (!read_member(name, value)) {
      unreadable(at(name), "is missing");
    }
  }
  template <typename T>
  void optional(std::string_view name, T& value) {
    read_member(name, value);
  }

  // True when everything could be read; members that are unknown do not count.
  [[nodiscard]] bool finish() {
    for (const Member& member : members_) {
      if (!member.known) {
        faults_.add(fmt::format("{}: there is no such field", at(shown(member.name))));
      }
    }
    return readable_;
  }

 private:
  struct Member {
    std::string name;
    std::string_view value;
    bool known = false;
  };

  void add_member(const JsonMember& member) {
    const auto name = json_string_value(fmt::format("\"{}\"", member.name));
    Member read{name.value_or(std::string(member.name)), member.value};
    const bool twice = std::any_of(members_.begin(), members_.end(),
                                   [&](const Member& other) { return other.name == read.name; });
    if (twice) {
      faults_.add(fmt::format("{}: is there twice", at(shown(read.name))));
      return;
    }
    // Objects of a spec have a handful of fields. More are not worth naming.
    if (members_.size() < kMaxMembers) {
      members_.push_back(std::move(read));
    }
  }
  [[nodiscard]] std::string at(std::string_view name) const {
    return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
  }
  void unreadable(std::string_view where, std::string_view what) {
    faults_.add(fmt::format("{}: {}", where, what));
    readable_ = false;
  }

  // False when the member is not there, or null.
  template <typename T>
  bool read_member(std::string_view name, T& value) {
    for (Member& member : members_) {
      if (member.name == name) {
        member.known = true;
        if (member.value == "null") {
          return false;
        }
        read(member.value, at(name), value);
        return true;
      }
    }
    return false;
  }
  template <HasFields T>
  void read(std::string_view slice, const std::string& path, T& value) {
    SpecReader inner(slice, path, faults_);
    T::visit(value, inner);
    readable_ = inner.finish() && readable_;
  }
  template <typename T>
  void read(std::string_view slice, const std::string& path, std::vector<T>& list) {
    JsonSlicer slicer(slice.starts_with('[') ? slice : std::string_view());
    while (const auto item = slicer.next()) {
      const std::string item_path = fmt::format("{}[{}]", path, list.size());
      read(item->value, item_path, list.emplace_back());
    }
    if (!slicer.valid()) {
      unreadable(path, "is not a list");
    }
  }
  void read(std::string_view slice, const std::string& path, Backoff& value) {
    const auto known = enum_from<Backoff>(json_string_value(slice).value_or(""));
    if (!known.has_value()) {
      unreadable(path, "is none of fixed, linear, exponential");
    }
    value = known.value_or(value);
  }
  void read(std::string_view slice, const std::string& path, SharedText& value) {
    if (!read_value(slice, value)) {
      unreadable(path, "is not a text");
    }
  }
  template <std::unsigned_integral T>
  void read(std::string_view slice, const std::string& path, T& value) {
    if (!read_value(slice, value)) {
      unreadable(path, "is not a whole number that fits");
    }
  }

  static constexpr std::size_t kMaxMembers = 64;

  std::vector<Member> members_;
  std::string path_;
  Faults& faults_;
  bool readable_ = true;
};

using StepNames = std::unordered_map<SharedText, StepIndex, SharedTextHash, SharedTextEqual>;

void check(Faults& faults, const Result<void>& result) {
  if (!result.ok()) {
    faults.add(result.error().message());
  }
}

void check_duration(Faults& faults, const StepSpec& step, std::string_view field,
                    std::uint64_t value) {
  if (value > kMaxDurationMs) {
    faults.add(fmt::format("step {}: {} is over a hundred years", shown(step.name.view()), field));
  }
}

void check_step(Faults& faults, const StepSpec& step) {
  check(faults, check_name("step", step.name.view()));
  if (!step.handler.empty()) {
    check(faults, check_name("handler", step.handler.view()));
  }
  if (!step.queue.empty()) {
    check(faults, check_name("queue", step.queue.view()));
  }
  if (step.retry.max_attempts == 0) {
    faults.add(fmt::format("step {}: retry.max_attempts is 0", shown(step.name.view())));
  }
  check_duration(faults, step, "lease_ms", step.lease_ms);
  check_duration(faults, step, "retry.delay_ms", step.retry.delay_ms);
  check_duration(faults, step, "retry.max_delay_ms", step.retry.max_delay_ms);
}

// Fills steps[index].after with the dependencies that are known.
void add_edges(Faults& faults, const StepSpec& spec, const StepNames& names, StepIndex index,
               std::vector<Step>& steps) {
  std::vector<StepIndex>& after = steps[index].after;
  for (const SharedText& name : spec.after) {
    const auto found = names.find(name);
    if (found == names.end()) {
      faults.add(fmt::format("step {} comes after {}, which does not exist",
                             shown(spec.name.view()), shown(name.view())));
    } else if (found->second == index) {
      faults.add(fmt::format("step {} comes after itself", shown(spec.name.view())));
    } else {
      after.push_back(found->second);
    }
  }
  std::vector<StepIndex> once = after;
  std::sort(once.begin(), once.end());
  for (auto at = once.begin(); (at = std::adjacent_find(at, once.end())) != once.end();) {
    faults.add(fmt::format("step {} comes after {} twice", shown(spec.name.view()),
                           shown(steps[*at].name.view())));
    at = std::upper_bound(at, once.end(), *at);
  }
  once.erase(std::unique(once.begin(), once.end()), once.end());
  for (const StepIndex dependency : once) {
    steps[dependency].dependents.push_back(index);
  }
}

// The steps that can never start: they are in a cycle or behind one.
std::vector<bool> stuck_steps(const std::vector<Step>& steps) {
  std::vector<std::size_t> unmet(steps.size(), 0);
  for (const Step& step : steps) {
    for (const StepIndex dependent : step.dependents) {
      ++unmet[dependent];
    }
  }
  std::vector<StepIndex> ready;
  for (StepIndex i = 0; i < steps.size(); ++i) {
    if (unmet[i] == 0) {
      ready.push_back(i);
    }
  }
  std::vector<bool> stuck(steps.size(), true);
  while (!ready.empty()) {
    const StepIndex step = ready.back();
    ready.pop_back();
    stuck[step] = false;
    for (const StepIndex dependent : steps[step].dependents) {
      if (--unmet[dependent] == 0) {
        ready.push_back(dependent);
      }
    }
  }
  return stuck;
}

std::string describe_cycle(const std::vector<Step>& steps, const std::vector<StepIndex>& walk,
                           StepIndex first) {
  std::string text(shown(steps[first].name.view()));
  std::size_t count = 1;
  for (auto at = walk.rbegin(); *at != first; ++at, ++count) {
    if (count < kMaxShownSteps) {
      text += fmt::format(" -> {}", shown(steps[*at].name.view()));
    }
  }
  if (count > kMaxShownSteps) {
    text += fmt::format(" -> ({} more)", count - kMaxShownSteps);
  }
  return fmt::format("a cycle: {} -> {}", text, shown(steps[first].name.view()));
}

// A step that is stuck has a dependency that is stuck. Walking from one to the next ends in a
// cycle, or where an earlier walk has been.
void find_cycles(Faults& faults, const std::vector<Step>& steps) {
  const std::vector<bool> stuck = stuck_steps(steps);
  enum class Seen : std::uint8_t { never, in_this_walk, before };
  std::vector<Seen> seen(steps.size(), Seen::never);
  for (StepIndex start = 0; start < steps.size(); ++start) {
    std::vector<StepIndex> walk;
    StepIndex at = start;
    while (stuck[at] && seen[at] == Seen::never) {
      seen[at] = Seen::in_this_walk;
      walk.push_back(at);
      at = *std::find_if(steps[at].after.begin(), steps[at].after.end(),
                         [&](StepIndex dependency) { return stuck[dependency]; });
    }
    if (!walk.empty() && seen[at] == Seen::in_this_walk) {
      faults.add(describe_cycle(steps, walk, at));
    }
    for (const StepIndex step : walk) {
      seen[step] = Seen::before;
    }
  }
}

// What is left out means the same as its default, so there is one form of each spec.
WorkflowSpec canonical(WorkflowSpec spec) {
  for (StepSpec& step : spec.steps) {
    if (step.handler == step.name) {
      step.handler = {};
    }
  }
  return spec;
}

std::uint64_t times(std::uint64_t left, std::uint64_t right) {
  return left != 0 && right > kMaxDurationMs / left ? kMaxDurationMs : left * right;
}

}  // namespace

std::uint64_t retry_delay_ms(const RetryPolicy& policy, std::uint32_t attempt_number) {
  const std::uint64_t before = attempt_number == 0 ? 0 : attempt_number - 1;
  std::uint64_t factor = 1;
  switch (policy.backoff) {
    case Backoff::fixed:
      break;
    case Backoff::linear:
      factor = before + 1;
      break;
    case Backoff::exponential:
      factor = std::uint64_t{1} << std::min<std::uint64_t>(before, 62);
      break;
  }
  const std::uint64_t limit = policy.max_delay_ms == 0 ? kMaxDurationMs : policy.max_delay_ms;
  return std::min({times(policy.delay_ms, factor), limit, kMaxDurationMs});
}

// Builds a definition and collects what is wrong with it on the way.
class DefinitionBuilder {
 public:
  explicit DefinitionBuilder(Faults faults) : faults_(std::move(faults)) {}

  Result<std::shared_ptr<const Definition>> build(const WorkflowSpec& given) {
    const WorkflowSpec spec = canonical(given);
    check_head(spec);
    add_steps(spec);
    for (StepIndex i = 0; i < spec.steps.size(); ++i) {
      add_edges(faults_, spec.steps[i], definition_->by_name_, i, definition_->steps_);
    }
    find_cycles(faults_, definition_->steps_);
    if (!faults_.none()) {
      return faults_.error();
    }
    finish(spec);
    return std::shared_ptr<const Definition>(std::move(definition_));
  }

 private:
  void check_head(const WorkflowSpec& spec) {
    check(faults_, check_name("workflow", spec.workflow.view()));
    if (spec.version.view().size() > kMaxShownBytes || !is_utf8(spec.version.view())) {
      faults_.add("the version is not a text of at most 128 bytes");
    }
    if (spec.steps.empty()) {
      faults_.add("there are no steps");
    }
  }
  void add_steps(const WorkflowSpec& spec) {
    definition_->steps_.reserve(spec.steps.size());
    for (StepIndex i = 0; i < spec.steps.size(); ++i) {
      const StepSpec& step = spec.steps[i];
      check_step(faults_, step);
      if (!definition_->by_name_.emplace(step.name, i).second) {
        faults_.add(fmt::format("two steps have the name {}", shown(step.name.view())));
      }
      definition_->steps_.push_back({step.name,
                                     step.handler.empty() ? step.name : step.handler,
                                     step.queue,
                                     step.lease_ms,
                                     step.retry,
                                     {},
                                     {}});
    }
  }
  void finish(const WorkflowSpec& spec) {
    definition_->workflow_ = spec.workflow;
    definition_->version_ = spec.version;
    definition_->spec_ = Payload(to_json(spec).value());
    definition_->fingerprint_ = to_hex(sha256(definition_->spec_.view()));
    for (StepIndex i = 0; i < definition_->steps_.size(); ++i) {
      if (definition_->steps_[i].after.empty()) {
        definition_->roots_.push_back(i);
      }
    }
  }

  Faults faults_;
  std::shared_ptr<Definition> definition_{new Definition()};
};

Result<std::shared_ptr<const Definition>> Definition::create(const WorkflowSpec& spec) {
  return DefinitionBuilder(Faults{}).build(spec);
}

Result<std::shared_ptr<const Definition>> Definition::parse(std::string_view spec) {
  Faults faults;
  const auto text = JsonText::parse(spec);
  if (!text.ok()) {
    faults.add("the spec is not valid JSON: " + text.error().message());
    return faults.error();
  }
  WorkflowSpec read;
  SpecReader reader(text.value().view(), "", faults);
  WorkflowSpec::visit(read, reader);
  if (!reader.finish()) {
    return faults.error();
  }
  return DefinitionBuilder(std::move(faults)).build(read);
}

std::optional<StepIndex> Definition::find(std::string_view step) const {
  const auto found = by_name_.find(step);
  return found == by_name_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace holdfast
