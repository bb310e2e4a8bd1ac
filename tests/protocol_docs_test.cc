// docs/protocol.md is accurate: its examples are valid facts, its lists of fields match the
// structs, and it names every rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "access/tokens.h"
#include "runs/dispatch/dispatch_projection.h"
#include "runs/run/run_fact.h"
#include "runs/run/run_rules.h"
#include "tests/support/test_log.h"

namespace holdfast::protocol_docs_test {
namespace {

using ::testing::ElementsAreArray;
using Names = std::vector<std::string>;

struct Section {
  Names required;
  Names optional;
  std::vector<std::string> examples;
};

Names names_in(const std::string& text) {
  static const std::regex kQuoted("`([^`]+)`");
  Names names;
  for (std::sregex_iterator at(text.begin(), text.end(), kQuoted), end; at != end; ++at) {
    names.push_back((*at)[1]);
  }
  return names;
}

// The document, cut at its headings.
class Document {
 public:
  explicit Document(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    while (std::getline(file, line)) {
      read(line);
    }
  }

  [[nodiscard]] const Section& section(const std::string& name) const {
    static const Section kNone;
    const auto found = sections_.find(name);
    return found == sections_.end() ? kNone : found->second;
  }
  [[nodiscard]] const std::map<std::string, Section>& sections() const { return sections_; }
  // The first column of the tables below a heading.
  [[nodiscard]] std::set<std::string> first_column(const std::string& heading) const {
    const auto found = columns_.find(heading);
    return found == columns_.end() ? std::set<std::string>() : found->second;
  }

 private:
  void read(const std::string& line) {
    if (line.starts_with("#")) {
      heading_ = line.substr(line.find(' ') + 1);
      const Names names = names_in(heading_);
      name_ = names.empty() ? heading_ : names.front();
    } else if (line == "```json") {
      example_.emplace();
    } else if (line == "```" && example_.has_value()) {
      sections_[name_].examples.push_back(*std::exchange(example_, std::nullopt));
    } else if (example_.has_value()) {
      *example_ += line;
    } else if (line.starts_with("|")) {
      read_row(line);
    }
  }
  void read_row(const std::string& line) {
    const std::size_t middle = line.find('|', 1);
    const std::string first = line.substr(0, middle);
    if (is_field_list_) {
      sections_[name_].required = names_in(first);
      sections_[name_].optional = names_in(line.substr(middle));
    } else {
      const Names names = names_in(first);
      columns_[heading_].insert(names.begin(), names.end());
    }
    is_field_list_ = line == "| Required | Optional |" || (is_field_list_ && line == "|---|---|");
  }

  std::string heading_;
  std::string name_;
  std::optional<std::string> example_;
  bool is_field_list_ = false;
  std::map<std::string, Section> sections_;
  std::map<std::string, std::set<std::string>> columns_;
};

const Document& document() {
  static const Document kDocument(HOLDFAST_DOCS_FOLDER "/protocol.md");
  return kDocument;
}

struct FieldLister {
  Names required_names;
  Names optional_names;

