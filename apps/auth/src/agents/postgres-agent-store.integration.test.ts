import { listen } from '@plainpath/postgres'
import { newKeyEncryptionKey, parseKeyEncryptionKeys, SealError } from '@plainpath/sealing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { exampleAgent } from '../../test/example-agent.ts'
import { type Authority, countRows, dumpTables, openAuthority } from '../../test/open-authority.ts'
import { createAgentStore } from './postgres-agent-store.ts'

let authority: Authority
beforeAll(async () => {
  authority = await openAuthority()
})
afterAll(() => authority[Symbol.asyncDispose]())

const silent = async () => {}
async function added(members: Parameters<typeof exampleAgent>[0] = {}) {
  const record = exampleAgent(members)
  await authority.agents.add(record)
  return record
}

test('finds an agent that was added', async () => {
  const named = await added({ name: 'Atlas ✨' })
  const unnamed = await added()
  expect(await authority.agents.find(named.agent.id)).toEqual(named)
  expect(await authority.agents.find(unnamed.agent.id)).toEqual(unnamed)
})

test('finds no agent that was not added', async () => {
  expect(await authority.agents.find(exampleAgent().agent.id)).toBeUndefined()
})

test('does not store an agent whose secret cannot be stored', async () => {
  const first = await added()
  const second = exampleAgent()
  const before = await countRows(authority.db)
  await expect(authority.agents.add({ ...second, secrets: first.secrets })).rejects.toThrow(
    'agent_secrets_pkey',
  )
  expect(await authority.agents.find(second.agent.id)).toBeUndefined()
  expect(await countRows(authority.db)).toEqual(before)
})

test('stores no name in clear', async () => {
  const name = `Canary ${exampleAgent().agent.id}`
  await added({ name })
  expect(await dumpTables(authority.db)).not.toContain(name)
})

test('decrypts a name only in the row of its own agent', async () => {
  const [one, other] = [await added({ name: 'One' }), await added({ name: 'Other' })]
  await authority.db.query(
    'update agents set name_sealed = (select name_sealed from agents where id = $2) where id = $1',
    [one.agent.id, other.agent.id],
  )
  await expect(authority.agents.find(one.agent.id)).rejects.toThrow(SealError)
  await authority.db.query('delete from agent_secrets where agent_id = $1', [one.agent.id])
  await authority.db.query('delete from agents where id = $1', [one.agent.id])
})

test('a disabled agent keeps its name and secrets under a higher generation', async () => {
  const { agent, secrets } = await added({ name: 'Atlas' })
  expect(await authority.agents.deactivate(agent.id, 'disabled', silent)).toBe(2)
  expect(await authority.agents.find(agent.id)).toEqual({
    agent: { ...agent, status: 'disabled', credentialVersion: 2 },
    secrets,
  })
})

test('erases name and secrets of a deleted agent, and keeps its id taken', async () => {
  const { agent, secrets } = await added({ name: 'Atlas' })
  expect(await authority.agents.deactivate(agent.id, 'deleted', silent)).toBe(2)
  const { name: _erased, ...left } = agent
  expect(await authority.agents.find(agent.id)).toEqual({
    agent: { ...left, status: 'deleted', credentialVersion: 2 },
    secrets: [],
  })
  await expect(authority.agents.add({ agent, secrets })).rejects.toThrow('agents_pkey')
})

test('neither ends nor enables a deleted or unknown agent', async () => {
  const { agent } = await added()
  await authority.agents.deactivate(agent.id, 'deleted', silent)
  for (const id of [agent.id, exampleAgent().agent.id]) {
    expect(await authority.agents.deactivate(id, 'disabled', silent)).toBeUndefined()
    expect(await authority.agents.deactivate(id, 'deleted', silent)).toBeUndefined()
    expect(await authority.agents.enable(id, new Date())).toBe(false)
  }
})

test('keeps the generation when enabling, which works for a disabled agent only', async () => {
  const { agent } = await added()
  expect(await authority.agents.enable(agent.id, new Date())).toBe(false)
  await authority.agents.deactivate(agent.id, 'disabled', silent)
  expect(await authority.agents.enable(agent.id, new Date())).toBe(true)
  expect((await authority.agents.find(agent.id))?.agent).toMatchObject({
    status: 'active',
    credentialVersion: 2,
  })
})

