import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { createSealer } from '@plainpath/sealing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPost, expectProblem, sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

let api: RunningResource
beforeAll(async () => {
  api = await startResource()
})
afterAll(() => api[Symbol.asyncDispose]())

const join = (body: unknown, target: { origin: string } = api) =>
  sendRequest(target.origin, { path: '/api/waitlist', ...createPost(body) })
let emailCount = 0
const newEmail = () => `person${++emailCount}@example.org`

interface EntryRow {
  id: string
  email_sealed: Buffer
  email_hash: Buffer
  email_hash_key: string
  referral_slug: string
  referred_by: string | null
}
async function readEntry(referralSlug: unknown): Promise<EntryRow> {
  const { rows } = await api.db.query<EntryRow>('select * from waitlist_entries where referral_slug = $1', [
    referralSlug,
  ])
  if (!rows[0]) throw new Error('no such entry')
  return rows[0]
}

describe('POST /api/waitlist', () => {
  test('adds a new address with 201 and gives it a referral link', async () => {
    const response = await join({ email: newEmail() })
    expect(response.status).toBe(201)
    expect(response.headers['cache-control']).toBe('no-store')
    const { referralSlug, ...otherMembers } = response.json()
    expect(referralSlug).toMatch(/^[a-z2-7]{16}$/)
    expect(otherMembers).toEqual({ status: 'joined', referralUrl: `${api.origin}/?ref=${referralSlug}` })
  })

  test('responds 200 for a known address, with nothing about the entry', async () => {
    const email = newEmail()
    await join({ email })
    const entriesBefore = await api.countWaitlistEntries()
    const response = await join({ email })
    expect(response.status).toBe(200)
    expect(response.json()).toEqual({ status: 'already_joined' })
    expect(await api.countWaitlistEntries()).toBe(entriesBefore)
  })

  test('attributes an entry to the referrer whose exact slug is sent', async () => {
    const { referralSlug } = (await join({ email: newEmail() })).json() as { referralSlug: string }
    const referrer = await readEntry(referralSlug)
    const joinWithReferrer = async (referredBySlug: unknown) => {
      const response = await join({ email: newEmail(), referredBySlug })
      expect(response.status).toBe(201)
      return (await readEntry(response.json()['referralSlug'])).referred_by
    }
    expect(await joinWithReferrer(referralSlug)).toBe(referrer.id)
    // Anything but the exact slug is ignored, without an error.
    for (const otherSlug of [
      referralSlug.toUpperCase(),
      ` ${referralSlug}`,
      '',
      null,
      'nobody',
      `' or 1=1--`,
      'İ'.repeat(16),
      'x'.repeat(100),
    ]) {
      expect(await joinWithReferrer(otherSlug)).toBeNull()
    }
  })

  test('stores the address only encrypted for its row and as a keyed hash, and does not log it', async () => {
    const email = 'Canary.Canary@Example.org'
    const { referralSlug } = (await join({ email })).json()
    const row = await readEntry(referralSlug)
    const sealer = createSealer(readFileSync(path.join(api.keyFolder, 'kek'), 'utf8'))
    expect(sealer.unseal(row.email_sealed, `waitlist_entries/${row.id}/email`).toString()).toBe(email)
    const { rows } = await api.db.query<{ text: string }>('select t::text as text from waitlist_entries t')
    const storedRows = rows.map(({ text }) => text).join('\n')
    expect(storedRows).not.toMatch(/canary/i)
    expect(storedRows).not.toContain(Buffer.from('Canary').toString('hex'))
    // Without a key, anybody could find the address of a hash by hashing guesses.
    expect(row.email_hash.equals(createHash('sha256').update('canary.canary@example.org').digest())).toBe(
      false,
    )
    expect(api.logLines.join('')).not.toMatch(/canary|example\.org/i)
  })

  test.for([
    ['spaces around it', '  spaced@example.org\t', 'spaced@example.org'],
    ['capitals', 'CAPITALS@Example.ORG', 'capitals@example.org'],
    ['NFD in place of NFC', 'jose\u0301@example.org', 'jos\u00e9@example.org'],
    ['a domain in Unicode', 'idn@b\u00fccher.example', 'idn@xn--bcher-kva.example'],
    ['a full-width domain', 'wide@\uff45xample.org', 'wide@example.org'],
    ['an ideographic full stop', 'stop@example\u3002org', 'stop@example.org'],
  ] as const)('recognises an address in another spelling: %s', async ([, email, otherEmail]) => {
    expect((await join({ email })).status).toBe(201)
    expect((await join({ email: otherEmail })).status).toBe(200)
  })

  test.for([
    ['a plus-tag', 'tag@example.org', 'tag+news@example.org'],
    ['a dot', 'dotted@example.org', 'dot.ted@example.org'],
    ['ß and ss in the domain', 'a@fa\u00df.example', 'a@fass.example'],
    ['a Cyrillic letter', 'cyrillic@exaple.org', 'cyrillic@ex\u0430ple.org'],
    ['UTF-8 in the local part', '\u7528\u6237@example.org', '\u7528@example.org'],
  ] as const)('distinguishes addresses that can be two mailboxes: %s', async ([, email, otherEmail]) => {
    expect((await join({ email })).status).toBe(201)
    expect((await join({ email: otherEmail })).status).toBe(201)
  })

  test.for([
    ['another case and parameters', 'application/JSON; charset=UTF-8; x=1'],
    ['a quoted charset', 'application/json; charset="utf-8"'],
  ] as const)('accepts the JSON media type, written with %s', async ([, type]) => {
    const response = await sendRequest(api.origin, {
      path: '/api/waitlist',
      ...createPost({ email: newEmail() }, { 'content-type': type }),
    })
    expect(response.status).toBe(201)
  })

  test('accepts exactly 64 KiB, and a chunked body', async () => {
    const text = JSON.stringify({ email: newEmail() })
    expect((await join(text.padEnd(64 * 1024, ' '))).status).toBe(201)
    const chunked = {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
    }
    const body = JSON.stringify({ email: newEmail() })
    expect((await sendRequest(api.origin, { path: '/api/waitlist', ...chunked, body })).status).toBe(201)
  })

  test('does not pollute Object.prototype', async () => {
    await join('{"email":"proto@example.org","__proto__":{"polluted":true}}')
    await join('{"email":"proto@example.org","constructor":{"prototype":{"polluted":true}}}')
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })
})

