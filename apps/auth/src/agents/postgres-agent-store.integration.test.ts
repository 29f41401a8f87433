import { listen } from '@plainpath/postgres'
import { createSealer, generateKeyEncryptionKey, UnsealError } from '@plainpath/sealing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createExampleAgent } from '../../test/example-agent.ts'
import { countRows, dumpTables, openTestStores, type TestStores } from '../../test/open-test-stores.ts'
import { createAgentStore } from './postgres-agent-store.ts'

let stores: TestStores
beforeAll(async () => {
  stores = await openTestStores()
})
afterAll(() => stores[Symbol.asyncDispose]())

const doNothing = async () => {}
async function addAgent(members: Parameters<typeof createExampleAgent>[0] = {}) {
  const record = createExampleAgent(members)
  await stores.agents.add(record)
  return record
}

test('finds an agent that was added', async () => {
  const named = await addAgent({ name: 'Atlas ✨' })
  const unnamed = await addAgent()
  expect(await stores.agents.find(named.agent.id)).toEqual(named)
  expect(await stores.agents.find(unnamed.agent.id)).toEqual(unnamed)
})

test('does not find an agent that was not added', async () => {
  expect(await stores.agents.find(createExampleAgent().agent.id)).toBeUndefined()
})

test('does not store an agent whose secret cannot be stored', async () => {
  const existingRecord = await addAgent()
  const newRecord = createExampleAgent()
  const rowCounts = await countRows(stores.db)
  await expect(stores.agents.add({ ...newRecord, secrets: existingRecord.secrets })).rejects.toThrow(
    'agent_secrets_pkey',
  )
  expect(await stores.agents.find(newRecord.agent.id)).toBeUndefined()
  expect(await countRows(stores.db)).toEqual(rowCounts)
})

test('stores names only encrypted', async () => {
  const name = `Canary ${createExampleAgent().agent.id}`
  await addAgent({ name })
  expect(await dumpTables(stores.db)).not.toContain(name)
})

test('decrypts a name only in the row of its own agent', async () => {
  const one = await addAgent({ name: 'One' })
  const other = await addAgent({ name: 'Other' })
  await stores.db.query(
    'update agents set name_sealed = (select name_sealed from agents where id = $2) where id = $1',
    [one.agent.id, other.agent.id],
  )
  await expect(stores.agents.find(one.agent.id)).rejects.toThrow(UnsealError)
  await stores.db.query('delete from agent_secrets where agent_id = $1', [one.agent.id])
  await stores.db.query('delete from agents where id = $1', [one.agent.id])
})

test('raises the credential version of a disabled agent, and keeps its name and secrets', async () => {
  const { agent, secrets } = await addAgent({ name: 'Atlas' })
  expect(await stores.agents.deactivate(agent, 'disabled', doNothing)).toBe(2)
  expect(await stores.agents.find(agent.id)).toEqual({
    agent: { ...agent, status: 'disabled', credentialVersion: 2 },
    secrets,
  })
})

test('erases the name and secrets of a deleted agent, and refuses its id for another agent', async () => {
  const { agent, secrets } = await addAgent({ name: 'Atlas' })
  expect(await stores.agents.deactivate(agent, 'deleted', doNothing)).toBe(2)
  const { name: _erased, ...remaining } = agent
  expect(await stores.agents.find(agent.id)).toEqual({
    agent: { ...remaining, status: 'deleted', credentialVersion: 2 },
    secrets: [],
  })
  await expect(stores.agents.add({ agent, secrets })).rejects.toThrow('agents_pkey')
})

test('does not disable, delete or enable a deleted or unknown agent', async () => {
  const { agent } = await addAgent()
  await stores.agents.deactivate(agent, 'deleted', doNothing)
  for (const id of [agent.id, createExampleAgent().agent.id]) {
    expect(
      await stores.agents.deactivate({ id, credentialVersion: undefined }, 'disabled', doNothing),
    ).toBeUndefined()
    expect(
      await stores.agents.deactivate({ id, credentialVersion: undefined }, 'deleted', doNothing),
    ).toBeUndefined()
    expect(await stores.agents.enable(id, new Date())).toBe(false)
  }
})

test('enables only a disabled agent, and keeps its credential version', async () => {
  const { agent } = await addAgent()
  expect(await stores.agents.enable(agent.id, new Date())).toBe(false)
  await stores.agents.deactivate(agent, 'disabled', doNothing)
  expect(await stores.agents.enable(agent.id, new Date())).toBe(true)
  expect((await stores.agents.find(agent.id))?.agent).toMatchObject({
    status: 'active',
    credentialVersion: 2,
  })
})

