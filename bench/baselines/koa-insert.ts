import { randomBytes, randomUUID } from 'node:crypto'
import Koa from 'koa'
import pg from 'pg'
import { listen, readSetting } from './recorded-responses.ts'

// For each request, this baseline inserts one row into the table that the measured path writes to, `waitlist_entries` or else
// `agents`, with the constraints and indexes of that table. It does not read the request's body.
const authPool = new pg.Pool({ connectionString: readSetting('BENCH_AUTH_DATABASE_URL'), max: 10 })
const resourcePool = new pg.Pool({ connectionString: readSetting('BENCH_RESOURCE_DATABASE_URL'), max: 10 })

const SLUG_ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'

const insertAgent = () =>
  authPool.query(
    'insert into agents (id, name_sealed, scopes, status, generation, registered_at) values ($1, $2, $3, $4, $5, $6)',
    [
      `agt_${randomBytes(16).toString('base64url')}`,
      // About as many bytes as the encrypted name of an agent.
      randomBytes(120),
      ['guides:read', 'waitlist:write'],
      'active',
      1,
      new Date(),
    ],
  )

const insertWaitlistEntry = () =>
  resourcePool.query(
    `insert into waitlist_entries
       (id, email_sealed, email_hash, email_hash_key, referral_slug, referred_by, joined_at)
     values ($1, $2, $3, $4, $5, null, $6)`,
    [
      randomUUID(),
      // About as many bytes as an encrypted address.
      randomBytes(130),
      randomBytes(32),
      '00000000',
      Array.from(randomBytes(16), (byte) => SLUG_ALPHABET[byte % SLUG_ALPHABET.length]).join(''),
      new Date(),
    ],
  )

const app = new Koa()
app.use(async (ctx) => {
  await (ctx.path === '/api/waitlist' ? insertWaitlistEntry() : insertAgent())
  ctx.status = 201
  ctx.body = { status: 'created' }
})
listen(app)
