// The clients of a simulation of brokers, and the network between: requests and answers are lost,
// repeated, delayed and overtaken by others; a client repeats its message until it is answered.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lab/broker_sim/broker_actors.h"
#include "lab/broker_sim/broker_sim_plan.h"
#include "lab/broker_sim/broker_sim_process.h"

namespace holdfast::broker_sim {

class BrokerClients {
 public:
  BrokerClients(BrokerWorld& world, BrokerMachine& machine, const BrokerActors& actors)
      : world_(world), machine_(machine), actors_(actors) {}

  // A client with one message.
  void send(const BrokerItem& item);
  // Every client has had an answer that ends its message.
  void check_all_answered();

 private:
  struct Client {
    std::uint32_t item = 0;
    SimMessage message;
    std::uint32_t attempts = 0;
    std::uint32_t repeats = 0;  // how often it may still repeat what was refused
    bool done = false;
  };

  SimMessage draw(const sim::Dice& dice);
  void attempt(Client& client);
  void arrive(Client& client, SimMessage message, std::size_t process, std::uint64_t which);
  void receive(Client& client, const net::Response& response);
  void again_after(Client& client, std::int64_t delay_us);

  BrokerWorld& world_;
  BrokerMachine& machine_;
  const BrokerActors& actors_;
  std::vector<std::unique_ptr<Client>> clients_;
};

}  // namespace holdfast::broker_sim