test('passes the new credential version to beforeCommit before the change is visible', async () => {
  const { agent } = await addAgent()
  const observations: unknown[] = []
  await stores.agents.deactivate(agent, 'deleted', async (credentialVersion) => {
    const visible = await stores.agents.find(agent.id)
    observations.push(credentialVersion, visible?.agent.credentialVersion, visible?.agent.status)
  })
  expect(observations).toEqual([2, 1, 'active'])
})

test('changes nothing if beforeCommit fails', async () => {
  const record = await addAgent({ name: 'Atlas' })
  const deletion = stores.agents.deactivate(record.agent, 'deleted', () =>
    Promise.reject(new Error('no Redis')),
  )
  await expect(deletion).rejects.toThrow('no Redis')
  expect(await stores.agents.find(record.agent.id)).toEqual(record)
})

test('lists the newest agents first, up to the limit', async () => {
  // Later than the registrations of all other tests.
  const days = ['2030-01-01', '2030-01-03', '2030-01-02']
  const agents = await Promise.all(days.map((day) => addAgent({ registeredAt: new Date(day) })))
  const [oldest, newest, middle] = agents.map(({ agent }) => agent.id)
  expect((await stores.agents.list(2)).map(({ id }) => id)).toEqual([newest, middle])
  expect((await stores.agents.list(3)).map(({ id }) => id)).toEqual([newest, middle, oldest])
})

test('rejects a row that is not a valid agent', async () => {
  const { agent } = await addAgent()
  await stores.db.query(`update agents set scopes = '{everything}' where id = $1`, [agent.id])
  await expect(stores.agents.find(agent.id)).rejects.toThrow('scopes')
  await stores.db.query(`update agents set scopes = '{guides:read}' where id = $1`, [agent.id])
})

test('notifies processes when an agent or its secrets are updated or deleted, but not when an agent is added', async () => {
  const received: string[] = []
  await using _subscription = await listen(
    stores.database.appUrl,
    { agents_changed: (id) => void received.push(id) },
    { onConnected: () => undefined, log: console },
  )
  const { agent } = await addAgent()
  const changes = [
    `update agents set status = 'disabled' where id = $1`,
    `update agent_secrets set ends_at = now() where agent_id = $1`,
    `delete from agent_secrets where agent_id = $1`,
    `delete from agents where id = $1`,
  ]
  for (const [index, change] of changes.entries()) {
    await stores.db.query(change, [agent.id])
    await expect.poll(() => received).toEqual(Array.from({ length: index + 1 }, () => agent.id))
  }
})

test('re-encrypts names under the newest key-encryption key, so the old one is no longer needed', async () => {
  await using other = await openTestStores()
  const oldKey = generateKeyEncryptionKey()
  const newKey = generateKeyEncryptionKey()
  const namedRecords = Array.from({ length: 3 }, (_, index) => createExampleAgent({ name: `Agent ${index}` }))
  const createStoreWithKeys = (text: string) =>
    createAgentStore(other.db, {
      addMail: async () => undefined,
      sealer: createSealer(text),
      events: other.events,
      now: () => new Date(),
    })
  const oldStore = createStoreWithKeys(oldKey)
  for (const record of [...namedRecords, createExampleAgent()]) await oldStore.add(record)
  const store = createStoreWithKeys(`${newKey}\n${oldKey}`)
  expect(await store.reencryptNames({ dryRun: true })).toBe(3)
  expect(await store.reencryptNames({ dryRun: false })).toBe(3)
  expect(await store.reencryptNames({ dryRun: false })).toBe(0)
  const found = await createStoreWithKeys(newKey).find(namedRecords[0]?.agent.id as never)
  expect(found?.agent.name).toBe('Agent 0')
  await expect(oldStore.reencryptNames({ dryRun: false })).rejects.toThrow(UnsealError)
})

test('emits an event after a deletion is committed, and none if beforeCommit fails', async () => {
  const emitted: unknown[] = []
  const record = (event: unknown) => void emitted.push(event)
  stores.events.on('client-ended', record)
  const { agent } = await addAgent()
  await stores.agents
    .deactivate(agent, 'deleted', () => Promise.reject(new Error('no Redis')))
    .catch(doNothing)
  expect(emitted).toEqual([])
  await stores.agents.deactivate(agent, 'deleted', doNothing)
  expect(emitted).toEqual([{ client_id: agent.id, how: 'deleted' }])
  stores.events.off('client-ended', record)
})
