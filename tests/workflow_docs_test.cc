// Checks docs/workflow-language.md: every definition can be registered, every `json try` ends as
// documented, every wrong definition has the faults shown, every C++ snippet compiles and works,
// and the list of codes is complete.
//
// A try: {"input":{...},"handlers":{"charge":[{"fail":"declined"},{"ok":{...}}]},
// "then":[{"approve":"manager","actor":"ann"}],"status":"completed",...}. It runs the definition
// above it on its own engine, on which every definition of the section is registered. A handler
// returns the results of its list, or always the same; a handler that is not listed returns {}. The
// outcome is compared with the documented one; "*" matches anything.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>

#include "base/json_slice.h"
#include "base/json_value.h"
#include "holdfast/holdfast.h"
#include "runs/language/data/canonical_json.h"
#include "runs/language/definition/fault_codes.h"
#include "runs/language/yaml/check_workflow.h"

namespace holdfast::workflow_docs_test {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kDeadline = 20s;

struct Snippet {
  int line;
  Result<void> (*call)(Engine& engine, const std::string& run_id);
};
#include "workflow_docs_snippets.inc"

// The text between two fences.
struct Block {
  std::string kind;
  std::string text;
  int line = 0;     // the first line of the text
  int section = 0;  // headings so far
};

std::vector<Block> read_blocks() {
  std::ifstream file(HOLDFAST_WORKFLOW_DOCUMENT);
  std::vector<Block> blocks;
  std::string line;
  bool inside = false;
  int section = 0;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) {
        blocks.push_back({line.substr(3), "", number + 1, section});
      }
    } else if (inside) {
      blocks.back().text += line + "\n";
    } else if (line.starts_with("#")) {
      ++section;
    }
  }
  return blocks;
}

const std::vector<Block>& document() {
  static const std::vector<Block> blocks = read_blocks();
  return blocks;
}

std::vector<Block> blocks_of(std::string_view kind) {
  std::vector<Block> found;
  std::copy_if(document().begin(), document().end(), std::back_inserter(found),
               [&](const Block& block) { return block.kind == kind; });
  return found;
}

std::string location_of(const Block& block) {
  return fmt::format("{}:{}", HOLDFAST_WORKFLOW_DOCUMENT, block.line);
}

// The definitions of the block's section; the one directly above it is last.
std::vector<std::shared_ptr<const Definition>> definitions_for(const Block& block) {
  std::vector<std::shared_ptr<const Definition>> found;
  std::vector<std::shared_ptr<const Definition>> behind;
  for (const Block& other : blocks_of("yaml")) {
    if (other.section == block.section) {
      (other.line < block.line ? found : behind).push_back(check_workflow(other.text).definition);
    }
  }
  found.insert(found.begin(), behind.begin(), behind.end());
  return found;
}

// JSON as compact text, and its parts.

std::string compact(std::string_view json) {
  auto text = JsonText::parse(json);
  return text.ok() ? std::string(text.value().view()) : std::string();
}

std::vector<std::string> items_of(std::string_view list) {
  std::vector<std::string> items;
  JsonSlicer slicer(list);
  while (const auto item = slicer.next()) {
    items.emplace_back(item->value);
  }
  return items;
}

std::map<std::string, std::string> members_of(std::string_view object) {
  std::map<std::string, std::string> members;
  JsonSlicer slicer(object);
  while (const auto member = slicer.next()) {
    members.insert_or_assign(std::string(member->name), std::string(member->value));
  }
  return members;
}

std::string list_of(const std::vector<std::string>& items) {
  return fmt::format("[{}]", fmt::join(items, ","));
}

std::string quoted_list(const std::vector<std::string>& texts) {
  std::vector<std::string> items;
  std::transform(texts.begin(), texts.end(), std::back_inserter(items), json_quote);
  return list_of(items);
}

bool fits(const std::string& documented, const std::string& is) {
  if (documented == "\"*\"") {
    return true;
  }
  if (documented.starts_with('{') && is.starts_with('{')) {
    const auto left = members_of(documented);
    const auto right = members_of(is);
    return left.size() == right.size() &&
           std::all_of(left.begin(), left.end(), [&](const auto& member) {
             const auto found = right.find(member.first);
             return found != right.end() && fits(member.second, found->second);
           });
  }
  if (documented.starts_with('[') && is.starts_with('[')) {
    const auto left = items_of(documented);
    const auto right = items_of(is);
    return std::equal(left.begin(), left.end(), right.begin(), right.end(), fits);
  }
  return !is.empty() && canonical_json(documented) == canonical_json(is);
}

