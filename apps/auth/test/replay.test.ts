import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { backUp } from '@plainpath/postgres/testing'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { asAgent, type Registered, register, requestToken } from './agent-client.ts'
import { type ClaimsUnderTest, confirmed, endClaim, startClaims } from './claim-client.ts'
import { newKey } from './key-agent.ts'
import { runAuth } from './run-auth.ts'
import { securityEventsIn } from './security-events-in.ts'
import { send } from './send.ts'
import { ORIGIN } from './start-auth.ts'

vi.setConfig({ testTimeout: 60_000 })

const LOG = path.join(tmpdir(), `plainpath-replay-${process.pid}`)

const resources = new AsyncDisposableStack()
let under: ClaimsUnderTest
let env: Record<string, string>
beforeAll(async () => {
  under = resources.use(await startClaims())
  env = await under.stores.settingsFor(ORIGIN)
  resources.defer(() => rm(LOG, { force: true }))
})
afterAll(() => resources.disposeAsync())

const run = (...words: string[]) => runAuth(words, env)
const replay = async (...more: string[]) =>
  JSON.parse((await run('replay', '--log', LOG, '--json', ...more)).printed)
const findSecrets = (agent: Registered, method: string, id = '') =>
  send(under.auth.url, { method, path: `/api/agent/secrets${id}`, headers: asAgent(agent) })
const claimsAlive = async () => {
  const { rows } = await under.stores.db.query<{ alive: number }>(
    'select count(*)::int as alive from claims where ended_at is null',
  )
  return rows[0]?.alive
}

/** Ends the first secret of the agent. @returns the agent with its second one */
async function rotate(
  agent: Registered,
  added: { secret_id: string; client_secret: string },
): Promise<Registered> {
  const rotated = { ...agent, client_secret: added.client_secret }
  const shown = await send(under.auth.url, { path: '/api/agent', headers: asAgent(rotated) })
  const { secrets } = JSON.parse(shown.text) as { secrets: { secret_id: string }[] }
  const old = secrets.find(({ secret_id: id }) => id !== added.secret_id)?.secret_id
  expect((await findSecrets(rotated, 'DELETE', `/${old}`)).status).toBe(204)
  return rotated
}
const addSecret = async (agent: Registered) =>
  JSON.parse((await findSecrets(agent, 'POST')).text) as { secret_id: string; client_secret: string }

const registerKeysInstead = async (agent: Registered) =>
  send(under.auth.url, {
    method: 'PUT',
    path: '/api/agent/jwks',
    headers: { ...asAgent(agent), 'content-type': 'application/json' },
    body: JSON.stringify({ keys: [(await newKey()).jwk] }),
  })

test('revokes again after a restore, from the log, everything revoked since the backup', async () => {
  const { auth, stores } = under
  const [deleted, disabled, enabled, beside, replaced, added, keyed, undone, stays] = [
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
  const claim = await confirmed(under)
  const linesBefore = auth.logged.length
  const addedBefore = await addSecret(beside)
  const restore = await backUp(stores.database.adminUrl)

  expect(
    (await send(auth.url, { method: 'DELETE', path: '/api/agent', headers: asAgent(deleted) })).status,
  ).toBe(204)
  expect((await endClaim(auth, claim.agent)).status).toBe(204)
  await rotate(beside, addedBefore)
  await rotate(replaced, await addSecret(replaced))
  await addSecret(added)
  const { secret_id: mistaken } = await addSecret(undone)
  expect((await findSecrets(undone, 'DELETE', `/${mistaken}`)).status).toBe(204)
  expect((await registerKeysInstead(keyed)).status).toBe(200)
  const commands = [
    await run('agents', 'disable', disabled.client_id),
    await run('agents', 'disable', enabled.client_id),
    await run('agents', 'enable', enabled.client_id),
  ]
  expect(commands.map(({ code }) => code)).toEqual([0, 0, 0])
  // Several instances wrote the lines, so they are in no order.
  await writeFile(
    LOG,
    [...commands.map(({ errors }) => errors), ...auth.logged.slice(linesBefore)].toReversed().join('\n'),
  )

  await restore()
  await using restored = await under.another()
  const works = async (agent: Registered) => (await requestToken(restored, agent)).status
  const all = [deleted, disabled, enabled, beside, replaced, added, keyed, undone, stays]
  expect(await Promise.all(all.map(works))).toEqual(Array(9).fill(200))
  expect(await claimsAlive()).toBe(1)
  const told = { clients: 2, claims: 1, secrets: 3, changed: 5, documents: 0, domains: 0 }
  expect(await replay('--dry-run')).toEqual({ ok: true, done: false, told })
  expect(await claimsAlive()).toBe(1)
  // One of the two secrets was the only one that the backup had of its agent, which is disabled; of another the backup has the added one.
  const ended = { clients: 3, claims: 1, secrets: 1, changed: 2, documents: 0, domains: 0 }
  const replayed = await run('replay', '--log', LOG, '--json')
  expect(JSON.parse(replayed.printed)).toEqual({ ok: true, done: true, told, ended })
  const events = securityEventsIn(replayed.errors.split('\n')).map(({ event, by }) => [event, by])
  const times = (event: string, count: number) => Array.from({ length: count }, () => [event, 'operator'])
  expect(events.toSorted()).toEqual(
    [['claim-ended', 'operator'], ...times('client-ended', 5), ...times('secret-ended', 1)].toSorted(),
  )

  await using after = await under.another()
  const worksAfter = async (agent: Registered) => (await requestToken(after, agent)).status
  expect(await Promise.all(all.map(worksAfter))).toEqual([401, 401, 200, 401, 401, 401, 401, 200, 200])
  expect(await worksAfter({ ...beside, client_secret: addedBefore.client_secret })).toBe(200)
  expect(await claimsAlive()).toBe(0)
})

test('reports a missing log in a sentence', async () => {
  expect(await run('replay', '--log', `${LOG}-missing`)).toMatchObject({
    code: 1,
    errors: expect.stringMatching(/missing cannot be read \(ENOENT\)\.$/),
  })
})
