import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { type MailServer, startMailServer } from '@plainpath/mail/testing'
import { JWT_BEARER_GRANT_TYPE } from '@plainpath/metadata'
import { calculateJwkThumbprint } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { introspect, isActive } from './agent-client.ts'
import { type AgentDocuments, createDocument, startAgentDocuments, type UrlAgent } from './agent-documents.ts'
import { expectProblem, expectRefusal, type Refusal } from './expect-refusal.ts'
import { generateTestKeyPair, type KeyPair } from './key-agent.ts'
import { type AuthTestbed, openAuthTestbed } from './open-auth-testbed.ts'
import { parseSecurityEvents } from './parse-security-events.ts'
import { runAuth } from './run-auth.ts'
import type { RunningAuth } from './start-auth.ts'
import {
  type Clock,
  getUrlToken,
  requestUrlToken,
  sendAsAgent,
  setClockBack,
  startUrlInstance,
} from './url-agent.ts'
import { createAddress, findCode, findLinkSecret, sayYes } from './verification-client.ts'

const UNPROVEN: Refusal = {
  status: 401,
  code: 'invalid-client',
  error: 'invalid_client',
  says: /^The signature cannot be verified/,
}

describe('commands for URL clients:', () => {
  const resources = new AsyncDisposableStack()
  let agentDocuments: AgentDocuments
  let mailServer: MailServer
  let testbed: AuthTestbed
  let auth: RunningAuth
  let otherInstance: RunningAuth
  let keys: readonly [KeyPair, KeyPair]
  const clock: Clock = { now: new Date() }
  let env: Record<string, string>
  beforeAll(async () => {
    agentDocuments = resources.use(await startAgentDocuments())
    testbed = resources.use(await openAuthTestbed())
    mailServer = resources.use(await startMailServer())
    const mailSettings = { AUTH_SMTP_URL: mailServer.url }
    auth = resources.use(await startUrlInstance(testbed, agentDocuments, clock, { env: mailSettings }))
    otherInstance = resources.use(
      await startUrlInstance(testbed, agentDocuments, clock, { origin: auth.origin, env: mailSettings }),
    )
    keys = [await generateTestKeyPair(), await generateTestKeyPair()]
    env = { ...(await testbed.createSettings(auth.origin)), ...agentDocuments.settings }
  })
  afterAll(() => resources.disposeAsync())

  const publish = (hostname?: string) =>
    agentDocuments.publish([keys[0]], hostname === undefined ? {} : { hostname })
  const isActiveAtEachInstance = (token: string) =>
    Promise.all([isActive(auth, token), isActive(otherInstance, token)])
  async function runAt(now: () => Date, args: readonly string[]) {
    const { code, printed, errors } = await runAuth(args, env, now)
    return { code, printed, errors, events: parseSecurityEvents(errors.split('\n')) }
  }
  const run = (...args: string[]) => runAt(() => clock.now, args)
  /** Publishes a document and gets a token at each instance. The returned token is that of `auth`. */
  const createClient = async (hostname?: string): Promise<{ agent: UrlAgent; token: string }> => {
    const agent = publish(hostname)
    await getUrlToken(otherInstance, agent, clock)
    return { agent, token: (await getUrlToken(auth, agent, clock)).token }
  }
  const findAgentRow = async (id: string) =>
    (await testbed.db.query('select * from agents where id = $1', [id])).rows[0]

  test('agents show names the domain, the document’s expiry and the key thumbprint; agents list the id and the thumbprint', async () => {
    const { agent } = await createClient()
    const thumbprint = await calculateJwkThumbprint(keys[0].jwk)
    const { printed: json } = await run('agents', 'show', agent.client_id, '--json')
    expect(JSON.parse(json)).toMatchObject({
      client_id: agent.client_id,
      verified_domain: 'agents.clients.test',
      key_thumbprints: [thumbprint],
      document_expires_at: expect.stringMatching(/Z$/),
    })
    for (const args of [
      ['agents', 'show', agent.client_id],
      ['agents', 'list'],
    ]) {
      const { printed } = await run(...args)
      expect(printed).toContain(agent.client_id)
      expect(printed).toContain(thumbprint)
    }
  })

  test('stop, disable and enable accept a URL as the client', async () => {
    const { agent, token } = await createClient()
    expect((await run('stop', '--client', agent.client_id, '--reason', 'a test')).code).toBe(0)
    expect(await isActiveAtEachInstance(token)).toEqual([false, false])
    await expect.poll(async () => (await requestUrlToken(auth, agent, clock)).status).toBe(200)
    const nextToken = await getUrlToken(auth, agent, clock)
    expect((await run('agents', 'disable', agent.client_id)).code).toBe(0)
    expect(await isActiveAtEachInstance(nextToken.token)).toEqual([false, false])
    expect((await run('agents', 'enable', agent.client_id)).code).toBe(0)
    await expect.poll(async () => (await requestUrlToken(auth, agent, clock)).status).toBe(200)
  })

  describe('agents refresh', () => {
    const systemCertificates = getCACertificates('default')
    // The command has no option to trust the test server's certificate authority, so this process trusts it.
    beforeAll(() => setDefaultCACertificates([...systemCertificates, agentDocuments.documentOverrides.ca]))
    afterAll(() => setDefaultCACertificates(systemCertificates))
    /** Runs at the real time, because the result of a fetch is stored only if it is newer than the stored document. `clock` stands still. */
    const refresh = (agent: UrlAgent) => runAt(() => new Date(), ['agents', 'refresh', agent.client_id])

    test('applies a new key without a revocation, and revokes the tokens when a key is removed', async () => {
      const { agent, token } = await createClient()
      agent.setKeys(...keys)
      const afterAdding = await refresh(agent)
      expect(afterAdding, afterAdding.errors).toMatchObject({
        code: 0,
        printed: expect.stringContaining('no key was removed'),
      })
      expect(await isActiveAtEachInstance(token)).toEqual([true, true])
      agent.setKeys(keys[1])
      const afterRemoval = await refresh(agent)
      expect(afterRemoval).toMatchObject({ code: 0, printed: expect.stringContaining('a key was removed') })
      expect(afterRemoval.events).toEqual([
        expect.objectContaining({ event: 'document-changed', client_id: agent.client_id, by: 'operator' }),
      ])
      expect(await isActiveAtEachInstance(token)).toEqual([false, false])
      for (const each of [auth, otherInstance]) {
        await expect
          .poll(async () => (await requestUrlToken(each, { ...agent, key: keys[1] }, clock)).status)
          .toBe(200)
        await expectRefusal(each, () => requestUrlToken(each, agent, clock), UNPROVEN)
      }
    })

    test('revokes nothing if the document cannot be fetched, but revokes the tokens if it is no longer an agent’s', async () => {
      const { agent, token } = await createClient()
      agent.setDocument(undefined)
      expect(await refresh(agent)).toMatchObject({
        code: 1,
        errors: expect.stringMatching(/No usable document could be fetched, so nothing was changed/),
      })
      expect(await isActiveAtEachInstance(token)).toEqual([true, true])
      agent.setDocument({ ...createDocument(agent.client_id, [keys[0]]), grant_types: ['password'] })
      expect(await refresh(agent)).toMatchObject({
        code: 1,
        errors: expect.stringMatching(/grant_types must be.*All tokens of https:\S+ are revoked\./),
      })
      expect(await isActiveAtEachInstance(token)).toEqual([false, false])
      expect((await refresh(agent)).errors).toMatch(/No token is left to revoke/)
    })

    test('revokes the tokens when the document begins to require bound tokens', async () => {
      const { agent, token } = await createClient()
      agent.setDocument({ ...createDocument(agent.client_id, [keys[0]]), dpop_bound_access_tokens: true })
      expect(await refresh(agent)).toMatchObject({
        code: 0,
        printed: expect.stringContaining('must be bound to a key now'),
      })
      expect(await isActiveAtEachInstance(token)).toEqual([false, false])
      agent.setDocument(createDocument(agent.client_id, [keys[0]]))
      expect(await refresh(agent)).toMatchObject({
        code: 0,
        printed: expect.stringContaining('no key was removed'),
      })
    })

    test('changes nothing if the stored document was fetched in the future by the clock, and says so', async () => {
      const { agent, token } = await createClient()
      const { rows } = await testbed.db.query<{ generation: number }>(
        `update agents set document_fetched_at = document_fetched_at + interval '1 hour' where id = $1
         returning generation`,
        [agent.client_id],
      )
      const documentWithNewKey = createDocument(agent.client_id, [keys[1]])
      for (const document of [documentWithNewKey, { ...documentWithNewKey, grant_types: ['password'] }]) {
        agent.setDocument(document)
        expect(await refresh(agent)).toMatchObject({
          code: 1,
          errors: expect.stringMatching(/Nothing was changed: .*Set the clock right/),
        })
        expect(await findAgentRow(agent.client_id)).toMatchObject({ generation: rows[0]?.generation })
      }
      expect(await isActiveAtEachInstance(token)).toEqual([true, true])
    })

    test('refuses an unknown client, and one that registered', async () => {
      expect(await run('agents', 'refresh', publish().client_id)).toMatchObject({ code: 1 })
      expect(await run('agents', 'refresh', `agt_${'A'.repeat(22)}`)).toMatchObject({ code: 2 })
    })
  })

  describe('agents block', () => {
    test('disables the agents of a domain and its subdomains at both instances, and refuses new ones until it is unblocked', async () => {
      const agentsInDomain = [
        await createClient('agents.clients.test'),
        await createClient('deep.agents.clients.test'),
      ] as const
      const otherAgents = [
        await createClient('notagents.clients.test'),
        await createClient('clients.test'),
      ] as const
      const disabledClient = await createClient('agents.clients.test')
      await run('agents', 'disable', disabledClient.agent.client_id)

      const dryRun = await run(
        'agents',
        'block',
        'agents.clients.test',
        '--reason',
        'why',
        '--dry-run',
        '--json',
      )
      expect(JSON.parse(dryRun.printed)).toMatchObject({
        ok: true,
        done: false,
        domain: 'agents.clients.test',
      })
      expect(await isActiveAtEachInstance(agentsInDomain[0].token)).toEqual([true, true])

      const blockResult = await run(
        'agents',
        'block',
        'Agents.clients.test.',
        '--reason',
        'they send spam',
        '--json',
      )
      expect(blockResult.code, blockResult.errors).toBe(0)
      const { agents, audit_head } = JSON.parse(blockResult.printed) as { agents: number; audit_head: string }
      expect(agents).toBe((JSON.parse(dryRun.printed) as { agents: number }).agents)
      expect(blockResult.events).toContainEqual(
        expect.objectContaining({ event: 'domain-blocked', domain: 'agents.clients.test', by: 'operator' }),
      )
      for (const { token, agent } of agentsInDomain) {
        expect(await isActiveAtEachInstance(token)).toEqual([false, false])
        expect(await findAgentRow(agent.client_id)).toMatchObject({ status: 'disabled' })
        for (const each of [auth, otherInstance]) {
          await expect.poll(async () => (await requestUrlToken(each, agent, clock)).status).toBe(401)
          await expectRefusal(each, () => requestUrlToken(each, agent, clock), UNPROVEN)
        }
      }
      for (const { token } of otherAgents) expect(await isActiveAtEachInstance(token)).toEqual([true, true])
      for (const hostname of ['agents.clients.test', 'deep.agents.clients.test'])
        for (const each of [auth, otherInstance]) {
          const newAgent = publish(hostname)
          await expectRefusal(each, () => requestUrlToken(each, newAgent, clock), UNPROVEN)
          expect(newAgent.countFetches()).toBe(0)
        }
      for (const hostname of ['notagents.clients.test', 'clients.test'])
        expect((await requestUrlToken(auth, publish(hostname), clock)).status).toBe(200)

      const enableResult = await run('agents', 'enable', agentsInDomain[0].agent.client_id)
      expect(enableResult).toMatchObject({
        code: 1,
        errors: expect.stringContaining('its domain is blocked'),
      })
      expect((await run('agents', 'blocks', '--verify', '--head', audit_head)).code).toBe(0)
      expect((await run('agents', 'blocks')).printed).toMatch(/block +agents\.clients\.test .*they send spam/)

      const unblockResult = await run('agents', 'unblock', 'agents.clients.test', '--reason', 'they stopped')
      expect(unblockResult.code, unblockResult.errors).toBe(0)
      expect(unblockResult.events).toContainEqual(
        expect.objectContaining({ event: 'domain-unblocked', domain: 'agents.clients.test' }),
      )
      await expectRefusal(auth, () => requestUrlToken(auth, agentsInDomain[0].agent, clock), UNPROVEN)
      expect((await requestUrlToken(auth, publish('agents.clients.test'), clock)).status).toBe(200)
      expect((await run('agents', 'enable', agentsInDomain[0].agent.client_id)).code).toBe(0)
      await expect
        .poll(async () => (await requestUrlToken(auth, agentsInDomain[0].agent, clock)).status)
        .toBe(200)
      expect((await run('agents', 'unblock', 'agents.clients.test', '--reason', 'x')).code).toBe(1)
    })

    test('leaves no active token to agents whose first requests arrive at the same time', async () => {
      const agents = Array.from({ length: 12 }, () => publish('other.clients.test'))
      const requests = agents.map((agent, n) => requestUrlToken(n % 2 ? auth : otherInstance, agent, clock))
      const blocking = run('agents', 'block', 'other.clients.test', '--reason', 'a test')
      const responses = await Promise.all(requests)
      expect((await blocking).code).toBe(0)
      for (const [n, { status, text }] of responses.entries()) {
        const row = await findAgentRow(agents[n]?.client_id ?? '')
        if (row) expect(row).toMatchObject({ status: 'disabled' })
        if (status !== 200) continue
        const { access_token } = JSON.parse(text) as { access_token: string }
        expect(await isActiveAtEachInstance(access_token)).toEqual([false, false])
      }
      expect((await run('agents', 'unblock', 'other.clients.test', '--reason', 'done')).code).toBe(0)
    })

    test('says how many agents it disables', async () => {
      const block = (...options: string[]) =>
        run('agents', 'block', 'third.clients.test', '--reason', 'why', ...options)
      await createClient('third.clients.test')
      expect((await block('--dry-run')).printed).toBe(
        'Would block third.clients.test unless it is already blocked, and disable its agents: 1, including any that are already disabled.',
      )
      expect((await block()).printed).toMatch(
        /^third\.clients\.test is blocked; 1 agent is disabled, and its tokens are revoked\.\nAudit head: [\w-]{43}$/,
      )
      expect((await block()).printed).toMatch(/^third\.clients\.test was already blocked; 1 agent is/)
      expect((await run('agents', 'unblock', 'third.clients.test', '--reason', 'done')).code).toBe(0)
    })

    test.for(['', 'a b', 'https://x.example', 'x.example/y', '*.example.org', '.', 'user@x.example'])(
      'refuses %j, which is not a domain',
      async (domain) => {
        expect((await run('agents', 'block', domain, '--reason', 'x')).code).toBe(2)
      },
    )
  })

  test('an e-mail verification works as for other agents, and its tokens expire no later than the document', async () => {
    const agent = agentDocuments.publish([keys[0]], { maxAge: 1200 })
    await getUrlToken(auth, agent, clock)
    const email = createAddress('canary-url-person')
    const beginResponse = await sendAsAgent(auth, agent, clock, {
      method: 'POST',
      path: '/api/agent/claim',
      body: { email },
    })
    expect(beginResponse.status, beginResponse.text).toBe(202)
    const findMail = () => mailServer.received.findLast(({ to }) => to.includes(email))
    await expect.poll(findMail).toBeDefined()
    const page = await sayYes(auth, { secret: findLinkSecret(findMail()?.text ?? '') })
    const completeResponse = await sendAsAgent(auth, agent, clock, {
      method: 'POST',
      path: '/api/agent/claim/complete',
      body: { otp: findCode(page.text) },
    })
    expect(completeResponse.status, completeResponse.text).toBe(200)
    const { identity_assertion } = JSON.parse(completeResponse.text) as { identity_assertion: string }
    const grant = { grant_type: JWT_BEARER_GRANT_TYPE, assertion: identity_assertion }
    const { token, expiresIn, scope } = await getUrlToken(auth, agent, clock, grant)
    expect(scope).toContain('contact:write')
    expect(expiresIn).toBeLessThanOrEqual(1200)
    const { payload } = await introspect(auth, token)
    expect(payload.token_introspection).toMatchObject({
      active: true,
      client_id: agent.client_id,
      identity_type: 'verified_email',
    })
    const deleteResponse = await sendAsAgent(auth, agent, clock, { method: 'DELETE', path: '/api/agent' })
    expect(deleteResponse.status, deleteResponse.text).toBe(204)
    expect(await isActiveAtEachInstance(token)).toEqual([false, false])
    await getUrlToken(auth, agent, clock)
    const refusedResponse = await requestUrlToken(auth, agent, clock, { fields: grant })
    expectProblem(refusedResponse, { status: 400, code: 'invalid-grant', error: 'invalid_grant' })
  })

  describe('replay after a restore', () => {
    test('blocks domains and revokes the tokens of changed documents again', async () => {
      const { agent, token } = await createClient()
      const { token: blockedToken } = await createClient('third.clients.test')
      setClockBack(clock, 0)
      const formatLine = (event: object) =>
        JSON.stringify({ msg: 'security event', time: new Date().toISOString(), ...event })
      const logFile = path.join(env['AUTH_OUTBOX_DIR'] ?? '', '..', 'log')
      await writeFile(
        logFile,
        `${[
          { event: 'document-changed', client_id: agent.client_id },
          { event: 'domain-blocked', domain: 'third.clients.test' },
        ]
          .map(formatLine)
          .join('\n')}\n`,
      )
      const replayResult = await run('replay', '--log', logFile, '--json')
      expect(replayResult.code, replayResult.errors).toBe(0)
      expect(JSON.parse(replayResult.printed)).toMatchObject({ ended: { documents: 1, domains: 1 } })
      expect(await isActiveAtEachInstance(token)).toEqual([false, false])
      expect(await isActiveAtEachInstance(blockedToken)).toEqual([false, false])
      const fetchesBefore = agent.countFetches()
      // Until this instance is notified of the change, it still issues tokens without a fetch. The store knows that they are revoked.
      await expect
        .poll(async () => [(await requestUrlToken(auth, agent, clock)).status, agent.countFetches()])
        .toEqual([200, fetchesBefore + 1])
    })
  })
})
