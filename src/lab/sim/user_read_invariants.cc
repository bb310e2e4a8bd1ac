// The invariants of a world file, and the file as a whole.
#include <algorithm>

#include "base/text.h"
#include "lab/sim/user_reader.h"
#include "runs/language/data/json_text.h"
#include "runs/language/yaml/document.h"

namespace holdfast::sim {

namespace {

constexpr auto kKinds = kEnumNames<InvariantKind>;

bool needs_step(InvariantKind kind) {
  return kind == InvariantKind::needs || kind == InvariantKind::at_most ||
         kind == InvariantKind::at_least || kind == InvariantKind::followed_by;
}

template <typename Names>
std::string joined(const Names& names, std::string_view between) {
  std::string all;
  for (const auto& name : names) {
    all += all.empty() ? "" : between;
    all += name;
  }
  return all;
}

std::string ends_text(const std::set<TerminalStatus>& ends) {
  std::vector<std::string_view> names;
  std::transform(ends.begin(), ends.end(), std::back_inserter(names), to_text<TerminalStatus>);
  return joined(names, " or ");
}

// The name of an invariant that has none in the file.
std::string default_name(const Invariant& invariant, const std::string& written) {
  const std::string others = joined(invariant.others, " or ");
  const std::string times = std::to_string(invariant.times);
  switch (invariant.kind) {
    case Invariant::Kind::needs:
      return invariant.step + " only after " + others;
    case Invariant::Kind::never_both:
      return "never both " + joined(invariant.others, " and ");
    case Invariant::Kind::at_most:
      return invariant.step + " at most " + times + (invariant.times == 1 ? " time" : " times");
    case Invariant::Kind::at_least:
      return invariant.step + " at least " + times + (invariant.times == 1 ? " time" : " times");
    case Invariant::Kind::never:
      return "never " + invariant.step;
    case Invariant::Kind::followed_by:
      return invariant.step + " is followed by " + others;
    case Invariant::Kind::ends:
      return "ends as " + ends_text(invariant.ends);
    case Invariant::Kind::ends_within:
      return "ends within " + written;
    case Invariant::Kind::at_end:
      return "at the end " + written;
    case Invariant::Kind::compensated:
      return "every completed step is compensated";
  }
  return "";
}

}  // namespace

void WorldReader::read_invariants(const FileValue& at, UserWorld& world) {
  if (!at.is(Json::Kind::array)) {
    fault(at, "must be a list of invariants");
  }
  for (const FileValue& item : at.items()) {
    if (auto invariant = read_invariant(item)) {
      world.invariants.push_back(std::move(*invariant));
    }
  }
}

std::optional<Invariant> WorldReader::read_invariant(const FileValue& at) {
  std::vector<std::string_view> members{kKinds.begin(), kKinds.end()};
  members.insert(members.end(), {"step", "name", "as", "if_run", "when", "workflow"});
  if (!object(at, members)) {
    return std::nullopt;
  }
  std::vector<std::string_view> given;
  std::copy_if(kKinds.begin(), kKinds.end(), std::back_inserter(given),
               [&](std::string_view kind) { return at.find(kind).has_value(); });
  if (given.size() != 1) {
    fault(at, "an invariant is exactly one of " + joined(kKinds, ", "));
    return std::nullopt;
  }
  Invariant invariant;
  invariant.kind = *enum_from<InvariantKind>(given.front());
  invariant.workflow = names_.workflows.front();
  if (const auto workflow = at.find("workflow")) {
    const std::string name = text(*workflow).value_or("");
    if (known(*workflow, name, names_.workflows, "workflow")) {
      invariant.workflow = name;
    }
  }
  take_word(at, "as", invariant.as,
            "must be applied (the result was applied to the run) or executed (a handler did it)");
  if (const auto ends = at.find("if_run")) {
    invariant.if_run = read_ends(*ends);
  }
  take(at, "when", invariant.when, &WorldReader::condition);
  const auto step = at.find("step");
  if (step && needs_step(invariant.kind)) {
    read_step(*step, invariant);
  } else if (step || needs_step(invariant.kind)) {
    fault(step.value_or(at),
          std::string(given.front()) + (step ? " cannot be combined with step" : " needs a step"));
  }
  const FileValue kind = *at.find(given.front());
  read_kind(kind, invariant);
  const auto name = at.find("name");
  const std::string written =
      kind.json.string().has_value() ? std::string(*kind.json.string()) : json_text(kind.json);
  invariant.name = name ? text(*name).value_or("") : default_name(invariant, written);
  return invariant;
}

void WorldReader::read_kind(const FileValue& at, Invariant& invariant) {
  switch (invariant.kind) {
    case InvariantKind::needs:
    case InvariantKind::followed_by:
    case InvariantKind::never_both:
      read_steps(at, invariant, invariant.others);
      if (invariant.kind == InvariantKind::never_both && at.json.size() < 2) {
        fault(at, "must be a list of at least two steps");
      }
      return;
    case InvariantKind::at_most:
    case InvariantKind::at_least:
      invariant.times = count(at).value_or(1);
      return;
    case InvariantKind::never:
      read_step(at, invariant);
      return;
    case InvariantKind::ends:
      invariant.ends = read_ends(at);
      return;
    case InvariantKind::ends_within:
      invariant.within_us = duration(at).value_or(0);
      return;
    case InvariantKind::at_end:
      invariant.condition = condition(at);
      return;
    case InvariantKind::compensated:
      check_true(at);
      return;
  }
}

void WorldReader::read_step(const FileValue& at, Invariant& invariant) {
  std::vector<std::string> one;
  read_steps(at, invariant, one);
  invariant.step = one.empty() ? "" : one.front();
}

void WorldReader::read_steps(const FileValue& at, Invariant& invariant,
                             std::vector<std::string>& steps) {
  for (const std::string& name : words(at)) {
    if (known(at, name, names_.steps[invariant.workflow], "step")) {
      steps.push_back(name);
    }
  }
}

std::set<TerminalStatus> WorldReader::read_ends(const FileValue& at) {
  std::set<TerminalStatus> ends;
  for (const std::string& word : words(at)) {
    if (const auto end = enum_from<TerminalStatus>(word)) {
      ends.insert(*end);
    } else {
      fault(at,
            quote(word) + " is not a way to end; use completed, failed, cancelled or continued");
    }
  }
  return ends;
}

// ------------------------------------------------------------------------------------------------

ReadWorld read_world(std::string_view text, const Workflows& workflows) {
  ReadWorld read;
  const auto document = YamlDocument::parse(text);
  if (!document.ok()) {
    const Error& error = document.error();
    read.faults.push_back({{},
                           "the text cannot be read: " + std::string(error.field("reason")),
                           {parse_decimal(error.field("line")).value_or(1),
                            parse_decimal(error.field("column")).value_or(1)}});
    return read;
  }
  // A file that contains only comments.
  const std::string_view json = document.value().json().view();
  const auto value = Json::parse(json == "null" ? "{}" : json);
  WorldReader reader(workflows);
  read.world = reader.read(value.value());
  read.faults = reader.take_faults();
  for (WorldFault& fault : read.faults) {
    fault.location = document.value().location(fault.path);
  }
  std::stable_sort(read.faults.begin(), read.faults.end(), [](const auto& left, const auto& right) {
    return left.location < right.location;
  });
  return read;
}

ReadWorld default_world(const Workflows& workflows) {
  ReadWorld read;
  WorldReader reader(workflows);
  read.world = reader.read(Json::parse("{}").value());
  read.faults = reader.take_faults();
  return read;
}

}  // namespace holdfast::sim
