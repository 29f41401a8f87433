import { readFileSync } from 'node:fs'
import { calculateJwkThumbprint } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { countUnusedAgents } from '../src/agents/agent-counts.ts'
import { expireAgents } from '../src/agents/agent-expiry.ts'
import { loadConfig } from '../src/config.ts'
import { createEvents, logSecurityEvents, SECURITY_EVENT_NAMES } from '../src/events.ts'
import { openStores } from '../src/stores.ts'
import { agentAuthHeader, createJsonContent, deleteAgent, getToken, register } from './agent-client.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import {
  createAssertionHeader,
  generateTestKeyPair,
  registerKeys,
  requestTokenWithNewAssertion,
} from './key-agent.ts'
import { parseSecurityEvents } from './parse-security-events.ts'
import { runAuth } from './run-auth.ts'
import { send } from './send.ts'
import { ORIGIN } from './start-auth.ts'
import {
  beginVerification,
  completeVerification,
  confirmAgent,
  createWrongCode,
  revokeVerification,
  sayNo,
  showCode,
  startVerificationSystem,
  type VerificationSystem,
} from './verification-client.ts'

let system: VerificationSystem
beforeAll(async () => {
  system = await startVerificationSystem()
})
afterAll(async () => {
  await expectNoConfidentialValues(system.auth)
  await system[Symbol.asyncDispose]()
})

/** Runs `work`, and returns the security events that the instance logged while it ran. */
async function collectEvents(work: () => Promise<unknown>) {
  const linesBefore = system.auth.logged.length
  await work()
  return parseSecurityEvents(system.auth.logged.slice(linesBefore))
}

test('the instance logs a new verification, and its revocation by the agent', async () => {
  const attempt = await beginVerification(system)
  const otp = await showCode(system.auth, attempt)
  expect(
    await collectEvents(() =>
      completeVerification(system.auth, attempt.agent, { otp: createWrongCode(otp) }),
    ),
  ).toEqual([])
  const ids = { client_id: attempt.agent.client_id, registration_id: attempt.registrationId }
  expect(await collectEvents(() => completeVerification(system.auth, attempt.agent, { otp }))).toEqual([
    { event: 'claim-made', ...ids },
  ])
  expect(await collectEvents(() => revokeVerification(system.auth, attempt.agent))).toEqual([
    { event: 'claim-ended', registration_id: attempt.registrationId, by: 'agent' },
  ])
  expect(await collectEvents(() => revokeVerification(system.auth, attempt.agent))).toEqual([])
})

test('the instance logs that five wrong codes lock an attempt, and that the agent sends another code after that', async () => {
  const attempt = await beginVerification(system)
  const otp = await showCode(system.auth, attempt)
  const sendWrongCode = () => completeVerification(system.auth, attempt.agent, { otp: createWrongCode(otp) })
  for (let n = 0; n < 4; n++) expect(await collectEvents(sendWrongCode)).toEqual([])
  expect(await collectEvents(sendWrongCode)).toEqual([
    { event: 'attempt-locked', claim_attempt_id: attempt.id },
  ])
  expect(await collectEvents(() => completeVerification(system.auth, attempt.agent, { otp }))).toEqual([
    { event: 'locked-attempt-tried', client_id: attempt.agent.client_id },
  ])
})

test('the instance logs once that a person declines', async () => {
  const attempt = await beginVerification(system)
  expect(await collectEvents(() => sayNo(system.auth, attempt))).toEqual([
    { event: 'claim-declined', claim_attempt_id: attempt.id },
  ])
  expect(await collectEvents(() => sayNo(system.auth, attempt))).toEqual([])
})

test('the instance logs that keys were replaced and that a client was deleted', async () => {
  const agent = await registerKeys(system.auth)
  expect(await collectEvents(() => requestTokenWithNewAssertion(system.auth, agent))).toEqual([])
  const replaceKeys = async (keys: unknown) => {
    const { headers, body } = createJsonContent({ keys })
    return send(system.auth.url, {
      method: 'PUT',
      path: '/api/agent/jwks',
      headers: { ...headers, ...(await createAssertionHeader(system.auth, agent)) },
      body,
    })
  }
  // An empty list of keys is refused.
  expect(await collectEvents(() => replaceKeys([]))).toEqual([])
  const { jwk } = await generateTestKeyPair()
  expect(await collectEvents(() => replaceKeys([jwk]))).toEqual([
    {
      event: 'keys-changed',
      client_id: agent.client_id,
      key_thumbprints: [await calculateJwkThumbprint(jwk)],
    },
  ])
  const deletedAttempt = await confirmAgent(system)
  const endEvent = { event: 'client-ended', client_id: deletedAttempt.agent.client_id, how: 'deleted' }
  expect(await collectEvents(() => deleteAgent(system.auth, deletedAttempt.agent))).toEqual([endEvent])
})

test('the instance logs that a secret was added and removed, and an expiry run logs how many clients expired', async () => {
  const agent = await register(system.auth)
  const addSecret = () =>
    send(system.auth.url, { method: 'POST', path: '/api/agent/secrets', headers: agentAuthHeader(agent) })
  const addEvents = await collectEvents(async () => {
    const { text } = await addSecret()
    system.auth.confidential.add((JSON.parse(text) as { client_secret: string }).client_secret)
  })
  const [{ secret_id: id } = {}] = addEvents
  expect(addEvents).toEqual([
    { event: 'secret-added', client_id: agent.client_id, secret_id: expect.any(String) },
  ])
  // A third secret is refused.
  expect(await collectEvents(addSecret)).toEqual([])
  const removeSecret = () =>
    send(system.auth.url, {
      method: 'DELETE',
      path: `/api/agent/secrets/${String(id)}`,
      headers: agentAuthHeader(agent),
    })
  expect(await collectEvents(removeSecret)).toEqual([
    { event: 'secret-ended', client_id: agent.client_id, secret_id: id },
  ])
  expect(await collectEvents(removeSecret)).toEqual([])
  const loggedEvents: unknown[] = []
  const ignore = () => undefined
  const log = {
    info: (_message: string, members?: object) => void loggedEvents.push(members),
    warn: ignore,
    error: ignore,
  }
  const config = loadConfig(await system.testbed.createSettings(ORIGIN))
  const events = createEvents()
  logSecurityEvents(events, log)
  await using openedStores = await openStores(config, { log, now: () => new Date(), events })
  const { neverUsed: count } = await countUnusedAgents(openedStores.db, new Date())
  // A client that never got a token expires after seven days.
  const inEightDays = new Date(Date.now() + 8 * 24 * 3_600_000)
  expect(await expireAgents({ ...openedStores, events }, inEightDays, config.maxNeverUsedClients)).toBe(count)
  expect(loggedEvents).toEqual([{ event: 'clients-expired', count }])
})

test('the instance logs an emergency revocation once, when it issues its next token', async () => {
  const agent = await register(system.auth)
  await getToken(system.auth, agent)
  const settings = await system.testbed.createSettings(ORIGIN)
  expect((await runAuth(['stop', '--all-tokens', '--reason', 'a drill'], settings)).code).toBe(0)
  expect(await collectEvents(() => getToken(system.auth, agent))).toEqual([
    { event: 'tokens-stopped', epoch: 1 },
  ])
  expect(await collectEvents(() => getToken(system.auth, agent))).toEqual([])
})

test('every event is in docs/telemetry.md', () => {
  const page = readFileSync(new URL('../../../docs/telemetry.md', import.meta.url), 'utf8')
  for (const event of SECURITY_EVENT_NAMES) expect(page).toContain(`\`${event}\``)
})
