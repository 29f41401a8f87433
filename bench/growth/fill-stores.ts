import { Redis } from 'ioredis'
import pg from 'pg'
import { ORIGIN } from '../load/target.ts'

const BATCH_SIZE = 20_000

interface AdminConnection extends AsyncDisposable {
  query(text: string, values?: readonly unknown[]): Promise<{ rows: Record<string, unknown>[] }>
}

/** Opens a connection without a statement time-out, since inserting a million rows takes a long time. */
export async function openAdminConnection(url: string): Promise<AdminConnection> {
  const client = new pg.Client({ connectionString: url, application_name: 'plainpath bench' })
  await client.connect()
  return {
    query: (text, values) => client.query<Record<string, unknown>>(text, values as unknown[] | undefined),
    [Symbol.asyncDispose]: () => client.end(),
  }
}

/** Fills the tables until they have `rows` agents and `rows` waitlist entries. The new rows are about as large as real ones. */
export async function fillPostgres(
  urls: { readonly auth: string; readonly resource: string },
  rows: number,
): Promise<void> {
  await fillTable(urls.auth, { table: 'agents', rows, insert: INSERT_AGENTS })
  await fillTable(urls.resource, { table: 'waitlist_entries', rows, insert: INSERT_WAITLIST_ENTRIES })
}

/**
 * In this statement and the next, `$1` and `$2` are the numbers of the first and the last row, and `00000000` stands for the id
 * of a hash key. No secret or address belongs to the hashes.
 */
const INSERT_AGENTS = `
  with agent as (
    insert into agents (id, name_sealed, scopes, status, generation, registered_at)
    select 'agt_' || substr(md5('agent' || n), 1, 22), decode(repeat(md5('name' || n), 7), 'hex'),
           '{guides:read,waitlist:write}', 'active', 1, now()
    from generate_series($1::int, $2::int) as n returning id)
  insert into agent_secrets (id, agent_id, secret_hash, hash_key_id, created_at)
  select gen_random_uuid(), id, sha256(id::bytea), '00000000', now() from agent`

/** A referral slug has no 0, 1, 8 or 9, so `translate` replaces these digits of the hash with letters. */
const INSERT_WAITLIST_ENTRIES = `
  with entry as (
    insert into waitlist_entries (id, email_sealed, email_hash, email_hash_key, referral_slug, joined_at)
    select gen_random_uuid(), decode(repeat(md5('address' || n), 8), 'hex'), sha256(('entry' || n)::bytea), '00000000',
           translate(substr(md5('slug' || n), 1, 16), '0189', 'ghij'), now()
    from generate_series($1::int, $2::int) as n returning email_hash)
  insert into waitlist_links (id, secret_hash, purpose, email_hash, created_at)
  select gen_random_uuid(), sha256(email_hash || purpose::bytea), purpose, email_hash, now()
  from entry, unnest(array['confirm', 'remove']) as purpose`

async function fillTable(
  url: string,
  { table, rows, insert }: { table: string; rows: number; insert: string },
): Promise<void> {
  await using admin = await openAdminConnection(url)
  const { rows: countRows } = await admin.query(`select count(*)::int as count from ${table}`)
  const existingRows = Number(countRows[0]?.['count'])
  for (let firstRow = existingRows; firstRow < rows; firstRow += BATCH_SIZE)
    await admin.query(insert, [firstRow, Math.min(firstRow + BATCH_SIZE, rows) - 1])
  await admin.query(`vacuum (analyze) ${table}`)
  await admin.query('checkpoint')
}

/**
 * Writes the keys of `redis-token-store.ts` for tokens that were never issued. ARGV: the numbers of the first and the last token,
 * the audience, the time of issue in milliseconds. A digest has the 43 characters of a SHA-256 in base64url.
 */
const INSERT_TOKENS = `
local replication_id = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')
for n = ARGV[1], ARGV[2] do
  local digest = redis.sha1hex('token' .. n) .. redis.sha1hex('more' .. n)
  local client = 'agt_' .. string.sub(redis.sha1hex('agent' .. n), 1, 22)
  redis.call('SET', 'auth:token:' .. string.sub(digest, 1, 43), replication_id .. ' ' .. cjson.encode({
    client = client, generation = 1, epoch = 0, scope = 'guides:read waitlist:write', audience = ARGV[3],
    issued = tonumber(ARGV[4]), expires = tonumber(ARGV[4]) + 3600000 }), 'EX', 7200)
  redis.call('SET', 'auth:generation:' .. client, 1, 'EX', 7200)
end`

export interface TokensInRedis {
  readonly tokens: number
  /**
   * Redis memory for one token and its client's credential version, including keys and expiry: the mean over the tokens that the
   * last call stored.
   */
  readonly bytesPerToken: number
}

/**
 * Stores one token for each of many clients. This is the most expensive case, since each client also has a credential version.
 *
 * @param options.existingTokens the number of tokens that earlier calls stored
 * @param options.tokens the number of tokens that this call and earlier calls store in total
 */
export async function fillRedis(
  url: string,
  { existingTokens, tokens, now }: { existingTokens: number; tokens: number; now: Date },
): Promise<TokensInRedis> {
  const redis = new Redis(url)
  try {
    const bytesBefore = await readUsedMemory(redis)
    for (let firstToken = existingTokens; firstToken < tokens; firstToken += BATCH_SIZE)
      await redis.eval(
        INSERT_TOKENS,
        0,
        firstToken,
        Math.min(firstToken + BATCH_SIZE, tokens) - 1,
        `${ORIGIN}/api`,
        now.getTime(),
      )
    return {
      tokens,
      bytesPerToken: ((await readUsedMemory(redis)) - bytesBefore) / Math.max(1, tokens - existingTokens),
    }
  } finally {
    redis.disconnect()
  }
}

/** Reads how much memory Redis has allocated, in bytes. */
async function readUsedMemory(redis: Redis): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1])
}

/** The size of a table or an index. */
export interface Size {
  readonly name: string
  readonly bytes: number
}

/** Reads the sizes of the growing tables without their indexes, and of each index. */
export async function readSizes(urls: { readonly auth: string; readonly resource: string }): Promise<Size[]> {
  const sizes: Size[] = []
  for (const url of [urls.auth, urls.resource]) {
    await using admin = await openAdminConnection(url)
    const { rows } = await admin.query(
      `select c.relname as name, pg_relation_size(c.oid)::text as bytes
       from pg_class c left join pg_index i on i.indexrelid = c.oid
       where coalesce(i.indrelid, c.oid) in
         (select oid from pg_class where relname in ('agents', 'agent_secrets', 'waitlist_entries', 'waitlist_links') and relkind = 'r')
         and c.relkind in ('r', 'i')
       order by c.relname`,
    )
    sizes.push(...rows.map(({ name, bytes }) => ({ name: String(name), bytes: Number(bytes) })))
  }
  return sizes
}