// Handlers that return the documented results and record their inputs.
class Actors {
 public:
  explicit Actors(const std::string& handlers) {
    for (const auto& [name, documented] : members_of(handlers)) {
      answers_[name] = documented.starts_with('[') ? items_of(documented) : std::vector{documented};
      always_[name] = !documented.starts_with('[');
    }
  }

  void join(Engine& engine, const Definition& definition) {
    for (const Step& step : definition.steps()) {
      if (step.kind == StepKind::handler) {
        names_.insert(step.handler.str());
      }
      if (step.spec.compensate.has_value()) {
        names_.insert(step.spec.compensate->handler.str());
      }
    }
    for (const std::string& name : names_) {
      const auto handler = [this, name](StepContext& context, std::string_view input) {
        return answer(name, context, input);
      };
      ASSERT_TRUE(engine.register_handler(name, handler).ok());
    }
  }
  // The handlers that a try lists but no step calls.
  [[nodiscard]] std::vector<std::string> unused_handlers() const {
    std::vector<std::string> unused_handlers;
    for (const auto& [name, answers] : answers_) {
      if (!names_.contains(name)) {
        unused_handlers.push_back(name);
      }
    }
    return unused_handlers;
  }

  void forget() {
    const std::scoped_lock lock(mutex_);
    called_.clear();
    got_.clear();
  }
  [[nodiscard]] std::string called() {
    const std::scoped_lock lock(mutex_);
    return quoted_list(called_);
  }
  [[nodiscard]] std::string got(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    return list_of(got_[name]);
  }

 private:
  StepResult answer(const std::string& name, StepContext& context, std::string_view input) {
    const std::string documented = next_answer(name, context.info(), input);
    if (const auto time = json_integer(documented, "busy_ms")) {
      stay_busy(context.stop(), std::chrono::milliseconds(*time));
    }
    const std::chrono::milliseconds delay(json_integer(documented, "in_ms").value_or(0));
    const auto word = [&](std::string_view key) { return json_text(documented, key); };
    if (const auto code = word("fail")) {
      return StepResult::fail(*code, "as in the example");
    }
    if (const auto code = word("retry")) {
      return StepResult::retry(*code, "as in the example");
    }
    if (const auto code = word("retry_after")) {
      return StepResult::retry_after(*code, "as in the example", delay);
    }
    if (const auto reason = word("defer")) {
      return StepResult::defer(*reason, delay);
    }
    if (const auto text = word("throw")) {
      throw std::runtime_error(*text);
    }
    if (const auto next = json_value(documented, "continue_as_new")) {
      return StepResult::continue_as_new(*next);
    }
    return StepResult::ok(json_value(documented, "ok").value_or("{}"), {.schedule_in = delay});
  }

  std::string next_answer(const std::string& name, const StepInfo& info, std::string_view input) {
    const std::scoped_lock lock(mutex_);
    called_.push_back(info.step + (info.visit > 1 ? fmt::format("@{}", info.visit) : "") +
                      (info.item >= 0 ? fmt::format("[{}]", info.item) : ""));
    got_[name].emplace_back(input);
    const auto found = answers_.find(name);
    if (found == answers_.end()) {
      return "{}";
    }
    if (found->second.empty()) {
      return R"({"fail":"the_example_has_no_more_answers"})";
    }
    const std::string documented = found->second.front();
    if (!always_[name]) {
      found->second.erase(found->second.begin());
    }
    return documented;
  }

  // Until a stop is requested; otherwise for the given time.
  static void stay_busy(const std::stop_token& stop, std::chrono::milliseconds time) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    stopped.wait_for(lock, stop, time, [] { return false; });
  }

  std::mutex mutex_;  // guards what follows
  std::map<std::string, std::vector<std::string>> answers_;
  std::map<std::string, bool> always_;
  std::set<std::string> names_;
  std::vector<std::string> called_;
  std::map<std::string, std::vector<std::string>> got_;
};

// One try, from its start to its outcome.
class Try {
 public:
  explicit Try(const Block& block)
      : documented_(members_of(compact(block.text))), actors_(documented("handlers")) {
    auto opened = Engine::open("memory:", {.log = [this](const LogMessage& line) {
                                 const std::scoped_lock lock(log_mutex_);
                                 log_.push_back(line.message);
                               }});
    engine_ = std::make_unique<Engine>(std::move(opened).value());
    for (const Block& other : blocks_of("yaml")) {
      if (other.section == block.section) {
        const auto registered = engine_->register_workflow_yaml(other.text, location_of(other));
        EXPECT_TRUE(registered.ok()) << registered.error().text();
      }
    }
    for (const auto& definition : definitions_for(block)) {
      workflow_ = definition->workflow().str();
      actors_.join(*engine_, *definition);
    }
    EXPECT_EQ(quoted_list(actors_.unused_handlers()), "[]") << "no step calls these handlers";
  }

