import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { parseKeyEncryptionKeys } from '@plainpath/sealing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectProblem, posting, sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

let api: RunningResource & { keys: string }
beforeAll(async () => {
  api = await startResource()
})
afterAll(() => api[Symbol.asyncDispose]())

const join = (body: unknown, to: { origin: string } = api) =>
  sendRequest(to.origin, { path: '/api/waitlist', ...posting(body) })
let serial = 0
const newEmail = () => `person${++serial}@example.org`

interface Row {
  id: string
  email_sealed: Buffer
  email_hash: Buffer
  email_hash_key: string
  referral_slug: string
  referred_by: string | null
}
async function rowOf(referralSlug: unknown): Promise<Row> {
  const { rows } = await api.db.query<Row>('select * from waitlist_entries where referral_slug = $1', [
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
    const { referralSlug, ...rest } = response.json()
    expect(referralSlug).toMatch(/^[a-z2-7]{16}$/)
    expect(rest).toEqual({ status: 'joined', referralUrl: `${api.origin}/?ref=${referralSlug}` })
  })

  test('responds 200 for a known address, with nothing about the entry', async () => {
    const email = newEmail()
    await join({ email })
    const entriesBefore = await api.entries()
    const response = await join({ email })
    expect(response.status).toBe(200)
    expect(response.json()).toEqual({ status: 'already_joined' })
    expect(await api.entries()).toBe(entriesBefore)
  })

  test('attributes the referrer whose slug is sent, and only an exact one', async () => {
    const { referralSlug } = (await join({ email: newEmail() })).json() as { referralSlug: string }
    const referrer = await rowOf(referralSlug)
    const referredBy = async (referredBySlug: unknown) => {
      const response = await join({ email: newEmail(), referredBySlug })
      expect(response.status).toBe(201)
      return (await rowOf(response.json()['referralSlug'])).referred_by
    }
    expect(await referredBy(referralSlug)).toBe(referrer.id)
    const upperCase = referralSlug.toUpperCase()
    for (const other of [
      upperCase,
      ` ${referralSlug}`,
      '',
      null,
      'nobody',
      `' or 1=1--`,
      'İ'.repeat(16),
      'x'.repeat(100),
    ]) {
      expect(await referredBy(other)).toBeNull()
    }
  })

  test('keeps the address sealed for its row, under a keyed hash, and nowhere in clear', async () => {
    const email = 'Canary.Canary@Example.org'
    const { referralSlug } = (await join({ email })).json()
    const row = await rowOf(referralSlug)
    const keys = parseKeyEncryptionKeys(readFileSync(path.join(api.keys, 'kek'), 'utf8'))
    expect(keys.open(row.email_sealed, `waitlist_entries/${row.id}/email`).toString()).toBe(email)
    const { rows } = await api.db.query<{ text: string }>('select t::text as text from waitlist_entries t')
    const dump = rows.map(({ text }) => text).join('\n')
    expect(dump).not.toMatch(/canary/i)
    expect(dump).not.toContain(Buffer.from('Canary').toString('hex'))
    expect(row.email_hash.equals(createHash('sha256').update('canary.canary@example.org').digest())).toBe(
      false,
    )
    expect(api.logged.join('')).not.toMatch(/canary|example\.org/i)
  })

  test.for([
    ['blanks around it', '  spaced@example.org\t', 'spaced@example.org'],
    ['capitals', 'CAPITALS@Example.ORG', 'capitals@example.org'],
    ['NFD for NFC', 'jose\u0301@example.org', 'jos\u00e9@example.org'],
    ['a domain in Unicode', 'idn@b\u00fccher.example', 'idn@xn--bcher-kva.example'],
    ['a full-width domain', 'wide@\uff45xample.org', 'wide@example.org'],
    ['an ideographic full stop', 'stop@example\u3002org', 'stop@example.org'],
  ] as const)('knows an address in another spelling: %s', async ([, first, second]) => {
    expect((await join({ email: first })).status).toBe(201)
    expect((await join({ email: second })).status).toBe(200)
  })

  test.for([
    ['a plus-tag', 'tag@example.org', 'tag+news@example.org'],
    ['a dot', 'dotted@example.org', 'dot.ted@example.org'],
    ['ß and ss in the domain', 'a@fa\u00df.example', 'a@fass.example'],
    ['a Cyrillic letter', 'cyrillic@exaple.org', 'cyrillic@ex\u0430ple.org'],
    ['UTF-8 in the local part', '\u7528\u6237@example.org', '\u7528@example.org'],
  ] as const)('distinguishes addresses that may be two mailboxes: %s', async ([, first, second]) => {
    expect((await join({ email: first })).status).toBe(201)
    expect((await join({ email: second })).status).toBe(201)
  })

  test.for([
    ['another case and parameters', 'application/JSON; charset=UTF-8; x=1'],
    ['a quoted charset', 'application/json; charset="utf-8"'],
  ] as const)('accepts its media type in %s', async ([, type]) => {
    const response = await sendRequest(api.origin, {
      path: '/api/waitlist',
      ...posting({ email: newEmail() }, { 'content-type': type }),
    })
    expect(response.status).toBe(201)
  })

  test('accepts exactly 16 KiB, and a chunked body', async () => {
    const text = JSON.stringify({ email: newEmail() })
    expect((await join(text.padEnd(16 * 1024, ' '))).status).toBe(201)
    const chunked = {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
    }
    const body = JSON.stringify({ email: newEmail() })
    expect((await sendRequest(api.origin, { path: '/api/waitlist', ...chunked, body })).status).toBe(201)
  })

  test('does not touch prototypes', async () => {
    await join('{"email":"proto@example.org","__proto__":{"polluted":true}}')
    await join('{"email":"proto@example.org","constructor":{"prototype":{"polluted":true}}}')
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })
})