describe('simultaneous requests with one address', () => {
  test('add it once: of 200 requests to two instances, exactly one gets status 201', async () => {
    await using otherInstance = await startResource({ otherInstance: api })
    const entriesBefore = await api.countWaitlistEntries()
    const responses = await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        join({ email: 'Race@Example.org' }, index % 2 === 0 ? api : otherInstance),
      ),
    )
    const statuses = responses.map(({ status }) => status).sort()
    expect(statuses).toEqual([...Array(199).fill(200), 201])
    expect(await api.countWaitlistEntries()).toBe(entriesBefore + 1)
  })
})

describe('the limits of the waitlist', () => {
  test('are five requests an hour for one mailbox in any spelling, and the refusal names the policy', async () => {
    await using limitedApi = await startResource({ env: { RESOURCE_LIMITS_FACTOR: '1' } })
    for (const email of [
      'one@example.org',
      'ONE@example.org',
      ' one@Example.org',
      'one@ex\uff41mple.org',
      'one@example.org',
    ]) {
      expect((await join({ email }, limitedApi)).status).toBeLessThan(202)
    }
    const response = await join({ email: 'one@example.org' }, limitedApi)
    expectProblem(response, { status: 429, code: 'rate-limited' })
    expect(response.json()).toMatchObject({ policy: 'waitlist-email' })
    expect(response.headers['retry-after']).toMatch(/^\d+$/)
    expect(response.headers['ratelimit-policy']).toBe(
      '"waitlist-address";q=120;w=3600, "waitlist-email";q=5;w=3600',
    )
    // The six requests above also counted against the limit of the address: 120 - 6 = 114.
    expect(response.headers['ratelimit']).toMatch(
      /^"waitlist-address";r=114;t=\d+, "waitlist-email";r=0;t=\d+$/,
    )
    expect((await join({ email: 'two@example.org' }, limitedApi)).status).toBe(201)
  })

  test('are 120 requests an hour for one IP address, including invalid ones', async () => {
    await using limitedApi = await startResource({ env: { RESOURCE_LIMITS_FACTOR: '1' } })
    const responses = await Promise.all(
      Array.from({ length: 121 }, () => join({ email: 'none' }, limitedApi)),
    )
    expect(responses.filter(({ status }) => status === 400)).toHaveLength(120)
    expect(responses.find(({ status }) => status === 429)?.json()).toMatchObject({
      policy: 'waitlist-address',
    })
  })
})

test('the waitlist responds 500 without its table, 503 without its database, and 201 when the table is back', async () => {
  await using apiWithoutTable = await startResource()
  await apiWithoutTable.db.query('alter table waitlist_entries rename to away')
  expectProblem(await join({ email: 'ana@example.org' }, apiWithoutTable), {
    status: 500,
    code: 'internal-error',
  })
  await apiWithoutTable.db.query('alter table away rename to waitlist_entries')
  await using apiWithoutDatabase = await startResource({
    env: { RESOURCE_DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' },
  })
  const response = await join({ email: 'ana@example.org' }, apiWithoutDatabase)
  expectProblem(response, { status: 503, code: 'unavailable' })
  expect(response.headers['retry-after']).toMatch(/^\d+$/)
  expect((await join({ email: 'ana@example.org' }, apiWithoutTable)).status).toBe(201)
})
