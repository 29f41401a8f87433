import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { backUp } from '@plainpath/postgres/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { agentAuthHeader, type RegisteredAgent, register, requestToken } from './agent-client.ts'
import { generateTestKeyPair } from './key-agent.ts'
import { parseSecurityEvents } from './parse-security-events.ts'
import { runAuth } from './run-auth.ts'
import { send } from './send.ts'
import { ORIGIN } from './start-auth.ts'
import {
  confirmAgent,
  revokeVerification,
  startVerificationSystem,
  type VerificationSystem,
} from './verification-client.ts'

const LOG_FILE = path.join(tmpdir(), `plainpath-replay-${process.pid}`)

const resources = new AsyncDisposableStack()
let system: VerificationSystem
let env: Record<string, string>
beforeAll(async () => {
  system = resources.use(await startVerificationSystem())
  env = await system.testbed.createSettings(ORIGIN)
  resources.defer(() => rm(LOG_FILE, { force: true }))
})
afterAll(() => resources.disposeAsync())

const run = (...args: string[]) => runAuth(args, env)
const replay = async (...options: string[]) =>
  JSON.parse((await run('replay', '--log', LOG_FILE, '--json', ...options)).printed)
const requestSecrets = (agent: RegisteredAgent, method: string, id = '') =>
  send(system.auth.url, { method, path: `/api/agent/secrets${id}`, headers: agentAuthHeader(agent) })
const countLiveVerifications = async () => {
  const { rows } = await system.testbed.db.query<{ alive: number }>(
    'select count(*)::int as alive from claims where ended_at is null',
  )
  return rows[0]?.alive
}

/** Removes the secret that the agent registered with. Returns the agent with its added secret. */
async function removeFirstSecret(
  agent: RegisteredAgent,
  addedSecret: { secret_id: string; client_secret: string },
): Promise<RegisteredAgent> {
  const agentWithNewSecret = { ...agent, client_secret: addedSecret.client_secret }
  const describeResponse = await send(system.auth.url, {
    path: '/api/agent',
    headers: agentAuthHeader(agentWithNewSecret),
  })
  const { secrets } = JSON.parse(describeResponse.text) as { secrets: { secret_id: string }[] }
  const firstSecretId = secrets.find(({ secret_id: id }) => id !== addedSecret.secret_id)?.secret_id
  expect((await requestSecrets(agentWithNewSecret, 'DELETE', `/${firstSecretId}`)).status).toBe(204)
  return agentWithNewSecret
}
const addSecret = async (agent: RegisteredAgent) =>
  JSON.parse((await requestSecrets(agent, 'POST')).text) as { secret_id: string; client_secret: string }

const replaceSecretWithKey = async (agent: RegisteredAgent) =>
  send(system.auth.url, {
    method: 'PUT',
    path: '/api/agent/jwks',
    headers: { ...agentAuthHeader(agent), 'content-type': 'application/json' },
    body: JSON.stringify({ keys: [(await generateTestKeyPair()).jwk] }),
  })

test('replay repeats the revocations in the log after a restore, and disables clients whose newer credentials the backup lacks', async () => {
  const { auth, testbed } = system
  // After the backup, `reduced` loses the first of its two secrets, `replaced` gets a second secret and loses the first,
  // `added` gets a second secret, `keyed` replaces its secret with a key, and `undone` gets a second secret and loses it.
  const [deleted, disabled, enabled, reduced, replaced, added, keyed, undone, unchanged] = [
    await register(auth),
    await register(auth),
    await register(auth),
    await register(auth),
    await register(auth),
    await register(auth),
    await register(auth),
    await register(auth),
    await register(auth),
  ]
  const verification = await confirmAgent(system)
  const linesBefore = auth.logged.length
  const secretAddedBefore = await addSecret(reduced)
  const restore = await backUp(testbed.database.adminUrl)

  expect(
    (await send(auth.url, { method: 'DELETE', path: '/api/agent', headers: agentAuthHeader(deleted) }))
      .status,
  ).toBe(204)
  expect((await revokeVerification(auth, verification.agent)).status).toBe(204)
  await removeFirstSecret(reduced, secretAddedBefore)
  await removeFirstSecret(replaced, await addSecret(replaced))
  await addSecret(added)
  const { secret_id: removedSecretId } = await addSecret(undone)
  expect((await requestSecrets(undone, 'DELETE', `/${removedSecretId}`)).status).toBe(204)
  expect((await replaceSecretWithKey(keyed)).status).toBe(200)
  const commands = [
    await run('agents', 'disable', disabled.client_id),
    await run('agents', 'disable', enabled.client_id),
    await run('agents', 'enable', enabled.client_id),
  ]
  expect(commands.map(({ code }) => code)).toEqual([0, 0, 0])
  // Several instances write log lines, so replay must not rely on the order of the lines.
  await writeFile(
    LOG_FILE,
    [...commands.map(({ errors }) => errors), ...auth.logged.slice(linesBefore)].toReversed().join('\n'),
  )

  await restore()
  await using restoredInstance = await system.startAnother()
  const requestStatus = async (agent: RegisteredAgent) => (await requestToken(restoredInstance, agent)).status
  const allAgents = [deleted, disabled, enabled, reduced, replaced, added, keyed, undone, unchanged]
  expect(await Promise.all(allAgents.map(requestStatus))).toEqual(Array(9).fill(200))
  expect(await countLiveVerifications()).toBe(1)
  // `told` counts the revocations that the log records, and `ended` what the replay has revoked.
  const told = { clients: 2, claims: 1, secrets: 3, changed: 5, documents: 0, domains: 0 }
  expect(await replay('--dry-run')).toEqual({ ok: true, done: false, told })
  expect(await countLiveVerifications()).toBe(1)
  // `replaced` is disabled, because the backup has only its removed secret. `reduced` keeps its other secret. The backup does
  // not have the secret that `undone` got and lost, so nothing changes for that client.
  const ended = { clients: 3, claims: 1, secrets: 1, changed: 2, documents: 0, domains: 0 }
  const replayResult = await run('replay', '--log', LOG_FILE, '--json')
  expect(JSON.parse(replayResult.printed)).toEqual({ ok: true, done: true, told, ended })
  const events = parseSecurityEvents(replayResult.errors.split('\n')).map(({ event, by }) => [event, by])
  const repeat = (event: string, count: number) => Array.from({ length: count }, () => [event, 'operator'])
  expect(events.toSorted()).toEqual(
    [['claim-ended', 'operator'], ...repeat('client-ended', 5), ...repeat('secret-ended', 1)].toSorted(),
  )

  await using replayedInstance = await system.startAnother()
  const requestStatusAfterReplay = async (agent: RegisteredAgent) =>
    (await requestToken(replayedInstance, agent)).status
  expect(await Promise.all(allAgents.map(requestStatusAfterReplay))).toEqual([
    401, 401, 200, 401, 401, 401, 401, 200, 200,
  ])
  expect(await requestStatusAfterReplay({ ...reduced, client_secret: secretAddedBefore.client_secret })).toBe(
    200,
  )
  expect(await countLiveVerifications()).toBe(0)
})

