import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ERASED_ROW, type HoldFixture, MINUTE_MS, startHoldFixture } from './hold-fixture.ts'
import { runResource } from './run-resource.ts'
import { expectProblem, sendRequest } from './send-request.ts'
import { newMessage } from './start-contact.ts'
import { type RunningResource, startResource } from './start-resource.ts'

const HOST = 'agent.example.org'
/** The domain as mails show it. The brackets prevent mail programs from making it a link. */
const DOMAIN_IN_MAIL = 'agent[.]example[.]org (domain checked)'
/** A name that imitates the text for a verified domain. */
const FORGED_NAME = `An agent at ${HOST} (domain checked)`
/** The member `claim` of an introspection: the e-mail verification by which the person allowed the agent. */
const CLAIM = {
  agent_registered_at: '2026-11-18T12:00:00.000Z',
  verified_at: '2026-11-19T12:00:00.000Z',
  expires_at: '2026-12-19T12:00:00.000Z',
}
/** Creates the claims of a client with a verified domain. */
const createDomainClaims = (host: string, file = 'agent.json') => ({
  client_id: `https://${host}/${file}`,
  verified_domain: host,
  email_verified: false,
})

describe('limits', () => {
  let addressCount = 0
  /** Sends a request from an address that no earlier request used. */
  const read = (api: RunningResource, claims: Record<string, unknown>, requestPath = '/api/guides') => {
    addressCount += 1
    return sendRequest(api.origin, {
      path: requestPath,
      headers: {
        authorization: `Bearer ${api.auth.issue(claims)}`,
        'x-forwarded-for': `203.0.113.${addressCount}`,
      },
    })
  }
  const startWithFactor = (factor: string) =>
    startResource({ env: { RESOURCE_LIMITS_FACTOR: factor, RESOURCE_TRUSTED_PROXIES: '127.0.0.1' } })

  test('are higher for a verified domain, but not for a client whose id only looks like a URL', async () => {
    await using api = await startWithFactor('1')
    const getPolicies = async (claims: Record<string, unknown>, requestPath?: string) =>
      (await read(api, claims, requestPath)).headers['ratelimit-policy']
    const higherLimits = '"reads-verified";q=1800;w=60, "reads-domain";q=3000;w=60'
    expect(await getPolicies(createDomainClaims(HOST))).toBe(`"reads-address";q=3000;w=60, ${higherLimits}`)
    expect(
      await getPolicies(
        { ...createDomainClaims(HOST), scope: 'contact:write' },
        `/api/contact/${crypto.randomUUID()}`,
      ),
    ).toContain(higherLimits)
    const usualLimits = '"reads-address";q=3000;w=60, "reads-client";q=600;w=60'
    expect(await getPolicies({})).toBe(usualLimits)
    expect(await getPolicies({ email_verified: false })).toBe(usualLimits)
    expect(await getPolicies({ client_id: `https://${HOST}/agent.json` })).toBe(usualLimits)
  })

  test('are shared by the clients of one registrable domain, but not by those of a public suffix', async () => {
    // With this factor, the limit of a domain is three requests.
    await using api = await startWithFactor('0.001')
    const readFrom = async (...hosts: string[]) => {
      const statuses: number[] = []
      for (const [index, host] of hosts.entries())
        statuses.push((await read(api, createDomainClaims(host, String(index)))).status)
      return statuses
    }
    expect(await readFrom('a.example.org', 'b.example.org', 'example.org', 'c.example.org')).toEqual([
      200, 200, 200, 429,
    ])
    expect(await readFrom('x.github.io', 'y.github.io', 'z.github.io', 'v.github.io')).toEqual([
      200, 200, 200, 200,
    ])
    const refusal = await read(api, createDomainClaims('d.example.org', 'another'))
    expectProblem(refusal, { status: 429, code: 'rate-limited' })
    expect(refusal.json()).toMatchObject({ policy: 'reads-domain' })
  })

  test.for(['<script>', 'agent.example.org (domain checked)', `${'a.'.repeat(130)}example`, ''])(
    'are not applied to a request whose introspection has the invalid domain %j, which gets 503',
    async (domain) => {
      await using api = await startWithFactor('1')
      const refusal = await read(api, { ...createDomainClaims(HOST), verified_domain: domain })
      expectProblem(refusal, { status: 503, code: 'unavailable' })
    },
  )
})

