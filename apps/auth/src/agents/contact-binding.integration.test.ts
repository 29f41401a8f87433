import type { AgentId } from '@plainpath/domain'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createExampleAgent } from '../../test/example-agent.ts'
import { openTestStores, type TestStores } from '../../test/open-test-stores.ts'
import { bindContact, unbindContact } from './contact-binding.ts'
import { createContactBindingStore } from './contact-binding-store.ts'

/*
 * The contact binding is the lock that `contact-binding.ts` explains: a locked agent receives `contact:write` only in key-bound
 * tokens.
 */

let stores: TestStores
beforeAll(async () => {
  stores = await openTestStores()
})
afterAll(() => stores[Symbol.asyncDispose]())

async function addAgent(): Promise<AgentId> {
  const record = createExampleAgent()
  await stores.agents.add(record)
  return record.agent.id
}

/**
 * Creates dependencies that record each revocation of tokens in `steps` as `revoke <credential version>`, and each publication as
 * `publish`.
 *
 * @param options.failAt the step that throws
 */
function createRecordingDeps(options: { failAt?: 'revoke' | 'publish' } = {}) {
  const steps: string[] = []
  const recordStep = async (kind: 'revoke' | 'publish', step: string) => {
    if (options.failAt === kind) throw new Error(`cannot ${kind}`)
    steps.push(step)
  }
  const deps = {
    contactBindings: createContactBindingStore(stores.db, stores.events),
    tokens: {
      revokeTokensOf: (subject: object) =>
        recordStep('revoke', `revoke ${(subject as { credentialVersion: number }).credentialVersion}`),
    },
    agentCache: { invalidate: () => undefined },
    revocationPublisher: { publish: () => recordStep('publish', 'publish') },
  }
  return { deps, steps }
}

/** Reads a pair: the agent's credential version, and the version since which it is bound, or undefined if it is not. */
const readBinding = async (id: AgentId) => {
  const agent = (await stores.agents.find(id))?.agent
  return [agent?.credentialVersion, agent?.contactBoundSince]
}

test('bindContact revokes the tokens twice, then publishes', async () => {
  const id = await addAgent()
  const { deps, steps } = createRecordingDeps()
  expect(await bindContact(deps, id, 1)).toBe(2)
  expect(steps).toEqual(['revoke 2', 'revoke 2', 'publish'])
  expect(await readBinding(id)).toEqual([2, 2])
})

test('bindContact raises the credential version once when called repeatedly, and publishes each time', async () => {
  const id = await addAgent()
  await bindContact(createRecordingDeps().deps, id, 1)
  const { deps, steps } = createRecordingDeps()
  // Version 1 is the one before the binding, so a request that was authenticated under it still receives version 2.
  expect([await bindContact(deps, id, 1), await bindContact(deps, id, 2)]).toEqual([2, 2])
  expect(steps).toEqual(['revoke 2', 'publish', 'revoke 2', 'publish'])
  expect(await readBinding(id)).toEqual([2, 2])
})

test('bindContact raises the credential version once for many simultaneous calls', async () => {
  const id = await addAgent()
  const { deps } = createRecordingDeps()
  const versions = await Promise.all(Array.from({ length: 8 }, () => bindContact(deps, id, 1)))
  expect(versions).toEqual(Array(8).fill(2))
  expect(await readBinding(id)).toEqual([2, 2])
})

test('bindContact returns the credential version of the request unchanged if a credential was removed after its authentication', async () => {
  const id = await addAgent()
  /** Raises the credential version (the column `generation`), as the removal of a credential does. */
  const raiseCredentialVersion = () =>
    stores.db.query('update agents set generation = generation + 1 where id = $1', [id])
  await raiseCredentialVersion()
  const { deps, steps } = createRecordingDeps()
  expect(await bindContact(deps, id, 1)).toBe(1)
  expect([steps, await readBinding(id)]).toEqual([[], [2, undefined]])
  expect(await bindContact(deps, id, 2)).toBe(3)
  await raiseCredentialVersion()
  steps.length = 0
  expect([await bindContact(deps, id, 2), await bindContact(deps, id, 3)]).toEqual([2, 3])
  expect(steps).toEqual([])
  expect(await bindContact(deps, id, 4)).toBe(4)
  expect(steps).toEqual(['revoke 4', 'publish'])
  expect(await readBinding(id)).toEqual([4, 3])
})

test('bindContact does not bind a disabled agent, and unbindContact returns false for it', async () => {
  const id = await addAgent()
  await stores.agents.deactivate({ id, credentialVersion: 1 }, 'disabled', async () => {})
  const { deps, steps } = createRecordingDeps()
  // Disabling raised the credential version to 2.
  expect(await bindContact(deps, id, 2)).toBe(2)
  expect([steps, await readBinding(id)]).toEqual([[], [2, undefined]])
  expect(await unbindContact(deps, { id, credentialVersion: 2 })).toBe(false)
})

test('bindContact changes nothing if revoking the tokens fails, and publishes on the next call if publishing fails', async () => {
  const id = await addAgent()
  await expect(bindContact(createRecordingDeps({ failAt: 'revoke' }).deps, id, 1)).rejects.toThrow(
    'cannot revoke',
  )
  expect(await readBinding(id)).toEqual([1, undefined])
  await expect(bindContact(createRecordingDeps({ failAt: 'publish' }).deps, id, 1)).rejects.toThrow(
    'cannot publish',
  )
  const { deps, steps } = createRecordingDeps()
  expect(await bindContact(deps, id, 1)).toBe(2)
  expect(steps).toEqual(['revoke 2', 'publish'])
})

test('unbindContact revokes no tokens, and the next call to bindContact binds the agent again', async () => {
  const id = await addAgent()
  const { deps, steps } = createRecordingDeps()
  await bindContact(deps, id, 1)
  steps.length = 0
  // Version 1 is the one before the binding, which removed no credential.
  expect(await unbindContact(deps, { id, credentialVersion: 1 })).toBe(true)
  expect(await unbindContact(deps, { id, credentialVersion: 2 })).toBe(true)
  expect([steps, await readBinding(id)]).toEqual([[], [2, undefined]])
  expect(await bindContact(deps, id, 2)).toBe(3)
  expect(await readBinding(id)).toEqual([3, 3])
})
