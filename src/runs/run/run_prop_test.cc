// Laws of the fold of a run under random histories, plausible and hostile: few steps, few keys
// and few contents, so that everything meets everything.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "runs/run/run_rules.h"
#include "tests/support/must.h"
#include "tests/support/run_fact_samples.h"

namespace holdfast::run_prop_test {
namespace {

enum class Act : std::uint8_t {
  signal,
  start,
  plan,
  plan_timer,
  plan_node,
  apply,
  defer,
  start_child,
  pause,
  resolve,
  end,
  add_node,
  remove_node,
  request_continuation,
  continue_from,
  open_wait,
  receive,
  select_timeout,
  resolve_received,
  resolve_timed_out,
  update_attributes,
  migrate,
  archive,
  unarchive,
  withdraw,
  buffer,
  compensate,
  adopt,
  plan_items,
  garbage,
};

// What is odd about a fact; most have nothing odd.
enum class Twist : std::uint8_t { other_run, no_value, other_data, none };

struct Draw {
  Act act;
  int key;
  int variant;
  Twist twist;
};

std::ostream& operator<<(std::ostream& out, const Draw& draw) {
  return out << "{act " << static_cast<int>(draw.act) << ", key " << draw.key << ", variant "
             << draw.variant << ", twist " << static_cast<int>(draw.twist) << "}";
}

rc::Gen<Act> acts() {
  return rc::gen::weightedElement<Act>({
      {2, Act::signal},
      {1, Act::start},
      {12, Act::plan},
      {2, Act::plan_timer},
      {3, Act::plan_node},
      {12, Act::apply},
      {3, Act::defer},
      {2, Act::start_child},
      {4, Act::pause},
      {5, Act::resolve},
      {1, Act::end},
      {4, Act::add_node},
      {2, Act::remove_node},
      {1, Act::request_continuation},
      {1, Act::continue_from},
      {5, Act::open_wait},
      {4, Act::receive},
      {3, Act::select_timeout},
      {4, Act::resolve_received},
      {4, Act::resolve_timed_out},
      {3, Act::update_attributes},
      {2, Act::migrate},
      {2, Act::archive},
      {1, Act::unarchive},
      {3, Act::withdraw},
      {3, Act::buffer},
      {1, Act::compensate},
      {1, Act::adopt},
      {4, Act::plan_items},
      {1, Act::garbage},
  });
}

rc::Gen<Draw> draws() {
  const auto below = [](int limit) {
    return rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, limit));
  };
  return rc::gen::map(rc::gen::tuple(acts(), below(4), below(4), below(24)),
                      [](const std::tuple<Act, int, int, int>& parts) {
                        const auto [act, key, variant, twist] = parts;
                        const int odd = std::min(twist, static_cast<int>(Twist::none));
                        return Draw{act, key, variant, static_cast<Twist>(odd)};
                      });
}

// Most histories begin like a run.
rc::Gen<std::vector<Draw>> histories(int size = 80) {
  return rc::gen::map(
      rc::gen::pair(rc::gen::resize(size, rc::gen::container<std::vector<Draw>>(draws())),
                    rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, 8))),
      [](std::pair<std::vector<Draw>, int> parts) {
        if (parts.second > 0) {
          parts.first.insert(parts.first.begin(), Draw{Act::start, 0, 0, Twist::none});
        }
        return std::move(parts.first);
      });
}

std::string step_no(int key) { return std::string(1, static_cast<char>('a' + key)); }

std::string result_of(const Draw& draw) {
  const std::string name = step_no(draw.variant);
  return draw.variant == 3 ? "[]" : R"({"r)" + name + R"(":)" + std::to_string(draw.key) + "}";
}

SharedText some_key(const Draw& draw) {
  const std::string step = step_no(draw.key);
  const std::vector<std::string> names = {step, step + "@2", step + "@2[0]", step + "@2[1]"};
  return runnable(names[static_cast<std::size_t>(draw.variant)]).runnable_key;
}

