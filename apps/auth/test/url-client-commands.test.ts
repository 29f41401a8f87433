import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type MailServer, startMailServer } from '@plainpath/mail/testing'
import { JWT_BEARER_GRANT } from '@plainpath/metadata'
import { calculateJwkThumbprint } from 'jose'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { introspect, isActive } from './agent-client.ts'
import { codeIn, newAddress, sayYes, secretIn } from './claim-client.ts'
import { type DocumentServer, documentOf, startDocumentServer, type UrlAgent } from './document-server.ts'
import { expectProblem, expectRefusal, type Refusal } from './expect-refusal.ts'
import { type KeyPair, newKey } from './key-agent.ts'
import { type AuthStores, openAuthStores } from './open-auth-stores.ts'
import { runAuth } from './run-auth.ts'
import { securityEventsIn } from './security-events-in.ts'
import type { RunningAuth } from './start-auth.ts'
import { type Clock, getUrlToken, requestUrlToken, sendAs, setBack, startUrlInstance } from './url-agent.ts'

vi.setConfig({ testTimeout: 30_000 })

const Failed = z.object({ code: z.int(), stdout: z.string(), stderr: z.string() })

const UNPROVEN: Refusal = {
  status: 401,
  code: 'invalid-client',
  error: 'invalid_client',
  says: /^The signature cannot be verified/,
}