describe('a message', () => {
  let fixture: HoldFixture
  beforeAll(async () => {
    fixture = await startHoldFixture()
  })
  afterAll(() => fixture[Symbol.asyncDispose]())

  let personCount = 0
  /** Sends a message for a new person by an agent with these claims. */
  async function sendBy(claims: object, agentName?: string) {
    personCount += 1
    const email = `proven-${personCount}@example.org`
    const issueToken = () =>
      fixture.contact.issueToken(email, `reg_proven_${personCount}`, {
        claim: { ...CLAIM, ...(agentName !== undefined && { agent_name: agentName }) },
        ...claims,
      })
    const response = await fixture.contact.send(issueToken(), newMessage())
    expect(response.status, response.body).toBe(202)
    const id = String(response.json()['id'])
    const [receipt] = await fixture.contact.mailServer.waitForMails(1, email)
    return { email, id, receipt: receipt?.text ?? '', headers: { authorization: `Bearer ${issueToken()}` } }
  }
  const runShow = async (id: string, ...options: string[]) => {
    const { keyFolder, databaseUrl } = fixture.contact.api
    const { out } = await runResource(['contact', 'show', id, ...options], {
      RESOURCE_DATABASE_URL: databaseUrl,
      RESOURCE_KEK_FILE: path.join(keyFolder, 'kek'),
      RESOURCE_HASH_KEY_FILE: path.join(keyFolder, 'hash-key'),
    })
    return out
  }
  const withdraw = ({ id, headers }: { id: string; headers: Record<string, string> }) =>
    sendRequest(fixture.contact.api.origin, { method: 'DELETE', path: `/api/contact/${id}`, headers })

  test('of an agent with a verified domain names the domain in the receipt, in the mail to staff, and in contact show', async () => {
    const { id, receipt } = await sendBy(createDomainClaims(HOST), 'a name that is not shown')
    expect(receipt).toMatch(`An AI agent at ${DOMAIN_IN_MAIL} sent us this message for you.\n`)
    expect(receipt).toContain(`
The agent is at ${DOMAIN_IN_MAIL}.
It has shown us that it controls this domain. We did not check who runs it.
It first contacted us on November 18, 2026.

What it may do: send our staff messages for you.
Since: November 19, 2026
`)
    expect(receipt).not.toMatch(/not shown|unverified|agent\.example\.org/)
    await fixture.deliver(id, 10 * MINUTE_MS)
    const staffMail = fixture.findStaffMails(id)[0]?.text ?? ''
    expect(staffMail).toMatch(
      `An AI agent at ${DOMAIN_IN_MAIL} wrote this for a person who confirmed it by e-mail.`,
    )
    expect(await runShow(id)).toContain(
      `\nWritten by an AI agent at ${HOST} (domain checked); e-mail verified\n`,
    )
    expect(JSON.parse(await runShow(id, '--json'))).toMatchObject({
      writtenBy: 'agent',
      verified_domain: HOST,
      email_verified: true,
    })
  })

  test('of an agent with a verified domain has the domain stored encrypted, named in the mail about a withdrawal, and then erased', async () => {
    const sentMessage = await sendBy(createDomainClaims('xn--e1awd7f.example'))
    const storedRows = JSON.stringify(await fixture.queryRows('select c::text from contact_messages c'))
    expect(storedRows).not.toContain(Buffer.from('xn--e1awd7f').toString('hex'))
    expect((await withdraw(sentMessage)).status).toBe(204)
    const [, mail] = await fixture.contact.mailServer.waitForMails(2, sentMessage.email)
    expect(mail?.text).toContain(
      '\nAn AI agent at xn--e1awd7f[.]example (domain checked) sent it for you and then withdrew it.\n',
    )
    expect(await fixture.readStoredContent(sentMessage.id)).toMatchObject([
      { agent_domain_sealed: ERASED_ROW.agent_domain_sealed },
    ])
  })

  test('of a connected app names its host in the receipt and in the mail to staff, and no checked domain', async () => {
    const claim = { ...CLAIM, agent_name: FORGED_NAME, app_host: 'claude.ai' }
    const { id, receipt } = await sendBy({ email_verified: true, claim })
    expect(receipt).toMatch(/^An app at claude\[\.\]ai sent us this message for you\.\n/)
    expect(receipt).toContain('\nIt is an app at claude[.]ai.\nIt calls itself:\n')
    expect(receipt).not.toMatch(/domain checked|AI agent/i)
    await fixture.deliver(id, 10 * MINUTE_MS)
    expect(fixture.findStaffMails(id)[0]?.text).toMatch(/^An app at claude\[\.\]ai wrote this for a person/)
  })

  test('of a connected app names its host in the mail about a withdrawal, with the link that ends its access', async () => {
    const endSecret = 'E'.repeat(43)
    const claim = { ...CLAIM, agent_name: FORGED_NAME, app_host: 'claude.ai', end_secret: endSecret }
    const sentMessage = await sendBy({ email_verified: true, claim })
    expect((await withdraw(sentMessage)).status).toBe(204)
    const [, mail] = await fixture.contact.mailServer.waitForMails(2, sentMessage.email)
    expect(mail?.text).toContain(`
An app at claude[.]ai sent it for you and then withdrew it.

You do not need to do anything. If you did not want this, open this link and
press the button to end its access:
${fixture.contact.api.origin}/claim?end=${endSecret}
`)
  })

  test('of a registered agent names no domain, even if the name of the agent imitates one', async () => {
    const sentMessage = await sendBy({ email_verified: true }, FORGED_NAME)
    expect(sentMessage.receipt).toMatch(/^An AI agent sent us this message for you\.\n/)
    expect(sentMessage.receipt).toContain(
      '\n   “An agent at agent[.]example[.]org (…)”\n\nThat name is unverified',
    )
    expect(sentMessage.receipt).not.toMatch(/domain checked/i)
    expect(await runShow(sentMessage.id)).toContain('\nWritten by an AI agent or app; e-mail verified\n')
    expect(JSON.parse(await runShow(sentMessage.id, '--json'))).not.toHaveProperty('verified_domain')
    expect((await withdraw(sentMessage)).status).toBe(204)
    const [, mail] = await fixture.contact.mailServer.waitForMails(2, sentMessage.email)
    expect(mail?.text).toContain('\nAn AI agent sent it for you and then withdrew it.\n')
    const deliveredMessage = await sendBy({}, FORGED_NAME)
    await fixture.deliver(deliveredMessage.id, 10 * MINUTE_MS)
    expect(fixture.findStaffMails(deliveredMessage.id)[0]?.text).toMatch(
      /^An AI agent wrote this for a person who confirmed it by e-mail\./,
    )
  })
})
