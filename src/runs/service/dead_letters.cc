#include "runs/service/dead_letters.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "runs/api/public_requests.h"
#include "runs/facts/activation.h"
#include "runs/run/redact.h"
#include "runs/run/run_planning.h"

namespace holdfast {

namespace {

using Place = LiveRuns::LetterPlace;

// <queue>/<time>/<run>/<step>: the last dead letter of a page.
std::string cursor_of(const Place& last) {
  return fmt::format("{}/{}/{}/{}", last.queue.view(), last.at.value, to_string(last.run),
                     last.step.view());
}

Result<Place> read_cursor(std::string_view cursor) {
  const Error invalid = Error{ErrorCode::invalid_argument,
                              "the cursor is not one of a list of dead letters; use `next` of the "
                              "page before"}
                            .with("field", "cursor");
  std::string_view rest = cursor;
  const auto take = [&]() -> std::string_view {
    const std::size_t end = rest.find('/');
    const std::string_view part = rest.substr(0, end);
    rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
    return part;
  };
  Place last;
  last.queue = take();
  const std::string_view time = take();
  const auto [end, fault] = std::from_chars(time.data(), time.data() + time.size(), last.at.value);
  const auto run = parse_run_id(take());
  if (fault != std::errc() || end != time.data() + time.size() || !run.ok() || rest.empty()) {
    return invalid;
  }
  last.run = run.value();
  last.step = rest;
  return last;
}

// What the run says about it; empty when nothing is to be decided about that attempt any more.
std::optional<DeadLetter> read_letter(const RunProjection& run, const Place& at,
                                      const LiveRuns::Letter& known, TimeMs now) {
  const ManualState* parked = run.parked(at.step);
  const PlannedRunnable* planned = run.find(known.runnable_key.view());
  const bool open = known.exhausted ? run.is_terminal() && !run.dead_letter().has_value()
                                    : !run.is_terminal() && parked != nullptr &&
                                          parked->runnable_key == known.runnable_key;
  if (!open || planned == nullptr) {
    return std::nullopt;
  }
  DeadLetter letter;
  letter.reason = known.exhausted ? DeadLetterReason::exhausted : DeadLetterReason::parked;
  letter.run_id = to_string(at.run);
  letter.workflow = run.started()->workflow.str();
  letter.step = at.step.str();
  letter.queue = at.queue.str();
  letter.runnable_key = known.runnable_key.str();
  letter.idempotency_key = planned->plan.idempotency_key.str();
  letter.attempts = planned->plan.is_internal() ? 0 : planned->plan.attempt_number;
  letter.since = known.exhausted ? run.terminal_at() : parked->paused_at;
  letter.age_ms = std::max<std::int64_t>(0, now.value - letter.since.value);
  letter.error = redact(known.exhausted ? run.terminal()->error : parked->error);
  letter.input = redact(planned->plan.input);
  return letter;
}

bool matches(const DeadLetterFilter& filter, const DeadLetter& letter) {
  return (filter.workflow.empty() || filter.workflow == letter.workflow) &&
         (filter.step.empty() ||
          std::string_view(filter.step) == parse_activation(letter.step).step) &&
         (filter.code.empty() || filter.code == error_code_of(letter.error)) &&
         (!filter.reason.has_value() || *filter.reason == letter.reason);
}

struct Page {
  std::vector<DeadLetter> letters;
  std::optional<Place> next;  // there may be more after this one
};

// Of a run that the caller may know of; nullptr if there is none.
Result<const RunProjection*> visible_run(Turn& turn, const DeadLetterFilter& filter,
                                         const SeesWorkflow& sees) {
  HOLDFAST_TRY(const RunId id, parse_run_id(filter.run_id));
  const auto run = turn.state().runs().get(id);
  if (!run.ok()) {
    return run.error().code() == ErrorCode::run_not_found ? Result<const RunProjection*>(nullptr)
                                                          : run.error();
  }
  const auto& started = run.value()->started();
  return started.has_value() && sees(started->workflow.view()) ? run.value() : nullptr;
}

// The dead letters of one run, by step.
Result<Page> read_run(Turn& turn, const DeadLetterFilter& filter, const SeesWorkflow& sees,
                      std::optional<Place> after, std::size_t limit) {
  Page page;
  HOLDFAST_TRY(const RunProjection* run, visible_run(turn, filter, sees));
  if (run == nullptr) {
    return page;
  }
  const RunId id = run->run_id();
  const LiveRuns& runs = turn.state().runs();
  const auto& by_step = runs.dead_letters_by_step();
  for (auto at = after.has_value() ? by_step.upper_bound({id, after->step})
                                   : by_step.lower_bound({id, SharedText()});
       at != by_step.end() && at->first.first == id; ++at) {
    if (page.letters.size() == limit) {
      page.next = after;
      break;
    }
    after = at->second;
    auto letter = read_letter(*run, *after, runs.dead_letters().at(*after), turn.now());
    if (letter.has_value() && (filter.queue.empty() || filter.queue == letter->queue) &&
        matches(filter, *letter)) {
      page.letters.push_back(*std::move(letter));
    }
  }
  return page;
}

// From the first one after `after` on.
Result<Page> read_page(Turn& turn, const DeadLetterFilter& filter, const SeesWorkflow& sees,
                       std::optional<Place> after, std::size_t limit) {
  if (!filter.run_id.empty()) {
    return read_run(turn, filter, sees, std::move(after), limit);
  }
  LiveRuns& runs = turn.state().runs();
  const LiveRuns::Letters& letters = runs.dead_letters();
  const Place first{SharedText(std::string_view(filter.queue)), TimeMs{INT64_MIN}, RunId{},
                    SharedText()};
  auto at = after.has_value() ? letters.upper_bound(*after) : letters.lower_bound(first);
  Page page;
  for (std::size_t seen = 0; at != letters.end(); ++at, ++seen) {
    if (!filter.queue.empty() && at->first.queue.view() != std::string_view(filter.queue)) {
      break;
    }
    if (page.letters.size() == limit || seen == kMostPerPage) {
      page.next = after;
      break;
    }
    after = at->first;
    HOLDFAST_TRY(const RunProjection* run, runs.get(at->first.run));
    auto letter = read_letter(*run, at->first, at->second, turn.now());
    if (letter.has_value() && sees(letter->workflow) && matches(filter, *letter)) {
      page.letters.push_back(*std::move(letter));
    }
  }
  return page;
}

Result<void> check_bulk(const DeadLetterBulkRequest& request) {
  const auto bad = [](std::string_view field, const std::string& message) {
    return Error{ErrorCode::invalid_argument, message}.with("field", field);
  };
  if (request.limit == 0 || request.limit > kMostPerPage) {
    return bad("limit", fmt::format("limit must be a number from 1 to {}", kMostPerPage));
  }
  if (request.filter.empty() && !request.all) {
    return bad("filter",
               "an empty filter selects every dead letter: set queue, workflow, step or code in "
               "filter, or set \"all\": true");
  }
  if (!request.filter.empty() && request.all) {
    return bad("all", "all and filter exclude each other");
  }
  return {};
}

// About this failure and no later one. The run that repeats it; empty: it is the same.
Result<std::string> decide_one(RunCommands& commands, const DeadLetterBulkRequest& request,
                               const DeadLetter& letter, Turn& turn) {
  HOLDFAST_TRY(const RunId run, parse_run_id(letter.run_id));
  if (request.action == DeadLetterAction::discard) {
    DiscardRequest discard;
    discard.step = letter.step;
    discard.runnable_key = letter.runnable_key;
    discard.actor = request.actor;
    discard.comment = request.comment;
    HOLDFAST_CHECK(commands.discard(run, discard)(turn));
    return std::string();
  }
  RetryRequest retry;
  retry.step = letter.step;
  retry.runnable_key = letter.runnable_key;
  retry.actor = request.actor;
  retry.comment = request.comment;
  if (letter.reason == DeadLetterReason::parked) {
    HOLDFAST_CHECK(commands.retry(run, retry)(turn));
    return std::string();
  }
  HOLDFAST_TRY(const Started started, commands.redrive(run, retry)(turn));
  return to_string(started.run_id);
}

// A repeated command about one run, whose dead letter was decided before in the same way.
Result<void> find_decided(Turn& turn, const DeadLetterBulkRequest& request,
                          const SeesWorkflow& sees, DeadLetterOutcomes& decided) {
  HOLDFAST_TRY(const RunProjection* run, visible_run(turn, request.filter, sees));
  const bool redriven = request.action == DeadLetterAction::redrive;
  if (run == nullptr || !run->dead_letter().has_value() ||
      (run->dead_letter()->action == DeadLetterEnd::redriven) != redriven) {
    return {};
  }
  const ExhaustedAttempt& attempt = *run->terminal()->exhausted;
  DeadLetter letter;
  letter.reason = DeadLetterReason::exhausted;
  letter.run_id = to_string(run->run_id());
  letter.workflow = run->started()->workflow.str();
  letter.step = attempt.step.str();
  letter.queue = attempt.queue.str();
  letter.runnable_key = attempt.runnable_key.str();
  letter.error = redact(run->terminal()->error);
  if ((request.filter.queue.empty() || request.filter.queue == letter.queue) &&
      matches(request.filter, letter)) {
    decided.selected.push_back(std::move(letter));
    decided.outcomes.emplace_back(redriven ? to_string(run->dead_letter()->replay_run_id)
                                           : std::string());
  }
  return {};
}

}  // namespace

TurnFunction<DeadLettersResponse> read_dead_letters(const DeadLettersRequest& request,
                                                    SeesWorkflow sees) {
  return [request, sees = std::move(sees)](Turn& turn) -> Result<DeadLettersResponse> {
    constexpr std::uint64_t kUsual = 100;
    std::optional<Place> after;
    if (!request.cursor.empty()) {
      HOLDFAST_TRY(after, read_cursor(request.cursor));
    }
    HOLDFAST_TRY(const auto reason, read_dead_letter_reason(std::string_view(request.reason)));
    const DeadLetterFilter filter{request.run_id, request.queue, request.workflow,
                                  request.step,   request.code,  reason};
    HOLDFAST_TRY(Page page, read_page(turn, filter, sees, after, request.limit.value_or(kUsual)));
    DeadLettersResponse response;
    response.dead_letters = std::move(page.letters);
    response.next = page.next.has_value() ? cursor_of(*page.next) : "";
    return response;
  };
}

Result<TurnFunction<DeadLetterOutcomes>> decide_dead_letters(RunCommands& commands,
                                                             const DeadLetterBulkRequest& request,
                                                             SeesWorkflow sees) {
  HOLDFAST_CHECK(check_bulk(request));
  return TurnFunction<DeadLetterOutcomes>(
      [&commands, request, sees = std::move(sees)](Turn& turn) -> Result<DeadLetterOutcomes> {
        DeadLetterOutcomes decided;
        std::optional<Place> after;
        do {
          HOLDFAST_TRY(Page page, read_page(turn, request.filter, sees, after,
                                            request.limit - decided.selected.size()));
          std::move(page.letters.begin(), page.letters.end(), std::back_inserter(decided.selected));
          after = page.next;
        } while (after.has_value() && decided.selected.size() < request.limit);
        decided.more = after.has_value();
        if (request.dry_run) {
          return decided;
        }
        if (decided.selected.empty() && !request.filter.run_id.empty()) {
          HOLDFAST_CHECK(find_decided(turn, request, sees, decided));
          return decided;
        }
        for (const DeadLetter& letter : decided.selected) {
          const Turn::Mark mark = turn.mark();
          decided.outcomes.push_back(decide_one(commands, request, letter, turn));
          if (!decided.outcomes.back().ok()) {
            turn.roll_back_to(mark);
          }
        }
        return decided;
      });
}

DeadLetterBulkResponse bulk_response(const DeadLetterBulkRequest& request,
                                     const DeadLetterOutcomes& decided,
                                     const std::function<Payload(const Error&)>& problem_of) {
  DeadLetterBulkResponse response;
  response.action = request.action;
  response.dry_run = request.dry_run;
  response.matched = decided.selected.size();
  response.more = decided.more;
  for (std::size_t i = 0; i < decided.selected.size(); ++i) {
    const DeadLetter& letter = decided.selected[i];
    DeadLetterResult& result = response.dead_letters.emplace_back();
    result.run_id = letter.run_id;
    result.step = letter.step;
    result.runnable_key = letter.runnable_key;
    if (i >= decided.outcomes.size()) {
      continue;
    }
    if (decided.outcomes[i].ok()) {
      ++response.done;
      result.replay_run_id = decided.outcomes[i].value();
    } else {
      result.problem = problem_of(decided.outcomes[i].error());
    }
  }
  return response;
}

}  // namespace holdfast
