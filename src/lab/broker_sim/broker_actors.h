// What happens to the brokers of a simulation besides messages: the administrator, the receivers,
// the jobs, readers, and the faults.
#pragma once

#include <string>
#include <vector>

#include "lab/broker_sim/broker_sim_plan.h"
#include "lab/broker_sim/broker_sim_process.h"

namespace holdfast::broker_sim {

struct ActorMember {
  std::string name;
  std::string workspace;
  std::string token;
  std::string member_id;
  std::string pubkey;
};

class BrokerActors {
 public:
  BrokerActors(BrokerWorld& world, BrokerMachine& machine) : world_(world), machine_(machine) {}

  // Two workspaces with members, topics and queues.
  void set_up();
  void act(const BrokerItem& item);
  // Everything that can be read, against the oracle.
  void read_all();
  [[nodiscard]] const std::vector<ActorMember>& members() const { return members_; }

 private:
  void add_workspace(const std::string& name, const sim::Dice& dice);
  void add_member(const std::string& workspace, const std::string& name);
  void add_topic(const std::string& workspace, const std::string& name, const OracleTopic& topic);
  void subscribe(const ActorMember& member, const std::string& topic, const std::string& role);
  void administer(const sim::Dice& dice, std::size_t process);
  void claim(const sim::Dice& dice, std::size_t process, const ActorMember& member,
             const std::string& queue);
  void settle(const sim::Dice& dice, std::size_t process);
  void consume(const sim::Dice& dice, std::size_t process);
  void change_topic(const sim::Dice& dice, const ActorMember& member);
  void arm(const sim::Dice& dice, std::size_t process, bool crash);
  void jump(const sim::Dice& dice);
  void read(const ActorMember& member, const std::string& kind, const std::string& ref);
  // A change by the administrator; it must have this status.
  std::string change(const std::string& method, const std::string& path, const std::string& body,
                     int status);
  [[nodiscard]] const std::string& mesh_of(const std::string& workspace) const {
    return meshes_.at(workspace);
  }
  // Any that is up; the number of processes when none is.
  [[nodiscard]] std::size_t any_process() const;

  BrokerWorld& world_;
  BrokerMachine& machine_;
  std::vector<ActorMember> members_;
  std::map<std::string, std::string> meshes_;  // by name
  std::uint64_t joined_ = 0;
  // What consumers hold, or held.
  struct Held {
    std::string token;
    OracleHeld held;
  };
  std::vector<Held> held_;
  std::uint64_t lost_leases_ = 0;
};

}  // namespace holdfast::broker_sim
