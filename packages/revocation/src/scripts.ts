import { z } from 'zod'

/**
 * The steps of docs/revocation, each one round trip. `KEYS[1]` is the hash of `revocationKey`: `number`, `mark`, `server`,
 * and `member <id>` for each member, with the highest number it acknowledged.
 *
 * A mark is good for one life of the store. `master_replid` is new whenever a Redis starts and whenever a replica takes
 * over, so what it finds then, a snapshot or an older copy, is not taken for what was lost. A store that is full revokes
 * still (`allow-oom`, Redis 7).
 */
const LIFE = `#!lua flags=allow-oom
local server = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')
local found = redis.call('HMGET', KEYS[1], 'server', 'mark', 'number')
local mark, number = found[2], tonumber(found[3])
local alive = server and found[1] == server and mark and number`

/** A script, and what it replies. */
export interface Script<Reply> {
  readonly lua: string
  readonly reply: z.ZodType<Reply>
}

/** Only a revoker begins a life: where nobody revokes through this store, nobody may rely on being told. */
const BEGIN = `${LIFE}
if not alive then
  mark, number = ARGV[1], 0
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 'server', server, 'mark', mark, 'number', number)
end`

/** How many members have not acknowledged `least`; `each` is done to them. */
const laggards = (each: string) => `
local pending = 0
local fields = redis.call('HGETALL', KEYS[1])
for at = 1, #fields, 2 do
  if string.sub(fields[at], 1, 7) == 'member ' and tonumber(fields[at + 1]) < least then
    pending = pending + 1
    ${each}
  end
end`

/** ARGV: a new mark, should the store have none. @returns the mark */
export const LOOK = {
  lua: `${BEGIN}
return mark`,
  reply: z.string(),
}

/** ARGV: a new mark, the channel, what ended. Raises the number and publishes it. @returns mark and number */
export const RAISE = {
  lua: `${BEGIN}
number = redis.call('HINCRBY', KEYS[1], 'number', 1)
redis.call('PUBLISH', ARGV[2], mark .. ' ' .. number .. ' ' .. ARGV[3])
return { mark, number }`,
  reply: z.tuple([z.string(), z.int()]),
}

/** ARGV: a number. @returns the mark, empty for none, and how many members have not acknowledged the number */
export const PENDING = {
  lua: `${LIFE}
local least = tonumber(ARGV[1])${laggards('')}
return { alive and mark or '', pending }`,
  reply: z.tuple([z.string(), z.int()]),
}

/** ARGV: mark, number. Takes off the list who has not acknowledged it. @returns how many those were */
export const STRIKE_OFF = {
  lua: `${LIFE}
if not alive or mark ~= ARGV[1] then return 0 end
local least = tonumber(ARGV[2])${laggards(`redis.call('HDEL', KEYS[1], fields[at])`)}
return pending`,
  reply: z.int(),
}

/** ARGV: the member's new id, the one it had before. @returns mark and number, or null where nobody revokes */
export const JOIN = {
  lua: `${LIFE}
if not alive then return false end
redis.call('HDEL', KEYS[1], 'member ' .. ARGV[2])
redis.call('HSET', KEYS[1], 'member ' .. ARGV[1], number)
return { mark, number }`,
  reply: z.tuple([z.string(), z.int()]).nullable(),
}

/** ARGV: mark, id, number seen. Acknowledges. @returns the store's number, or null for one who is no member */
export const HEAR = {
  lua: `${LIFE}
if not alive or mark ~= ARGV[1] then return false end
local member, seen = 'member ' .. ARGV[2], tonumber(ARGV[3])
local acknowledged = tonumber(redis.call('HGET', KEYS[1], member) or '')
if not acknowledged then return false end
if seen > acknowledged then redis.call('HSET', KEYS[1], member, seen) end
return number`,
  reply: z.int().nullable(),
}

/** ARGV: the member's id. For one who uses nothing any more. */
export const LEAVE = { lua: `return redis.call('HDEL', KEYS[1], 'member ' .. ARGV[1])`, reply: z.int() }