describe('commands for URL clients:', () => {
  const resources = new AsyncDisposableStack()
  let server: DocumentServer
  let mail: MailServer
  let stores: AuthStores
  let auth: RunningAuth
  let other: RunningAuth
  let keys: readonly [KeyPair, KeyPair]
  let clock: Clock
  let env: Record<string, string>
  beforeAll(async () => {
    clock = { now: new Date() }
    server = resources.use(await startDocumentServer())
    stores = resources.use(await openAuthStores())
    mail = resources.use(await startMailServer())
    const mails = { AUTH_SMTP_URL: mail.url }
    auth = resources.use(await startUrlInstance(stores, server, clock, { env: mails }))
    other = resources.use(await startUrlInstance(stores, server, clock, { origin: auth.origin, env: mails }))
    keys = [await newKey(), await newKey()]
    env = { ...(await stores.settingsFor(auth.origin)), ...server.settings }
  })
  afterAll(() => resources.disposeAsync())

  const publish = (host?: string) => server.publish([keys[0]], host === undefined ? {} : { host })
  const activeAt = (token: string) => Promise.all([isActive(auth, token), isActive(other, token)])
  async function run(...words: string[]) {
    const { code, printed, errors } = await runAuth(words, env, () => clock.now)
    return { code, printed, errors, events: securityEventsIn(errors.split('\n')) }
  }
  const newClient = async (host?: string): Promise<{ agent: UrlAgent; token: string }> => {
    const agent = publish(host)
    await getUrlToken(other, agent, clock)
    return { agent, token: (await getUrlToken(auth, agent, clock)).token }
  }
  const rowOf = async (id: string) =>
    (await stores.db.query('select * from agents where id = $1', [id])).rows[0]

  test('agents list and show name the domain, the document and the thumbprints of the keys', async () => {
    const { agent } = await newClient()
    const thumbprint = await calculateJwkThumbprint(keys[0].jwk)
    const shown = await run('agents', 'show', agent.client_id, '--json')
    expect(JSON.parse(shown.printed)).toMatchObject({
      client_id: agent.client_id,
      verified_domain: 'agents.clients.test',
      key_thumbprints: [thumbprint],
      document_expires_at: expect.stringMatching(/Z$/),
    })
    for (const words of [
      ['agents', 'show', agent.client_id],
      ['agents', 'list'],
    ]) {
      const { printed } = await run(...words)
      expect(printed).toContain(agent.client_id)
      expect(printed).toContain(thumbprint)
    }
  })

  test('stop and disable take a URL', async () => {
    const { agent, token } = await newClient()
    expect((await run('stop', '--client', agent.client_id, '--reason', 'a test')).code).toBe(0)
    expect(await activeAt(token)).toEqual([false, false])
    await expect.poll(async () => (await requestUrlToken(auth, agent, clock)).status).toBe(200)
    const next = await getUrlToken(auth, agent, clock)
    expect((await run('agents', 'disable', agent.client_id)).code).toBe(0)
    expect(await activeAt(next.token)).toEqual([false, false])
    expect((await run('agents', 'enable', agent.client_id)).code).toBe(0)
    await expect.poll(async () => (await requestUrlToken(auth, agent, clock)).status).toBe(200)
  })

  describe('agents refresh', () => {
    /** As a process, since Node reads the authority that it trusts at its start. */
    const refresh = async (agent: UrlAgent) => {
      const authority = path.join(env['AUTH_OUTBOX_DIR'] ?? '', '..', 'authority')
      await writeFile(authority, server.runtime.ca)
      const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))
      const command = promisify(execFile)(process.execPath, [main, 'agents', 'refresh', agent.client_id], {
        env: { ...env, NODE_EXTRA_CA_CERTS: authority },
      })
      try {
        const { stdout: printed, stderr: errors } = await command
        return { code: 0, printed, errors }
      } catch (error) {
        const { code, stdout: printed, stderr: errors } = Failed.parse(error)
        return { code, printed, errors }
      }
    }

    test('applies a new key and revokes nothing; then revokes the tokens when a key is gone', async () => {
      const { agent, token } = await newClient()
      agent.changeKeys(...keys)
      const added = await refresh(agent)
      expect(added, added.errors).toMatchObject({
        code: 0,
        printed: expect.stringContaining('no key is gone'),
      })
      expect(await activeAt(token)).toEqual([true, true])
      agent.changeKeys(keys[1])
      const removed = await refresh(agent)
      expect(removed).toMatchObject({ code: 0, printed: expect.stringContaining('a key is gone') })
      expect(securityEventsIn(removed.errors.split('\n'))).toEqual([
        expect.objectContaining({ event: 'document-changed', client_id: agent.client_id, by: 'operator' }),
      ])
      expect(await activeAt(token)).toEqual([false, false])
      for (const each of [auth, other]) {
        await expect
          .poll(async () => (await requestUrlToken(each, { ...agent, key: keys[1] }, clock)).status)
          .toBe(200)
        await expectRefusal(each, () => requestUrlToken(each, agent, clock), UNPROVEN)
      }
    })

    test('revokes nothing when the document cannot be fetched, and all when it says it is none', async () => {
      const { agent, token } = await newClient()
      agent.change(undefined)
      expect(await refresh(agent)).toMatchObject({
        code: 1,
        errors: expect.stringMatching(/could not be fetched, so nothing was changed/),
      })
      expect(await activeAt(token)).toEqual([true, true])
      agent.change({ ...documentOf(agent.client_id, [keys[0]]), grant_types: ['authorization_code'] })
      expect(await refresh(agent)).toMatchObject({
        code: 1,
        errors: expect.stringMatching(/grant_types must be/),
      })
      expect(await activeAt(token)).toEqual([false, false])
    })

    test('revokes the tokens of a document that begins to ask for bound tokens', async () => {
      const { agent, token } = await newClient()
      agent.change({ ...documentOf(agent.client_id, [keys[0]]), dpop_bound_access_tokens: true })
      expect(await refresh(agent)).toMatchObject({
        code: 0,
        printed: expect.stringContaining('must be bound to a key now'),
      })
      expect(await activeAt(token)).toEqual([false, false])
      agent.change(documentOf(agent.client_id, [keys[0]]))
      expect(await refresh(agent)).toMatchObject({
        code: 0,
        printed: expect.stringContaining('no key is gone'),
      })
    })

    test('says when the stored document is newer by the clock', async () => {
      const { agent } = await newClient()
      const { rows } = await stores.db.query<{ generation: number }>(
        `update agents set document_fetched_at = document_fetched_at + interval '1 hour' where id = $1
         returning generation`,
        [agent.client_id],
      )
      agent.changeKeys(keys[1])
      expect(await refresh(agent)).toMatchObject({
        code: 1,
        errors: expect.stringMatching(/Nothing was changed: .*Set the clock right/),
      })
      expect(await rowOf(agent.client_id)).toMatchObject({ generation: rows[0]?.generation })
    })

    test('refuses a client that is not there or registered', async () => {
      expect(await run('agents', 'refresh', publish().client_id)).toMatchObject({ code: 1 })
      expect(await run('agents', 'refresh', `agt_${'A'.repeat(22)}`)).toMatchObject({ code: 2 })
    })
  })

  describe('agents block', () => {
    test('disables the agents of a domain and its subdomains at all instances, and refuses new ones', async () => {
      const inside = [
        await newClient('agents.clients.test'),
        await newClient('deep.agents.clients.test'),
      ] as const
      const outside = [await newClient('notagents.clients.test'), await newClient('clients.test')] as const
      const disabled = await newClient('agents.clients.test')
      await run('agents', 'disable', disabled.agent.client_id)

      const dry = await run(
        'agents',
        'block',
        'agents.clients.test',
        '--reason',
        'why',
        '--dry-run',
        '--json',
      )
      expect(JSON.parse(dry.printed)).toMatchObject({ ok: true, done: false, domain: 'agents.clients.test' })
      expect(await activeAt(inside[0].token)).toEqual([true, true])

      const blocked = await run(
        'agents',
        'block',
        'Agents.clients.test.',
        '--reason',
        'they send spam',
        '--json',
      )
      expect(blocked.code, blocked.errors).toBe(0)
      const { agents, audit_head } = JSON.parse(blocked.printed) as { agents: number; audit_head: string }
      expect(agents).toBe((JSON.parse(dry.printed) as { agents: number }).agents)
      expect(blocked.events).toContainEqual(
        expect.objectContaining({ event: 'domain-blocked', domain: 'agents.clients.test', by: 'operator' }),
      )
      for (const { token, agent } of inside) {
        expect(await activeAt(token)).toEqual([false, false])
        expect(await rowOf(agent.client_id)).toMatchObject({ status: 'disabled' })
        for (const each of [auth, other]) {
          await expect.poll(async () => (await requestUrlToken(each, agent, clock)).status).toBe(401)
          await expectRefusal(each, () => requestUrlToken(each, agent, clock), UNPROVEN)
        }
      }
      for (const { token } of outside) expect(await activeAt(token)).toEqual([true, true])
      for (const host of ['agents.clients.test', 'deep.agents.clients.test'])
        for (const each of [auth, other]) {
          const fresh = publish(host)
          await expectRefusal(each, () => requestUrlToken(each, fresh, clock), UNPROVEN)
          expect(fresh.fetched()).toBe(0)
        }
      for (const host of ['notagents.clients.test', 'clients.test'])
        expect((await requestUrlToken(auth, publish(host), clock)).status).toBe(200)

      const enabled = await run('agents', 'enable', inside[0].agent.client_id)
      expect(enabled).toMatchObject({ code: 1, errors: expect.stringContaining('its domain is blocked') })
      expect((await run('agents', 'blocks', '--verify', '--head', audit_head)).code).toBe(0)
      expect((await run('agents', 'blocks')).printed).toMatch(/block +agents\.clients\.test .*they send spam/)

      const unblocked = await run('agents', 'unblock', 'agents.clients.test', '--reason', 'they stopped')
      expect(unblocked.code, unblocked.errors).toBe(0)
      expect(unblocked.events).toContainEqual(
        expect.objectContaining({ event: 'domain-unblocked', domain: 'agents.clients.test' }),
      )
      await expectRefusal(auth, () => requestUrlToken(auth, inside[0].agent, clock), UNPROVEN)
      expect((await requestUrlToken(auth, publish('agents.clients.test'), clock)).status).toBe(200)
      expect((await run('agents', 'enable', inside[0].agent.client_id)).code).toBe(0)
      await expect.poll(async () => (await requestUrlToken(auth, inside[0].agent, clock)).status).toBe(200)
      expect((await run('agents', 'unblock', 'agents.clients.test', '--reason', 'x')).code).toBe(1)
    })

    test('catches agents that begin at the same time', async () => {
      const agents = Array.from({ length: 12 }, () => publish('other.clients.test'))
      const requests = agents.map((agent, n) => requestUrlToken(n % 2 ? auth : other, agent, clock))
      const blocked = run('agents', 'block', 'other.clients.test', '--reason', 'a test')
      const responses = await Promise.all(requests)
      expect((await blocked).code).toBe(0)
      for (const [n, { status, text }] of responses.entries()) {
        const row = await rowOf(agents[n]?.client_id ?? '')
        if (row) expect(row).toMatchObject({ status: 'disabled' })
        if (status !== 200) continue
        const { access_token } = JSON.parse(text) as { access_token: string }
        expect(await activeAt(access_token)).toEqual([false, false])
      }
      expect((await run('agents', 'unblock', 'other.clients.test', '--reason', 'done')).code).toBe(0)
    })

    test('says how many agents it disables', async () => {
      const block = (...more: string[]) =>
        run('agents', 'block', 'third.clients.test', '--reason', 'why', ...more)
      await newClient('third.clients.test')
      expect((await block('--dry-run')).printed).toBe('Would block third.clients.test, and disable 1 agent.')
      expect((await block()).printed).toMatch(
        /^third\.clients\.test is blocked; 1 agent is disabled, and its tokens are revoked\.\nAudit head: [\w-]{43}$/,
      )
      expect((await block()).printed).toMatch(/^third\.clients\.test was blocked; 1 agent is disabled/)
      expect((await run('agents', 'unblock', 'third.clients.test', '--reason', 'done')).code).toBe(0)
    })

    test.for(['', 'a b', 'https://x.example', 'x.example/y', '*.example.org', '.', 'user@x.example'])(
      'refuses %j, which is no domain',
      async (domain) => {
        expect((await run('agents', 'block', domain, '--reason', 'x')).code).toBe(2)
      },
    )
  })

  test('an e-mail verification works as for others, and its tokens end with the document', async () => {
    const agent = server.publish([keys[0]], { maxAge: 1200 })
    await getUrlToken(auth, agent, clock)
    const email = newAddress('canary-url-person')
    const begun = await sendAs(auth, agent, clock, {
      method: 'POST',
      path: '/api/agent/claim',
      body: { email },
    })
    expect(begun.status, begun.text).toBe(202)
    const itsMail = () => mail.received.findLast(({ to }) => to.includes(email))
    await expect.poll(itsMail).toBeDefined()
    const page = await sayYes(auth, { secret: secretIn(itsMail()?.text ?? '') })
    const completed = await sendAs(auth, agent, clock, {
      method: 'POST',
      path: '/api/agent/claim/complete',
      body: { otp: codeIn(page.text) },
    })
    expect(completed.status, completed.text).toBe(200)
    const { identity_assertion } = JSON.parse(completed.text) as { identity_assertion: string }
    const grant = { grant_type: JWT_BEARER_GRANT, assertion: identity_assertion }
    const { token, expiresIn, scope } = await getUrlToken(auth, agent, clock, grant)
    expect(scope).toContain('contact:write')
    expect(expiresIn).toBeLessThanOrEqual(1200)
    const { payload } = await introspect(auth, token)
    expect(payload.token_introspection).toMatchObject({
      active: true,
      client_id: agent.client_id,
      identity_type: 'verified_email',
    })
    const left = await sendAs(auth, agent, clock, { method: 'DELETE', path: '/api/agent' })
    expect(left.status, left.text).toBe(204)
    expect(await activeAt(token)).toEqual([false, false])
    await getUrlToken(auth, agent, clock)
    const again = await requestUrlToken(auth, agent, clock, { fields: grant })
    expectProblem(again, { status: 400, code: 'invalid-grant', error: 'invalid_grant' })
  })

  describe('replay after a restore', () => {
    test('blocks domains and revokes the tokens of changed documents again', async () => {
      const { agent, token } = await newClient()
      const { token: ofBlocked } = await newClient('third.clients.test')
      setBack(clock, 0)
      const line = (event: object) =>
        JSON.stringify({ msg: 'security event', time: new Date().toISOString(), ...event })
      const log = path.join(env['AUTH_OUTBOX_DIR'] ?? '', '..', 'log')
      await writeFile(
        log,
        `${[
          { event: 'document-changed', client_id: agent.client_id },
          { event: 'domain-blocked', domain: 'third.clients.test' },
        ]
          .map(line)
          .join('\n')}\n`,
      )
      const replayed = await run('replay', '--log', log, '--json')
      expect(replayed.code, replayed.errors).toBe(0)
      expect(JSON.parse(replayed.printed)).toMatchObject({ ended: { documents: 1, domains: 1 } })
      expect(await activeAt(token)).toEqual([false, false])
      expect(await activeAt(ofBlocked)).toEqual([false, false])
      const fetched = agent.fetched()
      await expect.poll(async () => (await requestUrlToken(auth, agent, clock)).status).toBe(200)
      expect(agent.fetched()).toBe(fetched + 1)
    })
  })
})