RunnableApplied application_of(const Draw& draw) {
  const auto attempt = static_cast<std::uint32_t>(1 + draw.variant % 2);
  SharedText key = runnable(step_no(draw.key), attempt).runnable_key;
  if (draw.variant == 3) {
    key = timer(step_no(draw.key)).runnable_key;
  }
  if (draw.act == Act::apply && draw.variant == 2) {
    key = some_key({draw.act, draw.key, 1 + draw.key % 3, Twist::none});
  }
  const std::string opts = draw.act == Act::defer ? R"({"defer":{}})"
                           : draw.variant == 2
                               ? R"({"schedule_in_ms":)" + std::to_string(1 + draw.key) + "}"
                               : std::string();
  return applied_run(key.view(), result_of(draw), opts);
}

RunnablesPlanned plan_of(const Draw& draw) {
  const auto attempt = static_cast<std::uint32_t>(1 + draw.variant % 2);
  std::vector<Runnable> plans{runnable(step_no(draw.key), attempt)};
  if (draw.variant >= 2) {
    plans.push_back(runnable(step_no((draw.key + 1) % 4), attempt));
  }
  if (draw.act == Act::plan_timer) {
    plans = {timer(step_no(draw.key))};
  }
  if (draw.act == Act::plan_node) {
    plans = {runnable("n" + std::to_string(draw.key))};
    plans[0].graph_mutation = GraphIntent{"m" + std::to_string(draw.variant), plans[0].step, "f"};
  }
  return planned(std::move(plans));
}

// A list of two, an item of it, a visit or a compensation.
RunnablesPlanned items_plan_of(const Draw& draw) {
  const std::string step = step_no(draw.key);
  Runnable whole = runnable(step + "@2");
  whole.handler = kEngineHandler;
  whole.input = json(R"({"items":[1,[2]]})");
  switch (draw.variant) {
    case 0:
      return planned({whole});
    case 1:
      return planned({runnable(step + "@2[0]"), runnable(step + "@2[1]")});
    case 2:
      return planned({runnable(step + "@3")});
    default:
      return planned({runnable("compensate:" + step)});
  }
}

DynamicGraphMutated mutation_of(const Draw& draw, std::uint64_t version) {
  const std::string id = "n" + std::to_string(draw.key);
  const std::string name = "m" + std::to_string(draw.variant);
  DynamicGraphMutated fact = draw.act == Act::add_node
                                 ? mutated(name, version, {node(id), edge(id + "e", "a", id)})
                                 : mutated(name, version, {}, {{GraphItem::node, SharedText(id)}});
  fact.runnable_intent_fingerprints = {{id, "f"}};
  return fact;
}

RunDefinitionMigrated migration_of(const Draw& draw, const RunProjection& run) {
  RunDefinitionMigrated fact = migrated("k" + std::to_string(draw.key));
  const PinnedDefinition pinned = run.pinned_definition();
  if (!pinned.version.empty() && draw.variant > 0) {
    fact.source_version = pinned.version;
    fact.source_fingerprint = pinned.fingerprint;
  }
  fact.target_version = std::to_string(draw.variant);
  return fact;
}

