// The benchmark of the mesh: the fold of operations, signatures, and opening a store.
#include <fmt/format.h>

#include <ctime>

#include "base/blake3.h"
#include "holdfast/assert.h"
#include "lab/bench/bench_cases.h"
#include "lab/bench/bench_engine.h"
#include "lab/bench/bench_folder.h"
#include "lab/bench/bench_run.h"
#include "lab/bench/mesh_sample.h"
#include "mesh/ops/signature.h"
#include "mesh/store/mesh_store.h"

namespace holdfast {

namespace {

using namespace mesh;

// Processor time: the cases run on one core, and other programs must not count.
class CpuWatch {
 public:
  [[nodiscard]] double seconds() const {
    return static_cast<double>(std::clock() - start_) / CLOCKS_PER_SEC;
  }
  [[nodiscard]] double rate(std::uint64_t count) const {
    return static_cast<double>(count) / seconds();
  }

 private:
  std::clock_t start_ = std::clock();
};

struct MeshRun {
  const BenchmarkOptions& options;
  BenchContext& context;
  MeshSample sample = {};

  [[nodiscard]] std::uint64_t operations() const {
    const std::uint64_t usual = options.quick() ? 3'000 : 1'000'000;
    return (options.entries != 0 ? options.entries : usual) / 3 * 3;
  }
  void add(std::string name, double value, std::string_view unit,
           std::optional<double> limit = std::nullopt) const {
    context.report.add({std::move(name), value, std::string(unit), limit});
  }
  [[nodiscard]] std::vector<VerifiedOperation> make(std::uint64_t first, std::uint64_t last) const {
    std::vector<VerifiedOperation> made;
    made.reserve(last - first);
    for (std::uint64_t i = first; i < last; ++i) {
      made.push_back(sample.operation(i));
    }
    return made;
  }
  [[nodiscard]] Roster enrolled() const {
    Roster roster(sample.user());
    for (const VerifiedOperation& operation : sample.bootstraps()) {
      roster.add(operation);
    }
    return roster;
  }
  void must_be_completed(const Roster& roster) const {
    const auto last = roster.job(MeshSample::job(operations() / 3 - 1));
    HOLDFAST_ASSERT(last.has_value() && last->state.phase == JobPhase::completed);
  }
};

Result<void> bench_fold(MeshRun& run) {
  const auto operations = run.make(0, run.operations());
  Roster roster = run.enrolled();
  const CpuWatch watch;
  for (const VerifiedOperation& operation : operations) {
    roster.insert(operation);
  }
  roster.settle();
  run.add("fold_at_once", watch.rate(operations.size()), "operations/s");
  run.must_be_completed(roster);
  return {};
}

// One by one, each judged at once; then one operation that comes late, in the middle.
Result<void> bench_apply(MeshRun& run) {
  const auto operations = run.make(0, run.operations());
  Roster roster = run.enrolled();
  const CpuWatch watch;
  for (const VerifiedOperation& operation : operations) {
    roster.add(operation);
  }
  run.add("apply_one_by_one", watch.rate(operations.size()), "operations/s");
  run.must_be_completed(roster);
  std::vector<double> us;
  const std::uint64_t jobs = run.operations() / 3;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(jobs / 2, 1000); ++i) {
    const VerifiedOperation late = run.sample.late_claim(jobs / 2 + i);
    const Stopwatch one;
    roster.add(late);
    us.push_back(one.seconds() * 1e6);
  }
  run.add("one_late_operation", median(us), "us");
  run.add("one_late_operation_p99", quantile(us, 0.99), "us");
  return {};
}

Result<void> bench_memory(MeshRun& run) {
  const std::uint64_t before = heap_bytes();
  Roster roster = run.enrolled();
  for (std::uint64_t i = 0; i < run.operations(); ++i) {
    roster.insert(run.sample.operation(i));
  }
  roster.settle();
  const auto grown = static_cast<double>(heap_bytes() - before);
  run.add("memory_per_job", grown / static_cast<double>(run.operations() / 3), "bytes");
  return {};
}

// Slices of operations with everything that their signatures cost, and of libsodium alone.
Result<void> bench_signatures(MeshRun& run) {
  const std::uint64_t count = run.options.quick() ? 60 : 3'000;
  std::vector<std::vector<std::byte>> wire;
  std::vector<Operation> operations;
  for (std::uint64_t i = 0; i < count; ++i) {
    wire.push_back(run.sample.signed_bytes(3 * i));
    HOLDFAST_TRY(operations.emplace_back(), decode_operation(wire.back()));
  }
  const PublicKey key = run.sample.owner().public_key();
  const std::vector<std::byte> message = signing_bytes(operations.front());
  const SignatureBytes signature = run.sample.owner().sign(message);
  std::vector<double> verified_rates;
  std::vector<double> raw_rates;
  for (int slice = 0; slice < (run.options.quick() ? 2 : 9); ++slice) {
    const CpuWatch checked;
    for (const Operation& operation : operations) {
      HOLDFAST_ASSERT(verify_operation(operation, key));
    }
    verified_rates.push_back(checked.rate(count));
    const CpuWatch raw;
    for (std::uint64_t i = 0; i < count; ++i) {
      HOLDFAST_ASSERT(verify(key, message, signature));
    }
    raw_rates.push_back(raw.rate(count));
  }
  const double limit = median(raw_rates);
  run.add("verify_signature", median(verified_rates), "operations/s", limit);
  Replica replica(run.sample.user(), {1});
  for (const VerifiedOperation& operation : run.sample.bootstraps()) {
    replica.ingest(encode_operation(operation.operation), 1'800'000'000'000);
  }
  const CpuWatch watch;
  for (const auto& bytes : wire) {
    HOLDFAST_ASSERT(replica.ingest(bytes, 1'800'000'000'000).intake == Intake::appended);
  }
  run.add("ingest_with_signatures", watch.rate(count), "operations/s", limit);
  return {};
}

// Signatures take too long to make, and nothing reads them when a store is opened: these are
// signed by one node once, and have the length of real ones.
Result<void> bench_open(MeshRun& run) {
  HOLDFAST_TRY(const BenchFolder folder, BenchFolder::create());
  const std::string path = folder.path() + "/mesh";
  const MeshIdentity identity{run.sample.user(), run.sample.owner().node_id()};
  constexpr std::uint64_t kNowMs = 1'800'000'000'000;
  HOLDFAST_TRY(auto store, MeshStore::open(path, identity, kNowMs));
  Received bootstraps;
  for (const VerifiedOperation& operation : run.sample.bootstraps()) {
    bootstraps.operations.push_back(encode_operation(operation.operation));
  }
  HOLDFAST_CHECK(store->ingest(bootstraps, kNowMs));
  const std::string signature = *run.sample.bootstraps().front().operation.signature;
  HOLDFAST_CHECK(store->file().begin());
  for (std::uint64_t i = 0; i < run.operations(); ++i) {
    Operation operation = run.sample.operation(i).operation;
    operation.signature = signature;
    HOLDFAST_CHECK(store->file().put(operation, blake3(encode_operation(operation)), Place::log,
                                     store->last_arrival() + i + 1));
  }
  HOLDFAST_CHECK(store->file().commit());
  store.reset();
  const Stopwatch watch;
  const CpuWatch cpu;
  HOLDFAST_TRY(store, MeshStore::open(path, identity, kNowMs));
  run.add(fmt::format("open_{}_operations", run.operations()), watch.seconds(), "s");
  run.add(fmt::format("open_{}_operations_processor", run.operations()), cpu.seconds(), "s");
  run.must_be_completed(store->replica().roster());
  return {};
}

constexpr std::array<BenchCase<MeshRun>, 5> kMeshCases{{
    {"fold", "all operations judged at once", bench_fold},
    {"apply", "operations judged one by one, and a late one", bench_apply},
    {"memory", "memory for each job", bench_memory},
    {"signatures", "signatures against libsodium alone", bench_signatures},
    {"open", "opening a store", bench_open},
}};

}  // namespace

Result<std::string> run_mesh_bench(const BenchmarkOptions& options, BenchContext& context) {
  MeshRun run{options, context};
  HOLDFAST_CHECK(run_cases(kMeshCases, options.only, run));
  return std::string();
}

}  // namespace holdfast