test('announces the new generation before the change is visible', async () => {
  const { agent } = await added()
  const observed: unknown[] = []
  await authority.agents.deactivate(agent.id, 'deleted', async (credentialVersion) => {
    const visible = await authority.agents.find(agent.id)
    observed.push(credentialVersion, visible?.agent.credentialVersion, visible?.agent.status)
  })
  expect(observed).toEqual([2, 1, 'active'])
})

test('changes nothing when the announcement fails', async () => {
  const record = await added({ name: 'Atlas' })
  const end = authority.agents.deactivate(record.agent.id, 'deleted', () =>
    Promise.reject(new Error('no Redis')),
  )
  await expect(end).rejects.toThrow('no Redis')
  expect(await authority.agents.find(record.agent.id)).toEqual(record)
})

test('lists the newest agents first, up to the limit', async () => {
  const days = ['2030-01-01', '2030-01-03', '2030-01-02']
  const agents = await Promise.all(days.map((day) => added({ registeredAt: new Date(day) })))
  const [oldest, newest, middle] = agents.map(({ agent }) => agent.id)
  expect((await authority.agents.list(2)).map(({ id }) => id)).toEqual([newest, middle])
  expect((await authority.agents.list(3)).map(({ id }) => id)).toEqual([newest, middle, oldest])
})

test('rejects a row that is not a valid agent', async () => {
  const { agent } = await added()
  await authority.db.query(`update agents set scopes = '{everything}' where id = $1`, [agent.id])
  await expect(authority.agents.find(agent.id)).rejects.toThrow('scopes')
  await authority.db.query(`update agents set scopes = '{guides:read}' where id = $1`, [agent.id])
})

test('notifies all processes of each change of an agent or its secrets', async () => {
  const received: string[] = []
  await using _listening = await listen(
    authority.database.appUrl,
    { agents_changed: (id) => void received.push(id) },
    { onReconnected: () => undefined, log: console },
  )
  const { agent } = await added()
  const changes = [
    `update agents set status = 'disabled' where id = $1`,
    `update agent_secrets set ends_at = now() where agent_id = $1`,
    `delete from agent_secrets where agent_id = $1`,
    `delete from agents where id = $1`,
  ]
  for (const [index, change] of changes.entries()) {
    await authority.db.query(change, [agent.id])
    await expect.poll(() => received).toEqual(Array.from({ length: index + 1 }, () => agent.id))
  }
})

test('re-encrypts names under the newest key-encryption key, after which the old one is not needed', async () => {
  await using other = await openAuthority()
  const [old, young] = [newKeyEncryptionKey(), newKeyEncryptionKey()]
  const under = (text: string) => parseKeyEncryptionKeys(text)
  const named = Array.from({ length: 3 }, (_, n) => exampleAgent({ name: `Agent ${n}` }))
  const agentsUnder = (text: string) =>
    createAgentStore(other.db, {
      addMail: async () => undefined,
      sealingKeys: under(text),
      events: other.events,
      now: () => new Date(),
    })
  const store = agentsUnder(old)
  for (const agent of [...named, exampleAgent()]) await store.add(agent)
  const both = agentsUnder(`${young}\n${old}`)
  expect(await both.reencryptNames({ dryRun: true })).toBe(3)
  expect(await both.reencryptNames({ dryRun: false })).toBe(3)
  expect(await both.reencryptNames({ dryRun: false })).toBe(0)
  const found = await agentsUnder(young).find(named[0]?.agent.id as never)
  expect(found?.agent.name).toBe('Agent 0')
  await expect(agentsUnder(old).reencryptNames({ dryRun: false })).rejects.toThrow(SealError)
})

test('emits an event once the end is committed, and none when its announcement fails', async () => {
  const emitted: unknown[] = []
  const record = (ids: unknown) => void emitted.push(ids)
  authority.events.on('client-ended', record)
  const { agent } = await added()
  await authority.agents
    .deactivate(agent.id, 'deleted', () => Promise.reject(new Error('no Redis')))
    .catch(silent)
  expect(emitted).toEqual([])
  await authority.agents.deactivate(agent.id, 'deleted', silent)
  expect(emitted).toEqual([{ client_id: agent.id, how: 'deleted' }])
  authority.events.off('client-ended', record)
})