// The fact of a draw; it may look at the run so that it has a chance to fit.
RunFact plain_fact(const Draw& draw, const RunProjection& run) {
  const std::string step = step_no(draw.key);
  switch (draw.act) {
    case Act::signal:
    case Act::garbage:
      return run_signal();
    case Act::start:
      return run_started(draw.variant == 3 ? "[]" : R"({"order":7,"ra":0})");
    case Act::plan:
    case Act::plan_timer:
    case Act::plan_node:
      return plan_of(draw);
    case Act::apply:
    case Act::defer:
      return application_of(draw);
    case Act::start_child:
      return child_started(5 + draw.key);
    case Act::pause:
      return paused(step, draw.variant % 2 == 0 ? ManualKind::pause : ManualKind::approval);
    case Act::resolve:
      return resolved(run.manual_state().has_value() ? run.manual_state()->step.view() : step,
                      result_of(draw));
    case Act::end:
      return terminal(static_cast<TerminalStatus>(draw.key));
    case Act::add_node:
    case Act::remove_node:
      return mutation_of(draw, run.graph().version);
    case Act::request_continuation:
      return continuation_requested(draw.variant == 0 ? "x" : "next");
    case Act::continue_from:
      return continued_from(draw.variant == 0 ? "x" : "next");
    case Act::open_wait:
      return wait_opened(step);
    case Act::receive:
      return event_received(step);
    case Act::select_timeout:
      return timeout_selected(step);
    case Act::resolve_received:
      return wait_resolved(WaitAction::received, step, result_of(draw));
    case Act::resolve_timed_out:
      return wait_resolved(WaitAction::timed_out, step, result_of(draw));
    case Act::update_attributes:
      return attributes_updated(draw.variant == 3 ? R"({"a":null})" : result_of(draw), step);
    case Act::migrate:
      return migration_of(draw, run);
    case Act::archive:
      return archived();
    case Act::unarchive:
      return unarchived();
    case Act::withdraw:
      return withdrawn({some_key(draw)});
    case Act::buffer:
      return event_buffered(draw.variant == 0 ? "once" : "k" + std::to_string(draw.key));
    case Act::compensate:
      return compensation_started();
    case Act::adopt:
      return steps_adopted({SharedText(step)});
    case Act::plan_items:
      return items_plan_of(draw);
  }
  return run_signal();
}

template <typename Fact>
void spoil(Fact& fact) {
  if constexpr (requires { fact.step = {}; }) {
    fact.step = {};
  } else if constexpr (requires { fact.runnable_key = {}; }) {
    fact.runnable_key = {};
  } else if constexpr (requires { fact.origin; }) {
    fact.origin = {};
  } else if constexpr (requires { fact.input = {}; }) {
    fact.input = json("7");
  }
}

template <typename Fact>
void vary(Fact& fact) {
  if constexpr (requires { fact.trace = {}; }) {
    fact.trace = json("[9]");
  } else if constexpr (requires { fact.runnables; }) {
    fact.runnables.push_back(runnable("d", 9));
  }
}

RunFact fact_of(const Draw& draw, const RunProjection& run) {
  RunFact fact = plain_fact(draw, run);
  switch (draw.twist) {
    case Twist::other_run:
      std::visit([](auto& known) { known.run_id = run_no(2); }, fact);
      break;
    case Twist::no_value:
      std::visit([](auto& known) { spoil(known); }, fact);
      break;
    case Twist::other_data:
      std::visit([](auto& known) { vary(known); }, fact);
      break;
    case Twist::none:
      break;
  }
  return fact;
}

std::shared_ptr<const Definition> diamond() {
  return must(Definition::parse(
      R"({"workflow":"order","steps":[{"name":"a"},{"name":"b","after":["a"]},
          {"name":"c","after":["a"]},{"name":"d","after":["b","c"]}]})"));
}

TimeMs moment(std::size_t index) { return ms(100 + static_cast<std::int64_t>(index)); }

// A thread as it is stored: facts, and here and there something that is none.
struct Stored {
  std::optional<RunFact> fact;  // empty: garbage
  TimeMs at;
};

void take(RunProjection& run, const Stored& stored) {
  if (stored.fact.has_value()) {
    run.evolve(stored.at, *stored.fact);
    return;
  }
  EntryView entry;
  entry.kind = "run_terminal";
  entry.at = stored.at;
  entry.data = R"({"status":7})";
  run.fold(entry);
}

Stored stored_of(const Draw& draw, const RunProjection& run, std::size_t index) {
  if (draw.act == Act::garbage) {
    return {std::nullopt, moment(index)};
  }
  return {fact_of(draw, run), moment(index)};
}

// The whole history, each fact drawn with the run before it in view.
std::vector<Stored> thread_of(const std::vector<Draw>& history) {
  RunProjection run(run_no(1));
  std::vector<Stored> thread;
  for (const Draw& draw : history) {
    thread.push_back(stored_of(draw, run, thread.size()));
    take(run, thread.back());
  }
  return thread;
}

