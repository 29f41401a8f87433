import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newMessage } from './contact-client.ts'
import { ERASED, type Holding, MINUTE_MS, startHolding } from './contact-people.ts'
import { runResource } from './run-resource.ts'
import { expectProblem, sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

const HOST = 'agent.example.org'
const NAMED = 'agent[.]example[.]org (domain checked)'
/** A name that says what only a verified domain may say. */
const FORGED = `An agent at ${HOST} (domain checked)`
const CLAIM = {
  agent_registered_at: '2026-11-18T12:00:00.000Z',
  verified_at: '2026-11-19T12:00:00.000Z',
  expires_at: '2026-12-19T12:00:00.000Z',
}
const at = (host: string, file = 'agent.json') => ({
  client_id: `https://${host}/${file}`,
  verified_domain: host,
  email_verified: false,
})

describe('limits', () => {
  /** Each request comes from an address of its own. */
  let address = 0
  const read = (api: RunningResource, claims: Record<string, unknown>, route = '/api/guides') => {
    address += 1
    return sendRequest(api.origin, {
      path: route,
      headers: {
        authorization: `Bearer ${api.auth.issue(claims)}`,
        'x-forwarded-for': `203.0.113.${address}`,
      },
    })
  }
  const start = (factor: string) =>
    startResource({ env: { RESOURCE_LIMITS_FACTOR: factor, RESOURCE_TRUSTED_PROXIES: '127.0.0.1' } })

  test('are higher for a verified domain, and for others as before, whatever their ids look like', async () => {
    await using api = await start('1')
    const policies = async (claims: Record<string, unknown>, route?: string) =>
      (await read(api, claims, route)).headers['ratelimit-policy']
    const higher = '"reads-verified";q=1800;w=60, "reads-domain";q=3000;w=60'
    expect(await policies(at(HOST))).toBe(`"reads-address";q=3000;w=60, ${higher}`)
    expect(
      await policies({ ...at(HOST), scope: 'contact:write' }, `/api/contact/${crypto.randomUUID()}`),
    ).toContain(higher)
    const usual = '"reads-address";q=3000;w=60, "reads-client";q=600;w=60'
    expect(await policies({})).toBe(usual)
    expect(await policies({ email_verified: false })).toBe(usual)
    expect(await policies({ client_id: `https://${HOST}/agent.json` })).toBe(usual)
  })

  test('are shared by the clients of one registrable domain, and not under a public suffix', async () => {
    await using api = await start('0.001')
    const statuses = async (...hosts: string[]) => {
      const all: number[] = []
      for (const [index, host] of hosts.entries()) all.push((await read(api, at(host, String(index)))).status)
      return all
    }
    expect(await statuses('a.example.org', 'b.example.org', 'example.org', 'c.example.org')).toEqual([
      ...[200, 200, 200],
      429,
    ])
    expect(await statuses('x.github.io', 'y.github.io', 'z.github.io', 'v.github.io')).toEqual([
      ...[200, 200, 200, 200],
    ])
    const refused = await read(api, at('d.example.org', 'another'))
    expectProblem(refused, { status: 429, code: 'rate-limited' })
    expect(refused.json()).toMatchObject({ policy: 'reads-domain' })
  })

  test.for(['<script>', 'agent.example.org (domain checked)', `${'a.'.repeat(130)}example`, ''])(
    'introspection with the domain %j is not believed',
    async (domain) => {
      await using api = await start('1')
      const refused = await read(api, { ...at(HOST), verified_domain: domain })
      expectProblem(refused, { status: 503, code: 'unavailable' })
    },
  )
})

describe('a message of an agent with a verified domain', () => {
  let holding: Holding
  beforeAll(async () => {
    holding = await startHolding()
  })
  afterAll(() => holding[Symbol.asyncDispose]())

  let people = 0
  async function sendBy(claims: object, agentName?: string) {
    people += 1
    const email = `proven-${people}@example.org`
    const issue = () =>
      holding.contact.tokenOf(email, `reg_proven_${people}`, {
        claim: { ...CLAIM, ...(agentName !== undefined && { agent_name: agentName }) },
        ...claims,
      })
    const sent = await holding.contact.send(issue(), newMessage())
    expect(sent.status, sent.body).toBe(202)
    const id = String(sent.json()['id'])
    const [receipt] = await holding.contact.server.mails(1, email)
    return { email, id, receipt: receipt?.text ?? '', headers: { authorization: `Bearer ${issue()}` } }
  }
  const show = async (id: string, ...more: string[]) => {
    const { keys, databaseUrl } = holding.contact.api
    const { out } = await runResource(['contact', 'show', id, ...more], {
      RESOURCE_DATABASE_URL: databaseUrl,
      RESOURCE_KEK_FILE: path.join(keys, 'kek'),
      RESOURCE_HASH_KEY_FILE: path.join(keys, 'hash-key'),
    })
    return out
  }
  const withdraw = ({ id, headers }: { id: string; headers: Record<string, string> }) =>
    sendRequest(holding.contact.api.origin, { method: 'DELETE', path: `/api/contact/${id}`, headers })

  test('appears in the receipt, in the mail to staff, and in the commands for staff', async () => {
    const { id, receipt } = await sendBy(at(HOST), 'a name that is not shown')
    expect(receipt).toMatch(`An AI agent at ${NAMED} sent us this message for you.\n`)
    expect(receipt).toContain(`
The agent is at ${NAMED}.
It has shown us that it controls this domain. We did not check who runs it.
It first contacted us on November 18, 2026.

What it may do: send our staff messages for you.
Since: November 19, 2026
`)
    expect(receipt).not.toMatch(/not shown|unverified|agent\.example\.org/)
    await holding.deliver(id, 10 * MINUTE_MS)
    const desk = holding.toDesk(id)[0]?.text ?? ''
    expect(desk).toMatch(`An AI agent at ${NAMED} wrote this for a person who confirmed it by e-mail.`)
    expect(await show(id)).toContain(
      `\nWritten by an AI agent at ${HOST} (domain checked); e-mail verified\n`,
    )
    expect(JSON.parse(await show(id, '--json'))).toMatchObject({
      writtenBy: 'agent',
      verified_domain: HOST,
      email_verified: true,
    })
  })

  test('names it in the mail about a withdrawal, and is then erased completely', async () => {
    const sent = await sendBy(at('xn--e1awd7f.example'))
    const stored = JSON.stringify(await holding.rows('select c::text from contact_messages c'))
    expect(stored).not.toContain(Buffer.from('xn--e1awd7f').toString('hex'))
    expect((await withdraw(sent)).status).toBe(204)
    const [, mail] = await holding.contact.server.mails(2, sent.email)
    expect(mail?.text).toContain(
      '\nAn AI agent at xn--e1awd7f[.]example (domain checked) sent it for you and then withdrew it.\n',
    )
    expect(await holding.storedContent(sent.id)).toMatchObject([
      { agent_domain_sealed: ERASED.agent_domain_sealed },
    ])
  })

  test('gives way to where the app is, for an app that a person connected', async () => {
    const claim = { ...CLAIM, agent_name: FORGED, app_host: 'claude.ai' }
    const { id, receipt } = await sendBy({ email_verified: true, claim })
    expect(receipt).toMatch(/^An app at claude\[\.\]ai sent us this message for you\.\n/)
    expect(receipt).toContain('\nIt is an app at claude[.]ai.\nIt calls itself:\n')
    expect(receipt).not.toMatch(/domain checked|AI agent/i)
    await holding.deliver(id, 10 * MINUTE_MS)
    expect(holding.toDesk(id)[0]?.text).toMatch(/^An app at claude\[\.\]ai wrote this for a person/)
  })

  test('gives way to where the app is in the mail about a withdrawal, too, with the link that ends its access', async () => {
    const end = 'E'.repeat(43)
    const claim = { ...CLAIM, agent_name: FORGED, app_host: 'claude.ai', end_secret: end }
    const sent = await sendBy({ email_verified: true, claim })
    expect((await withdraw(sent)).status).toBe(204)
    const [, mail] = await holding.contact.server.mails(2, sent.email)
    expect(mail?.text).toContain(`
An app at claude[.]ai sent it for you and then withdrew it.

You do not need to do anything. If you did not want this, open this link and
press the button to end its access:
${holding.contact.api.origin}/claim?end=${end}
`)
  })

  test('is absent for a registered agent, whatever its name', async () => {
    const sent = await sendBy({ email_verified: true }, FORGED)
    expect(sent.receipt).toMatch(/^An AI agent sent us this message for you\.\n/)
    expect(sent.receipt).toContain('\n   “An agent at agent[.]example[.]org (…)”\n\nThat name is unverified')
    expect(sent.receipt).not.toMatch(/domain checked/i)
    expect(await show(sent.id)).toContain('\nWritten by an AI agent or app; e-mail verified\n')
    expect(JSON.parse(await show(sent.id, '--json'))).not.toHaveProperty('verified_domain')
    expect((await withdraw(sent)).status).toBe(204)
    const [, mail] = await holding.contact.server.mails(2, sent.email)
    expect(mail?.text).toContain('\nAn AI agent sent it for you and then withdrew it.\n')
    const staff = await sendBy({}, FORGED)
    await holding.deliver(staff.id, 10 * MINUTE_MS)
    expect(holding.toDesk(staff.id)[0]?.text).toMatch(
      /^An AI agent wrote this for a person who confirmed it by e-mail\./,
    )
  })
})
