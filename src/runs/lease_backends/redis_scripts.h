// The Lua scripts of the lease backend on Redis. Each runs atomically in the server. The keys of a
// queue, in the order of KEYS:
//   items    hash    id of an item -> its JSON
//   entries  hash    id of an item -> its entry in ready, or "dead:" and its entry in dead
//   delayed  zset    id of an item, scored by the time from which it is visible
//   ready    stream  visible items, with the consumer group "workers"
//   taken    hash    id of an item -> how often it was taken back from a worker
//   dead     stream  items that are not delivered any more
//   signals  stream  from workers to engines, with the consumer group "engines"
#pragma once

#include <string>

namespace holdfast {

inline const std::string kRedisFunctions = R"(
local items, entries, delayed, ready, taken, dead, signals = unpack(KEYS)
local function drop_entry(id)
  local entry = redis.call('HGET', entries, id)
  if entry and string.sub(entry, 1, 5) == 'dead:' then
    redis.call('XDEL', dead, string.sub(entry, 6))
  elseif entry then
    redis.call('XACK', ready, 'workers', entry)
    redis.call('XDEL', ready, entry)
  end
  redis.call('HDEL', entries, id)
  redis.call('ZREM', delayed, id)
end
local function make_ready(id)
  redis.call('HSET', entries, id, redis.call('XADD', ready, '*', 'id', id))
end
local function take_back(id, most)
  local count = redis.call('HINCRBY', taken, id, 1)
  if most == 0 or count < most then
    return true
  end
  local item = redis.call('HGET', items, id)
  local letter = redis.call('XADD', dead, '*', 'id', id, 'deliveries', count, 'item', item)
  redis.call('HSET', entries, id, 'dead:' .. letter)
  redis.call('XADD', signals, '*', 'kind', 'dead_letter', 'id', id)
  return false
end
)";

// ARGV: id, item, visible_at_ms, now_ms, mode, max_deliveries. 0 added, 1 present, 2 dead letter.
inline const std::string kRedisEnqueue = kRedisFunctions + R"(
local id, visible_at, now, mode = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local known = redis.call('HEXISTS', items, id) == 1
local entry = redis.call('HGET', entries, id)
if known and entry and string.sub(entry, 1, 5) == 'dead:' then
  return 2
end
if known and mode == 'ensure' then
  if entry and #redis.call('XRANGE', ready, entry, entry) > 0 then
    return 1
  end
  if redis.call('ZSCORE', delayed, id) then
    return 1
  end
end
drop_entry(id)
redis.call('HSET', items, id, ARGV[2])
if known and mode == 'redeliver' and not take_back(id, tonumber(ARGV[6])) then
  return 2
end
if visible_at > now then
  redis.call('ZADD', delayed, visible_at, id)
else
  make_ready(id)
end
return 0
)";

// ARGV: ids.
inline const std::string kRedisRemove = kRedisFunctions + R"(
for _, id in ipairs(ARGV) do
  drop_entry(id)
  redis.call('HDEL', items, id)
  redis.call('HDEL', taken, id)
end
return #ARGV
)";

// ARGV: now_ms, redeliver_ms, max_deliveries. Moves what is due, takes back what has no heartbeat.
inline const std::string kRedisTick = kRedisFunctions + R"(
local due = redis.call('ZRANGEBYSCORE', delayed, '-inf', ARGV[1], 'LIMIT', 0, 500)
for _, id in ipairs(due) do
  redis.call('ZREM', delayed, id)
  if redis.call('HEXISTS', items, id) == 1 then
    make_ready(id)
  end
end
local idle = redis.call('XAUTOCLAIM', ready, 'workers', 'engine', ARGV[2], '0-0', 'COUNT', 100)
for _, found in ipairs(idle[2]) do
  local entry, id = found[1], found[2][2]
  redis.call('XACK', ready, 'workers', entry)
  redis.call('XDEL', ready, entry)
  if redis.call('HGET', entries, id) == entry and redis.call('HEXISTS', items, id) == 1 then
    if take_back(id, tonumber(ARGV[3])) then
      make_ready(id)
    end
  end
end
local first = redis.call('ZRANGE', delayed, 0, 0, 'WITHSCORES')
local delivered = redis.call('XPENDING', ready, 'workers')[1]
return {first[2] or '', redis.call('XLEN', ready) - delivered, delivered,
        redis.call('ZCARD', delayed), redis.call('XLEN', dead)}
)";

}  // namespace holdfast