std::unique_ptr<RunProjection> attached() {
  auto run = std::make_unique<RunProjection>(run_no(1));
  run->attach(diamond());
  return run;
}

TEST(RunLaws, what_is_not_accepted_changes_nothing_but_revision_and_anomalies) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<Draw> history = *histories();
    const auto run = attached();
    std::size_t accepted = 0;
    for (const Stored& stored : thread_of(history)) {
      const std::string before = known(*run);
      const StepProgress progress = run->progress();
      const std::size_t anomalies = run->anomalies().size();
      const Revision revision = run->revision();
      const RunVerdict verdict = stored.fact.has_value()
                                     ? judge(*run, stored.at, *stored.fact)
                                     : RunVerdict::refuse(RunReason::malformed_entry);
      take(*run, stored);
      RC_ASSERT(run->revision() == revision.next());
      const bool refused = verdict.kind == RunVerdict::Kind::refuse;
      RC_ASSERT(run->anomalies().size() == anomalies + (refused ? 1 : 0));
      if (verdict.kind == RunVerdict::Kind::accept) {
        ++accepted;
        RC_ASSERT(known(*run) != before);
      } else {
        RC_ASSERT(known(*run) == before);
        RC_ASSERT(run->progress() == progress);
      }
      if (refused) {
        RC_ASSERT(run->anomalies().back().reason.view() == to_text(verdict.reason));
      }
    }
    RC_CLASSIFY(accepted > 10);
  }));
}

TEST(RunLaws, a_checkpoint_at_any_place_makes_no_difference) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<Stored> thread = thread_of(*histories(50));
    const auto all = attached();
    std::vector<std::string> prefixes{all->encode()};
    std::vector<RunStatus> statuses{all->status()};
    for (const Stored& stored : thread) {
      take(*all, stored);
      prefixes.push_back(all->encode());
      statuses.push_back(all->status());
    }
    for (std::size_t cut = 0; cut < prefixes.size(); ++cut) {
      const auto run = must(RunProjection::decode(prefixes[cut]));
      RC_ASSERT(run->encode() == prefixes[cut]);
      run->attach(diamond());
      for (std::size_t i = cut; i < thread.size(); ++i) {
        RC_ASSERT(run->status() == statuses[i]);
        take(*run, thread[i]);
      }
      RC_ASSERT(run->encode() == all->encode());
      RC_ASSERT(run->progress() == all->progress());
      RC_ASSERT(run->status() == all->status());
      RC_ASSERT(run->context() == all->context());
    }
  }));
}

TEST(RunLaws, a_definition_may_be_attached_at_any_time) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<Stored> thread = thread_of(*histories());
    const auto early = attached();
    RunProjection late(run_no(1));
    const auto when = *rc::gen::inRange<std::size_t>(0, thread.size() + 1);
    for (std::size_t i = 0; i < thread.size(); ++i) {
      if (i == when) {
        late.attach(diamond());
      }
      take(*early, thread[i]);
      take(late, thread[i]);
    }
    late.attach(diamond());
    RC_ASSERT(late.progress() == early->progress());
    RC_ASSERT(late.encode() == early->encode());
  }));
}

TEST(RunLaws, what_is_rolled_back_never_was) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<Draw> history = *histories();
    const auto run = attached();
    UndoLog undo;
    run->set_undo(&undo);
    std::vector<std::tuple<UndoLog::Mark, std::string, StepProgress, RunStatus, Payload>> states;
    for (std::size_t i = 0; i < history.size(); ++i) {
      states.emplace_back(undo.mark(), run->encode(), run->progress(), run->status(),
                          run->context());
      take(*run, stored_of(history[i], *run, i));
      const auto back = *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::size_t>(0, 40));
      if (back < states.size() && back < 8) {
        const auto& [mark, bytes, progress, status, context] = states[states.size() - 1 - back];
        undo.roll_back_to(mark);
        RC_ASSERT(run->encode() == bytes);
        RC_ASSERT(run->progress() == progress);
        RC_ASSERT(run->status() == status);
        RC_ASSERT(run->context() == context);
        states.resize(states.size() - 1 - back,
                      {0, "", run->progress(), RunStatus::created, Payload()});
      }
    }
    if (!states.empty()) {
      undo.roll_back_to(0);
      RC_ASSERT(run->encode() == RunProjection(run_no(1)).encode());
      RC_ASSERT(run->progress() == StepProgress(*diamond()));
    }
  }));
}