  void go() {
    check_keys();
    const auto started = engine_->start(text("workflow", workflow_), documented("input"),
                                        {.trigger = text("trigger", "")});
    if (documented_.contains("refused")) {
      ASSERT_FALSE(started.ok());
      compare("refused", json_quote(error_info(started.error().code()).name));
      compare("says", json_quote(started.error().message()));
      return;
    }
    ASSERT_TRUE(started.ok()) << started.error().text();
    run_ = started.value().run_id;
    for (const std::string& action : items_of(documented("then"))) {
      act(action);
    }
    const std::string status = text("status", "completed");
    reach([&](const RunView& view) { return view.status == status; });
    compare_all();
  }

 private:
  [[nodiscard]] std::string documented(const std::string& key) const {
    const auto found = documented_.find(key);
    return found != documented_.end() ? found->second : key == "then" ? "[]" : "{}";
  }
  [[nodiscard]] std::string text(const std::string& key, const std::string& otherwise) const {
    const auto found = documented_.find(key);
    return found == documented_.end() ? otherwise
                                      : json_string_value(found->second).value_or("no text");
  }

  void check_keys() const {
    static const std::set<std::string> kKeys = {
        "workflow", "trigger", "input", "handlers", "then", "status",  "context", "result",
        "error",    "steps",   "got",   "called",   "log",  "refused", "says",    "errors"};
    EXPECT_FALSE(documented_.empty()) << "not a JSON object";
    for (const auto& [key, value] : documented_) {
      EXPECT_TRUE(kKeys.contains(key)) << key;
    }
  }

  // Works until the run has reached the state, or has ended.
  RunView reach(const std::function<bool(const RunView&)>& enough) {
    const auto deadline = Clock::now() + kDeadline;
    for (;;) {
      const auto drained = engine_->drain({.idle_for = 10ms});
      EXPECT_TRUE(drained.ok()) << drained.error().text();
      RunView view = engine_->wait(run_, 5ms).value();
      if (view.terminal || enough(view) || Clock::now() > deadline) {
        return view;
      }
    }
  }

  void reach_step(const std::string& step, std::string_view status) {
    reach([&](const RunView& view) {
      return std::any_of(view.steps.begin(), view.steps.end(), [&](const StepView& other) {
        return other.name == step && other.status == status;
      });
    });
  }

  // Executes a command such as {"approve":"manager","actor":"ann"} when the run is ready for it.
  void act(const std::string& action) {
    const auto word = [&](std::string_view key) { return json_text(action, key).value_or(""); };
    const auto has = [&](std::string_view key) { return json_value(action, key).has_value(); };
    Result<void> done = Error{ErrorCode::invalid_argument, "unknown action " + action};
    if (has("approve") || has("reject") || has("resume")) {
      const std::string step = word("approve") + word("reject") + word("resume");
      reach_step(step, "paused");
      const DecisionOptions options{
          .step = step, .actor = word("actor"), .comment = word("comment")};
      done = has("approve")  ? engine_->approve(run_, options)
             : has("reject") ? engine_->reject(run_, options)
                             : engine_->resume(run_, options);
    } else if (has("retry") || has("discard")) {
      const std::string step = word("retry") + word("discard");
      reach_step(step, "parked");
      done = has("retry")
                 ? engine_->retry(run_,
                                  {.step = step, .input = json_value(action, "input").value_or("")})
                 : engine_->discard(run_, {.step = step});
    } else if (has("signal")) {
      done = engine_->signal(run_, word("signal"), json_value(action, "payload").value_or("{}"),
                             {.correlation = word("correlation")});
    } else if (has("cancel")) {
      reach([](const RunView& view) { return view.status == "paused"; });
      done = engine_->cancel(run_, {.mode = word("cancel") == "compensate" ? CancelMode::compensate
                                            : word("cancel") == "stop"     ? CancelMode::stop
                                                                       : CancelMode::as_defined});
    } else if (has("replay")) {
      reach([](const RunView&) { return false; });
      actors_.forget();
      const auto again = engine_->replay(
          run_, {.from_step = word("replay"), .input = json_value(action, "input").value_or("")});
      done = again.ok() ? Result<void>() : again.error();
      run_ = again.ok() ? again.value().run_id : run_;
    }
    EXPECT_TRUE(done.ok()) << action << ": " << done.error().text();
  }

  void compare(const std::string& key, const std::string& is) {
    if (documented_.contains(key)) {
      EXPECT_TRUE(fits(documented_[key], is)) << key << " is " << is;
    }
  }

