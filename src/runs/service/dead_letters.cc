#include "runs/service/dead_letters.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "runs/facts/activation.h"
#include "runs/run/redact.h"
#include "runs/run/run_planning.h"

namespace holdfast {

namespace {

using ParkedStep = LiveRuns::ParkedStep;

// <queue>/<time>/<run>/<step>: the last dead letter of a page.
std::string cursor_of(const ParkedStep& last) {
  return fmt::format("{}/{}/{}/{}", last.queue.view(), last.at.value, to_string(last.run),
                     last.step.view());
}

Result<ParkedStep> read_cursor(std::string_view cursor) {
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
  ParkedStep last;
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

// What the run says about it; empty when the step is no longer parked by this attempt.
std::optional<DeadLetter> read_letter(const RunProjection& run, const ParkedStep& at,
                                      const SharedText& runnable_key) {
  const ManualState* parked = run.parked(at.step);
  if (run.is_terminal() || parked == nullptr || parked->runnable_key != runnable_key) {
    return std::nullopt;
  }
  const Runnable& plan = run.latest(at.step.view())->plan;
  DeadLetter letter;
  letter.run_id = to_string(at.run);
  letter.workflow = run.started()->workflow.str();
  letter.step = at.step.str();
  letter.queue = at.queue.str();
  letter.runnable_key = runnable_key.str();
  letter.idempotency_key = plan.idempotency_key.str();
  letter.attempts = plan.attempt_number;
  letter.since = parked->paused_at;
  letter.error = redact(parked->error);
  letter.input = redact(plan.input);
  return letter;
}

bool matches(const DeadLetterFilter& filter, const DeadLetter& letter) {
  return (filter.workflow.empty() || filter.workflow == letter.workflow) &&
         (filter.step.empty() ||
          std::string_view(filter.step) == parse_activation(letter.step).step) &&
         (filter.code.empty() || filter.code == error_code_of(letter.error));
}

struct Page {
  std::vector<DeadLetter> letters;
  std::optional<ParkedStep> next;  // there may be more after this one
};

// From the first one after `after` on.
Result<Page> read_page(Turn& turn, const DeadLetterFilter& filter, const SeesWorkflow& sees,
                       std::optional<ParkedStep> after, std::size_t limit) {
  LiveRuns& runs = turn.state().runs();
  const LiveRuns::ParkedSteps& parked = runs.parked_steps();
  const ParkedStep first{SharedText(std::string_view(filter.queue)), TimeMs{INT64_MIN}, RunId{},
                         SharedText()};
  auto at = after.has_value() ? parked.upper_bound(*after) : parked.lower_bound(first);
  Page page;
  for (std::size_t seen = 0; at != parked.end(); ++at, ++seen) {
    if (!filter.queue.empty() && at->first.queue.view() != std::string_view(filter.queue)) {
      break;
    }
    if (page.letters.size() == limit || seen == kMostPerPage) {
      page.next = after;
      break;
    }
    after = at->first;
    HOLDFAST_TRY(const RunProjection* run, runs.get(at->first.run));
    auto letter = read_letter(*run, at->first, at->second);
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

// About this failure and no later one.
Result<void> decide_one(RunCommands& commands, const DeadLetterBulkRequest& request,
                        const DeadLetter& letter, Turn& turn) {
  HOLDFAST_TRY(const RunId run, parse_run_id(letter.run_id));
  if (request.action == DeadLetterAction::discard) {
    DiscardRequest discard;
    discard.step = letter.step;
    discard.runnable_key = letter.runnable_key;
    discard.actor = request.actor;
    discard.comment = request.comment;
    HOLDFAST_CHECK(commands.discard(run, discard)(turn));
    return {};
  }
  RetryRequest retry;
  retry.step = letter.step;
  retry.runnable_key = letter.runnable_key;
  retry.actor = request.actor;
  retry.comment = request.comment;
  HOLDFAST_CHECK(commands.retry(run, retry)(turn));
  return {};
}

}  // namespace

TurnFunction<DeadLettersResponse> read_dead_letters(const DeadLettersRequest& request,
                                                    SeesWorkflow sees) {
  return [request, sees = std::move(sees)](Turn& turn) -> Result<DeadLettersResponse> {
    constexpr std::uint64_t kUsual = 100;
    std::optional<ParkedStep> after;
    if (!request.cursor.empty()) {
      HOLDFAST_TRY(after, read_cursor(request.cursor));
    }
    const DeadLetterFilter filter{request.queue, request.workflow, request.step, request.code};
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
        std::optional<ParkedStep> after;
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
    } else {
      result.problem = problem_of(decided.outcomes[i].error());
    }
  }
  return response;
}

}  // namespace holdfast
