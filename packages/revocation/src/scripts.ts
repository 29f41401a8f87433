import { z } from 'zod'

/*
 * The Redis scripts of the revocation protocol (docs/revocation). Each takes one round trip. Publishers run in apps/auth, and
 * subscribers in apps/resource. The scripts are in one module, because both sides must agree on the state. Each app decides when it
 * runs which script.
 *
 * `KEYS[1]` is the key of the Redis hash that holds the state (`getRevocationKey`). Its fields are `number` (that of the latest
 * notification), `mark` (the random id of this state), `server` (the replication ID), and for each subscriber `member <id>` with the
 * highest number that it has acknowledged.
 */

/**
 * Reads the state, which is valid only for the replication ID under which it was written. `master_replid` changes whenever Redis
 * starts and whenever a replica is promoted, so a state from a snapshot or a stale copy is never valid. `allow-oom` (Redis 7) lets
 * revocations through when memory is full.
 */
const READ_STATE = `#!lua flags=allow-oom
local server = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')
local found = redis.call('HMGET', KEYS[1], 'server', 'mark', 'number')
local mark, number = found[2], tonumber(found[3])
local valid = server and found[1] == server and mark and number`

/** A script, and the schema of its reply. */
export interface Script<Reply> {
  readonly lua: string
  readonly reply: z.ZodType<Reply>
}

/** Creates a state unless there is a valid one. Only publishers run this, so a subscriber never creates a state. */
const ENSURE_STATE = `${READ_STATE}
if not valid then
  mark, number = ARGV[1], 0
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 'server', server, 'mark', mark, 'number', number)
end`

/**
 * Builds Lua that sets `pending` to the number of subscribers that have acknowledged less than the Lua variable `least`, and runs
 * `statement` for each of them.
 */
const buildForEachPending = (statement: string) => `
local pending = 0
local fields = redis.call('HGETALL', KEYS[1])
for at = 1, #fields, 2 do
  if string.sub(fields[at], 1, 7) == 'member ' and tonumber(fields[at + 1]) < least then
    pending = pending + 1
    ${statement}
  end
end`

/**
 * Ensures that there is a state. ARGV: the mark of a new state.
 *
 * @returns the mark of the current state
 */
export const ENSURE_MARK_SCRIPT = {
  lua: `${ENSURE_STATE}
return mark`,
  reply: z.string(),
}

/**
 * Increments the number and publishes a notification. ARGV: the mark of a new state, the channel, the revocation.
 *
 * @returns the mark and the new number
 */
export const PUBLISH_SCRIPT = {
  lua: `${ENSURE_STATE}
number = redis.call('HINCRBY', KEYS[1], 'number', 1)
redis.call('PUBLISH', ARGV[2], mark .. ' ' .. number .. ' ' .. ARGV[3])
return { mark, number }`,
  reply: z.tuple([z.string(), z.int()]),
}

/**
 * Counts the subscribers that have not acknowledged a number. ARGV: the number.
 *
 * @returns the mark, which is empty if there is no valid state, and the count
 */
export const COUNT_PENDING_SCRIPT = {
  lua: `${READ_STATE}
local least = tonumber(ARGV[1])${buildForEachPending('')}
return { valid and mark or '', pending }`,
  reply: z.tuple([z.string(), z.int()]),
}

/**
 * Removes the subscribers that have not acknowledged a number. ARGV: the mark, the number.
 *
 * @returns the number of removed subscribers
 */
export const REMOVE_PENDING_SCRIPT = {
  lua: `${READ_STATE}
if not valid or mark ~= ARGV[1] then return 0 end
local least = tonumber(ARGV[2])${buildForEachPending(`redis.call('HDEL', KEYS[1], fields[at])`)}
return pending`,
  reply: z.int(),
}

/**
 * Adds a subscriber under a new id, and removes its previous id. ARGV: the new id, the previous id.
 *
 * @returns the mark and the current number; null if there is no valid state
 */
export const SUBSCRIBE_SCRIPT = {
  lua: `${READ_STATE}
if not valid then return false end
redis.call('HDEL', KEYS[1], 'member ' .. ARGV[2])
redis.call('HSET', KEYS[1], 'member ' .. ARGV[1], number)
return { mark, number }`,
  reply: z.tuple([z.string(), z.int()]).nullable(),
}

/**
 * Acknowledges the notifications up to a number. ARGV: the mark, the subscriber's id, the highest number that it has seen.
 *
 * @returns the current number; null if the subscriber was removed or the state has another mark
 */
export const ACKNOWLEDGE_SCRIPT = {
  lua: `${READ_STATE}
if not valid or mark ~= ARGV[1] then return false end
local subscriber, seen = 'member ' .. ARGV[2], tonumber(ARGV[3])
local acknowledged = tonumber(redis.call('HGET', KEYS[1], subscriber) or '')
if not acknowledged then return false end
if seen > acknowledged then redis.call('HSET', KEYS[1], subscriber, seen) end
return number`,
  reply: z.int().nullable(),
}

/** Removes a subscriber that no longer uses cached responses. ARGV: its id. */
export const UNSUBSCRIBE_SCRIPT = {
  lua: `return redis.call('HDEL', KEYS[1], 'member ' .. ARGV[1])`,
  reply: z.int(),
}