describe('of simultaneous requests with one address', () => {
  test('exactly one of 200 is 201, over two instances', async () => {
    await using other = await startResource({ beside: api })
    const entriesBefore = await api.entries()
    const responses = await Promise.all(
      Array.from({ length: 200 }, (_, n) => join({ email: 'Race@Example.org' }, n % 2 === 0 ? api : other)),
    )
    const statuses = responses.map(({ status }) => status).sort()
    expect(statuses).toEqual([...Array(199).fill(200), 201])
    expect(await api.entries()).toBe(entriesBefore + 1)
  })
})

describe('the limits of the waitlist', () => {
  test('are five an hour for one mailbox, in whatever spelling, and name the policy', async () => {
    await using strict = await startResource({ env: { RESOURCE_LIMITS_FACTOR: '1' } })
    for (const email of [
      'one@example.org',
      'ONE@example.org',
      ' one@Example.org',
      'one@ex\uff41mple.org',
      'one@example.org',
    ]) {
      expect((await join({ email }, strict)).status).toBeLessThan(202)
    }
    const response = await join({ email: 'one@example.org' }, strict)
    expectProblem(response, { status: 429, code: 'rate-limited' })
    expect(response.json()).toMatchObject({ policy: 'waitlist-email' })
    expect(response.headers['retry-after']).toMatch(/^\d+$/)
    expect(response.headers['ratelimit-policy']).toBe(
      '"waitlist-address";q=120;w=3600, "waitlist-email";q=5;w=3600',
    )
    expect(response.headers['ratelimit']).toMatch(
      /^"waitlist-address";r=114;t=\d+, "waitlist-email";r=0;t=\d+$/,
    )
    expect((await join({ email: 'two@example.org' }, strict)).status).toBe(201)
  })

  test('are 120 an hour for one address, invalid requests too', async () => {
    await using strict = await startResource({ env: { RESOURCE_LIMITS_FACTOR: '1' } })
    const responses = await Promise.all(Array.from({ length: 121 }, () => join({ email: 'none' }, strict)))
    expect(responses.filter(({ status }) => status === 400)).toHaveLength(120)
    expect(responses.find(({ status }) => status === 429)?.json()).toMatchObject({
      policy: 'waitlist-address',
    })
  })
})

test('the waitlist responds 503 without its database, and 201 again later', async () => {
  await using lonely = await startResource()
  await lonely.db.query('alter table waitlist_entries rename to away')
  expectProblem(await join({ email: 'ana@example.org' }, lonely), { status: 500, code: 'internal-error' })
  await lonely.db.query('alter table away rename to waitlist_entries')
  await using dead = await startResource({
    env: { RESOURCE_DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' },
  })
  const response = await join({ email: 'ana@example.org' }, dead)
  expectProblem(response, { status: 503, code: 'unavailable' })
  expect(response.headers['retry-after']).toMatch(/^\d+$/)
  expect((await join({ email: 'ana@example.org' }, lonely)).status).toBe(201)
})
