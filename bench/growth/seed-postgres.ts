import { openAdmin } from './open-admin.ts'

/** Rows beside those that were made through the apps: as long as real ones, and of no use to anybody. */
export async function seedPostgres(
  urls: { readonly auth: string; readonly resource: string },
  rows: number,
): Promise<void> {
  await fill(urls.auth, { table: 'agents', rows, insert: AGENTS })
  await fill(urls.resource, { table: 'waitlist_entries', rows, insert: ENTRIES })
}

const BATCH = 20_000

/** `$1` is the number of the first row and `$2` that of the last. */
const AGENTS = `
  with agent as (
    insert into agents (id, name_sealed, scopes, status, generation, registered_at)
    select 'agt_' || substr(md5('agent' || n), 1, 22), decode(repeat(md5('name' || n), 7), 'hex'),
           '{guides:read,waitlist:write}', 'active', 1, now()
    from generate_series($1::int, $2::int) as n returning id)
  insert into agent_secrets (id, agent_id, secret_hash, hash_key_id, created_at)
  select gen_random_uuid(), id, sha256(id::bytea), '00000000', now() from agent`

const ENTRIES = `
  with entry as (
    insert into waitlist_entries (id, email_sealed, email_hash, email_hash_key, referral_slug, joined_at)
    select gen_random_uuid(), decode(repeat(md5('address' || n), 8), 'hex'), sha256(('entry' || n)::bytea), '00000000',
           translate(substr(md5('slug' || n), 1, 16), '0189', 'ghij'), now()
    from generate_series($1::int, $2::int) as n returning email_hash)
  insert into waitlist_links (id, secret_hash, purpose, email_hash, created_at)
  select gen_random_uuid(), sha256(email_hash || purpose::bytea), purpose, email_hash, now()
  from entry, unnest(array['confirm', 'remove']) as purpose`

async function fill(
  url: string,
  { table, rows, insert }: { table: string; rows: number; insert: string },
): Promise<void> {
  await using admin = await openAdmin(url)
  const { rows: counted } = await admin.query(`select count(*)::int as count from ${table}`)
  const present = Number(counted[0]?.['count'])
  for (let first = present; first < rows; first += BATCH)
    await admin.query(insert, [first, Math.min(first + BATCH, rows) - 1])
  await admin.query(`vacuum (analyze) ${table}`)
  await admin.query('checkpoint')
}
