import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { countUnused } from '../src/agents/agent-counts.ts'
import { expireAgents } from '../src/agents/agent-expiry.ts'
import { loadConfig } from '../src/config.ts'
import { createEvents, logSecurityEvents, SECURITY_EVENT_NAMES } from '../src/events.ts'
import { openStores } from '../src/stores.ts'
import { asAgent, deleteAgent, getToken, json, register } from './agent-client.ts'
import {
  begin,
  type ClaimsUnderTest,
  complete,
  confirmed,
  endClaim,
  sayNo,
  showCode,
  startClaims,
  wrongCode,
} from './claim-client.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import { inHeader, newKey, registerKeys, tokenByKey } from './key-agent.ts'
import { runAuth } from './run-auth.ts'
import { securityEventsIn } from './security-events-in.ts'
import { send } from './send.ts'
import { ORIGIN } from './start-auth.ts'

vi.setConfig({ testTimeout: 60_000 })

let under: ClaimsUnderTest
beforeAll(async () => {
  under = await startClaims()
})
afterAll(async () => {
  await expectNothingInClear(under.auth)
  await under[Symbol.asyncDispose]()
})

/** The events that were logged while `work` ran. */
async function eventsOf(work: () => Promise<unknown>) {
  const linesBefore = under.auth.logged.length
  await work()
  return securityEventsIn(under.auth.logged.slice(linesBefore))
}

test('logs a new claim, and a claim that the agent ends', async () => {
  const attempt = await begin(under)
  const otp = await showCode(under.auth, attempt)
  expect(await eventsOf(() => complete(under.auth, attempt.agent, { otp: wrongCode(otp) }))).toEqual([])
  const ids = { client_id: attempt.agent.client_id, registration_id: attempt.registrationId }
  expect(await eventsOf(() => complete(under.auth, attempt.agent, { otp }))).toEqual([
    { event: 'claim-made', ...ids },
  ])
  expect(await eventsOf(() => endClaim(under.auth, attempt.agent))).toEqual([
    { event: 'claim-ended', registration_id: attempt.registrationId, by: 'agent' },
  ])
  expect(await eventsOf(() => endClaim(under.auth, attempt.agent))).toEqual([])
})

test('logs an attempt that is locked by five wrong codes, and each code after that', async () => {
  const attempt = await begin(under)
  const otp = await showCode(under.auth, attempt)
  const tryWrong = () => complete(under.auth, attempt.agent, { otp: wrongCode(otp) })
  for (let n = 0; n < 4; n++) expect(await eventsOf(tryWrong)).toEqual([])
  expect(await eventsOf(tryWrong)).toEqual([{ event: 'attempt-locked', claim_attempt_id: attempt.id }])
  expect(await eventsOf(() => complete(under.auth, attempt.agent, { otp }))).toEqual([
    { event: 'locked-attempt-tried', client_id: attempt.agent.client_id },
  ])
})

test('logs a person’s refusal', async () => {
  const attempt = await begin(under)
  expect(await eventsOf(() => sayNo(under.auth, attempt))).toEqual([
    { event: 'claim-declined', claim_attempt_id: attempt.id },
  ])
  expect(await eventsOf(() => sayNo(under.auth, attempt))).toEqual([])
})

test('logs replaced keys and a deleted client', async () => {
  const agent = await registerKeys(under.auth)
  expect(await eventsOf(() => tokenByKey(under.auth, agent))).toEqual([])
  const replace = async (keys: unknown) => {
    const { headers, body } = json({ keys })
    return send(under.auth.url, {
      method: 'PUT',
      path: '/api/agent/jwks',
      headers: { ...headers, ...(await inHeader(under.auth, agent)) },
      body,
    })
  }
  expect(await eventsOf(() => replace([]))).toEqual([])
  const { jwk } = await newKey()
  expect(await eventsOf(() => replace([jwk]))).toEqual([
    { event: 'keys-changed', client_id: agent.client_id },
  ])
  const deleted = await confirmed(under)
  const ended = { event: 'client-ended', client_id: deleted.agent.client_id, how: 'deleted' }
  expect(await eventsOf(() => deleteAgent(under.auth, deleted.agent))).toEqual([ended])
})

test('logs a second secret, a removed one, and expired clients', async () => {
  const agent = await register(under.auth)
  const post = () =>
    send(under.auth.url, { method: 'POST', path: '/api/agent/secrets', headers: asAgent(agent) })
  const added = await eventsOf(async () => {
    const { text } = await post()
    under.auth.confidential.add((JSON.parse(text) as { client_secret: string }).client_secret)
  })
  const [{ secret_id: id } = {}] = added
  expect(added).toEqual([
    { event: 'secret-added', client_id: agent.client_id, secret_id: expect.any(String) },
  ])
  expect(await eventsOf(post)).toEqual([])
  const end = () =>
    send(under.auth.url, {
      method: 'DELETE',
      path: `/api/agent/secrets/${String(id)}`,
      headers: asAgent(agent),
    })
  expect(await eventsOf(end)).toEqual([{ event: 'secret-ended', client_id: agent.client_id, secret_id: id }])
  expect(await eventsOf(end)).toEqual([])
  const logged: unknown[] = []
  const log = { info: (_msg: string, about?: object) => void logged.push(about), warn: never, error: never }
  const config = loadConfig(await under.stores.settingsFor(ORIGIN))
  const events = createEvents()
  logSecurityEvents(events, log)
  await using opened = await openStores(config, { log, now: () => new Date(), events })
  const { neverUsed: count } = await countUnused(opened.db, new Date())
  const inAWeek = new Date(Date.now() + 8 * 24 * 3_600_000)
  expect(await expireAgents({ ...opened, events }, inAWeek, config.neverUsedClients)).toBe(count)
  expect(logged).toEqual([{ event: 'clients-expired', count }])
})
const never = () => undefined

test('logs an emergency revocation once for each instance', async () => {
  const agent = await register(under.auth)
  await getToken(under.auth, agent)
  const settings = await under.stores.settingsFor(ORIGIN)
  expect((await runAuth(['stop', '--all-tokens', '--reason', 'a drill'], settings)).code).toBe(0)
  expect(await eventsOf(() => getToken(under.auth, agent))).toEqual([{ event: 'tokens-stopped', epoch: 1 }])
  expect(await eventsOf(() => getToken(under.auth, agent))).toEqual([])
})

test('documents every event', () => {
  const page = readFileSync(new URL('../../../docs/telemetry.md', import.meta.url), 'utf8')
  for (const event of SECURITY_EVENT_NAMES) expect(page).toContain(`\`${event}\``)
})