bool happens_once(const RunFact& fact) {
  return !std::holds_alternative<RunSignalReceived>(fact) &&
         !std::holds_alternative<ManualStepResolved>(fact) &&
         !std::holds_alternative<ExternalEventBuffered>(fact) &&
         !std::holds_alternative<RunArchived>(fact) && !std::holds_alternative<RunUnarchived>(fact);
}

TEST(RunLaws, a_fact_that_is_repeated_changes_nothing) {
  EXPECT_TRUE(rc::check([] {
    const auto run = attached();
    for (const Stored& stored : thread_of(*histories())) {
      const bool accepted = stored.fact.has_value() &&
                            judge(*run, stored.at, *stored.fact).kind == RunVerdict::Kind::accept;
      take(*run, stored);
      if (accepted && happens_once(*stored.fact)) {
        const std::string before = known(*run);
        const std::size_t anomalies = run->anomalies().size();
        run->evolve(ms(900), *stored.fact);
        RC_ASSERT(known(*run) == before);
        RC_ASSERT(run->anomalies().size() == anomalies);
      }
    }
  }));
}

// The same answers by looking at everything.
RunStatus plain_status(const RunProjection& run) {
  std::map<std::string, bool> open;
  for (const PlannedRunnable* planned : run.runnables()) {
    if (!planned->plan.is_timer()) {
      open[planned->plan.step.str()] = !planned->applied;
    }
  }
  const bool any_open =
      std::any_of(open.begin(), open.end(), [](const auto& step) { return step.second; });
  return any_open ? RunStatus::running : RunStatus::idle;
}

TEST(RunLaws, what_is_counted_is_what_is_there) {
  EXPECT_TRUE(rc::check([] {
    const auto run = attached();
    for (const Stored& stored : thread_of(*histories())) {
      take(*run, stored);
      const RunStatus status = run->status();
      if (status == RunStatus::running || status == RunStatus::idle) {
        RC_ASSERT(status == plain_status(*run));
      }
      RC_ASSERT(is_compact_json(run->context().view()));
      const StepProgress& progress = run->progress();
      const auto done =
          static_cast<std::size_t>(std::count(progress.done.begin(), progress.done.end(), true));
      RC_ASSERT(progress.done_count == done);
      const std::vector<Step>& steps = run->definition()->steps();
      for (std::size_t i = 0; i < steps.size(); ++i) {
        const auto unmet = std::count_if(steps[i].after.begin(), steps[i].after.end(),
                                         [&](StepIndex step) { return !progress.done[step]; });
        RC_ASSERT(static_cast<std::int64_t>(progress.unmet[i]) == unmet);
      }
      RC_ASSERT(!(run->is_terminal() && run->manual_state().has_value()));
    }
  }));
}

TEST(RunLaws, folding_what_was_written_is_evolving) {
  EXPECT_TRUE(rc::check([] {
    RunProjection evolved(run_no(1));
    RunProjection folded(run_no(1));
    for (const Stored& stored : thread_of(*histories())) {
      if (!stored.fact.has_value()) {
        continue;
      }
      const auto entry = to_entry(*stored.fact, stored.at);
      if (entry.ok()) {
        EntryView view;
        view.kind = entry.value().kind;
        view.at = entry.value().at;
        view.data = entry.value().data.view();
        evolved.evolve(stored.at, *stored.fact);
        folded.fold(view);
      }
    }
    RC_ASSERT(folded.encode() == evolved.encode());
  }));
}

}  // namespace
}  // namespace holdfast::run_prop_test