  template <typename T>
  void required(std::string_view name, const T& /*value*/) {
    required_names.emplace_back(name);
  }
  template <typename T>
  void optional(std::string_view name, const T& /*value*/) {
    optional_names.emplace_back(name);
  }
};

template <typename T>
void expect_fields(const std::string& name) {
  SCOPED_TRACE(name);
  const T value;
  FieldLister lister;
  T::visit(value, lister);
  EXPECT_THAT(document().section(name).required, ElementsAreArray(lister.required_names));
  EXPECT_THAT(document().section(name).optional, ElementsAreArray(lister.optional_names));
  const auto explained = document().first_column("What the fields mean");
  for (const Names& names : {lister.required_names, lister.optional_names}) {
    for (const std::string& field : names) {
      EXPECT_TRUE(explained.contains(field)) << field << " is not explained";
    }
  }
}

// Every kind of fact that is stored: those of the variants, and the facts of threads with a single
// kind.
template <typename Visit>
void for_each_fact(Visit visit) {
  const auto all = [&visit]<typename... Facts>(const std::variant<Facts...>* /*of*/) {
    (visit(static_cast<const Facts*>(nullptr)), ...);
  };
  all(static_cast<const DispatchFact*>(nullptr));
  all(static_cast<const RunFact*>(nullptr));
  all(static_cast<
      const std::variant<RunIndexed, RunCataloged, DefinitionRegistered, WorkflowRegistered,
                         SchedulePaused, ScheduleResumed, TokenCreated, TokenRevoked>*>(nullptr));
}

template <typename Fact>
Result<std::string> encoded(const Result<Fact>& fact) {
  HOLDFAST_CHECK(fact);
  HOLDFAST_TRY(const NewEntry entry, to_entry(fact.value(), TimeMs{1}));
  return std::string(entry.data.view());
}

template <typename Fact>
Result<std::string> plain(const Result<Fact>& fact) {
  HOLDFAST_CHECK(fact);
  HOLDFAST_TRY(const JsonText json, to_json(fact.value()));
  return std::string(json.view());
}

// Reads the data as the named fact and writes it again.
Result<std::string> written_again(const std::string& kind, std::string_view data) {
  if (kind == RunIndexed::kKind) {
    return encoded(from_json<RunIndexed>(data));
  }
  if (kind == RunCataloged::kKind) {
    return encoded(from_json<RunCataloged>(data));
  }
  if (kind == DefinitionRegistered::kKind) {
    return encoded(from_json<DefinitionRegistered>(data));
  }
  if (kind == WorkflowRegistered::kKind) {
    return encoded(from_json<WorkflowRegistered>(data));
  }
  if (kind == SchedulePaused::kKind || kind == ScheduleResumed::kKind) {
    return plain(from_json<ScheduleChange>(data));
  }
  if (kind == TokenCreated::kKind) {
    return plain(from_json<TokenCreated>(data));
  }
  if (kind == TokenRevoked::kKind) {
    return plain(from_json<TokenRevoked>(data));
  }
  const auto of_queue = dispatch_fact(kind, data);
  return of_queue.ok() || of_queue.error().code() != ErrorCode::unknown_entry_type
             ? encoded(of_queue)
             : encoded(run_fact(kind, data));
}

TEST(ProtocolDocument, every_fact_is_shown_with_an_example_of_its_kind) {
  for_each_fact([]<typename Fact>(const Fact* /*of*/) {
    EXPECT_FALSE(document().section(std::string(Fact::kKind)).examples.empty()) << Fact::kKind;
  });
}

TEST(ProtocolDocument, every_example_is_read_and_written_as_the_same_bytes) {
  std::size_t examples = 0;
  for (const auto& [name, section] : document().sections()) {
    for (const std::string& text : section.examples) {
      SCOPED_TRACE(text);
      ++examples;
      const JsonText compact = must(JsonText::parse(text));
      const std::string begin = R"({"kind":")" + name + R"(","data":)";
      ASSERT_TRUE(compact.view().starts_with(begin));
      const std::string_view data =
          compact.view().substr(begin.size(), compact.view().size() - begin.size() - 1);
      EXPECT_EQ(must(written_again(name, data)), data);
    }
  }
  EXPECT_GE(examples, 34U);
}

TEST(ProtocolDocument, every_fact_has_the_listed_fields) {
  for_each_fact(
      []<typename Fact>(const Fact* /*of*/) { expect_fields<Fact>(std::string(Fact::kKind)); });
}

TEST(ProtocolDocument, every_part_of_a_fact_has_the_listed_fields) {
  expect_fields<Runnable>("Runnable");
  expect_fields<Deferred>("Deferred");
  expect_fields<GraphIntent>("GraphIntent");
  expect_fields<Origin>("Origin");
  expect_fields<GraphOrigin>("GraphOrigin");
  expect_fields<GraphAddition>("GraphAddition");
  expect_fields<GraphRemoval>("GraphRemoval");
  expect_fields<WaitTimeout>("WaitTimeout");
  expect_fields<AwaitedEvent>("AwaitedEvent");
  expect_fields<TransitionTaken>("TransitionTaken");
}

template <typename E>
std::set<std::string> words() {
  return {std::begin(kEnumNames<E>), std::end(kEnumNames<E>)};
}

TEST(ProtocolDocument, every_anomaly_and_no_other_is_named_with_its_rule) {
  EXPECT_EQ(document().first_column("In a queue"), words<DispatchReason>());
  EXPECT_EQ(document().first_column("In a run"), words<RunReason>());
  // As workflow/listing.h has them.
  EXPECT_EQ(document().first_column("In an index or the catalog"),
            (std::set<std::string>{"malformed_entry", "conflicting_workflow",
                                   "conflicting_run_index", "conflicting_run_catalog"}));
}

TEST(ProtocolDocument, every_status_is_named) {
  EXPECT_EQ(document().first_column("Attempts"), words<AttemptStatus>());
  EXPECT_EQ(document().first_column("Facts of a run"), words<RunStatus>());
}

TEST(ProtocolDocument, every_word_a_fact_may_use_is_named) {
  std::ifstream file(HOLDFAST_DOCS_FOLDER "/protocol.md");
  std::stringstream text;
  text << file.rdbuf();
  const Names all = names_in(std::regex_replace(text.str(), std::regex("```[^`]*```"), ""));
  const std::set<std::string> named(all.begin(), all.end());
  for (const auto& some :
       {words<SignalType>(), words<ManualKind>(), words<ManualAction>(), words<TerminalStatus>(),
        words<WaitAction>(), words<ParentClose>(), words<StepOutcome>()}) {
    for (const std::string& word : some) {
      EXPECT_TRUE(named.contains(word)) << word;
    }
  }
}

}  // namespace
}  // namespace holdfast::protocol_docs_test
