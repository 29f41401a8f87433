import { Redis } from 'ioredis'
import { ORIGIN } from '../load/target.ts'

/** What `redis-token-store.ts` writes, for tokens that nobody has. */
const FILL = `
local life = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')
for n = ARGV[1], ARGV[2] do
  local digest = redis.sha1hex('token' .. n) .. redis.sha1hex('more' .. n)
  local client = 'agt_' .. string.sub(redis.sha1hex('agent' .. n), 1, 22)
  redis.call('SET', 'auth:token:' .. string.sub(digest, 1, 43), life .. ' ' .. cjson.encode({
    client = client, generation = 1, epoch = 0, scope = 'guides:read waitlist:write', audience = ARGV[3],
    issued = tonumber(ARGV[4]), expires = tonumber(ARGV[4]) + 3600000 }), 'EX', 7200)
  redis.call('SET', 'auth:generation:' .. client, 1, 'EX', 7200)
end`

const BATCH = 20_000

export interface TokensInRedis {
  readonly tokens: number
  /** Memory of the server for one token and the number of its client, keys and expiry included. */
  readonly bytesPerToken: number
}

/** Each token of another client, which is the most that a token can cost. @param from how many are there already */
export async function seedRedis(
  url: string,
  { from, tokens, now }: { from: number; tokens: number; now: Date },
): Promise<TokensInRedis> {
  const redis = new Redis(url)
  try {
    const before = await usedMemory(redis)
    for (let first = from; first < tokens; first += BATCH)
      await redis.eval(FILL, 0, first, Math.min(first + BATCH, tokens) - 1, `${ORIGIN}/api`, now.getTime())
    return { tokens, bytesPerToken: ((await usedMemory(redis)) - before) / Math.max(1, tokens - from) }
  } finally {
    redis.disconnect()
  }
}

async function usedMemory(redis: Redis): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1])
}