  void compare_all() {
    const RunView view = engine_->inspect(run_).value();
    EXPECT_TRUE(documented_.contains("status")) << "the try has no status";
    compare("status", json_quote(view.status));
    compare("context", view.context);
    compare("result", view.result);
    compare("error", json_value(view.error, "code").value_or("null"));
    compare("called", actors_.called());
    for (const auto& [handler, inputs] : members_of(documented("got"))) {
      const std::string got = actors_.got(handler);
      EXPECT_TRUE(fits(inputs, got)) << handler << " got " << got;
    }
    for (const auto& [step, status] : members_of(documented("steps"))) {
      const auto found =
          std::find_if(view.steps.begin(), view.steps.end(),
                       [&step = step](const StepView& known) { return known.name == step; });
      const std::string is = found == view.steps.end() ? "missing" : found->status;
      EXPECT_EQ(status, json_quote(is)) << step;
    }
    for (const auto& [step, code] : members_of(documented("errors"))) {
      const auto found =
          std::find_if(view.steps.begin(), view.steps.end(),
                       [&step = step](const StepView& known) { return known.name == step; });
      const std::string error = found == view.steps.end() ? "" : found->error;
      EXPECT_EQ(code, json_value(error, "code").value_or("none")) << step;
    }
    const std::scoped_lock lock(log_mutex_);
    compare("log", quoted_list(log_));
  }

  std::map<std::string, std::string> documented_;
  Actors actors_;
  std::mutex log_mutex_;  // guards log_
  std::vector<std::string> log_;
  std::string workflow_;
  std::string run_;
  std::unique_ptr<Engine> engine_;
};

TEST(WorkflowDocs, every_block_is_of_a_tested_kind) {
  const std::set<std::string> known = {"yaml", "yaml wrong", "json try", "text faults", "cpp"};
  for (const Block& block : document()) {
    EXPECT_TRUE(known.contains(block.kind)) << location_of(block) << ": " << block.kind;
  }
  for (const std::string& kind : known) {
    EXPECT_FALSE(blocks_of(kind).empty()) << kind;
  }
}

TEST(WorkflowDocs, every_definition_can_be_registered) {
  for (const Block& block : blocks_of("yaml")) {
    Engine engine = std::move(Engine::open("memory:")).value();
    const auto registered = engine.register_workflow_yaml(block.text, location_of(block));
    EXPECT_TRUE(registered.ok()) << location_of(block) << ": " << registered.error().text();
  }
}

TEST(WorkflowDocs, every_try_ends_as_documented) {
  for (const Block& block : blocks_of("json try")) {
    SCOPED_TRACE(location_of(block));
    Try(block).go();
  }
}

TEST(WorkflowDocs, every_wrong_definition_has_the_faults_shown) {
  const auto wrong = blocks_of("yaml wrong");
  const auto shown = blocks_of("text faults");
  ASSERT_EQ(wrong.size(), shown.size());
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    std::string faults;
    for (const auto& [fault, place] : check_workflow(wrong[i].text).faults) {
      faults += fmt::format("orders.yaml:{}:{}: {}: {} [{}]\n", place.line, place.column,
                            path_text(fault.path), fault.message, fault.code);
    }
    EXPECT_EQ(shown[i].text, faults) << location_of(shown[i]);
  }
}

// The run uses the last definition of the section, and waits or has ended.
TEST(WorkflowDocs, every_snippet_works) {
  const auto blocks = blocks_of("cpp");
  ASSERT_EQ(blocks.size(), kSnippets.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    ASSERT_EQ(blocks[i].line, kSnippets[i].line);
    Engine engine = std::move(Engine::open("memory:")).value();
    Actors actors("{}");
    std::string run_id;
    for (const auto& definition : definitions_for(blocks[i])) {
      ASSERT_TRUE(engine.register_workflow_json(definition->spec().view()).ok());
      actors.join(engine, *definition);
      run_id = engine.start(definition->workflow().view()).value().run_id;
    }
    ASSERT_TRUE(engine.drain().ok());
    const auto done = kSnippets[i].call(engine, run_id);
    EXPECT_TRUE(done.ok()) << location_of(blocks[i]) << ": " << done.error().text();
  }
}

TEST(WorkflowDocs, every_fault_code_is_listed_with_its_line) {
  std::ifstream file(HOLDFAST_WORKFLOW_DOCUMENT);
  std::set<std::string> rows;
  for (std::string line; std::getline(file, line);) {
    rows.insert(line);
  }
#define HOLDFAST_EXPECT_ROW(code, line) \
  EXPECT_TRUE(rows.contains("| `" #code "` | " line " |")) << "| `" #code "` | " line " |";
  HOLDFAST_FAULT_CODES(HOLDFAST_EXPECT_ROW)
#undef HOLDFAST_EXPECT_ROW
}

}  // namespace
}  // namespace holdfast::workflow_docs_test