test('replay disables no client that replaced its credentials before the backup, if the log has the thumbprints', async () => {
  const { auth, testbed } = system
  const linesBefore = auth.logged.length
  const replacedBefore = await register(auth)
  await addSecret(replacedBefore)
  expect((await replaceSecretWithKey(replacedBefore)).status).toBe(200)
  const replacedAfter = await register(auth)
  const restore = await backUp(testbed.database.adminUrl)
  expect((await replaceSecretWithKey(replacedAfter)).status).toBe(200)
  const lines = auth.logged.slice(linesBefore)
  await restore()

  const readStatuses = async () => {
    const { rows } = await testbed.db.query<{ id: string; status: string }>(
      'select id, status from agents where id = any($1)',
      [[replacedBefore.client_id, replacedAfter.client_id]],
    )
    return new Map(rows.map(({ id, status }) => [id, status]))
  }
  await writeFile(LOG_FILE, lines.join('\n'))
  expect(await replay()).toMatchObject({ told: { changed: 2 }, ended: { changed: 1 } })
  expect(await readStatuses()).toEqual(
    new Map([
      [replacedBefore.client_id, 'active'],
      [replacedAfter.client_id, 'disabled'],
    ]),
  )

  // Earlier releases logged no thumbprints.
  const linesWithoutThumbprints = lines.map((line) => {
    const { key_thumbprints: _thumbprints, ...members } = JSON.parse(line) as Record<string, unknown>
    return JSON.stringify(members)
  })
  expect(linesWithoutThumbprints).not.toEqual(lines)
  await writeFile(LOG_FILE, linesWithoutThumbprints.join('\n'))
  expect(await replay()).toMatchObject({ ended: { changed: 2 } })
  expect((await readStatuses()).get(replacedBefore.client_id)).toBe('disabled')
})

test('replay revokes again a verification that was superseded after the backup', async () => {
  const { auth, testbed } = system
  const { agent, registrationId } = await confirmAgent(system)
  const restore = await backUp(testbed.database.adminUrl)
  const linesBefore = auth.logged.length
  // Another person confirms the agent, so it may no longer act for the first one.
  await confirmAgent(system, { agent })
  await writeFile(LOG_FILE, auth.logged.slice(linesBefore).join('\n'))
  await restore()
  const readEnd = async () => {
    const { rows } = await testbed.db.query(
      'select ended_at is null as live, email_sealed from claims where id = $1',
      [registrationId],
    )
    return rows[0]
  }
  expect(await readEnd()).toMatchObject({ live: true })
  expect(await replay()).toMatchObject({ ended: { claims: 1 } })
  expect(await readEnd()).toEqual({ live: false, email_sealed: null })
})

test('replay refuses a missing log, and a log in which no line is JSON', async () => {
  expect(await run('replay', '--log', `${LOG_FILE}-missing`)).toMatchObject({
    code: 1,
    errors: expect.stringMatching(/missing cannot be read \(ENOENT\)\. Nothing was changed\.$/),
  })
  await writeFile(LOG_FILE, '10:21:40 info auth: security event event="client-ended" how="deleted"\n')
  expect(await run('replay', '--log', LOG_FILE)).toMatchObject({
    code: 1,
    printed: '',
    errors: expect.stringContaining('is not a log in JSON'),
  })
})
