import { afterAll, beforeAll, expect, test } from 'vitest'
import { exampleAgent } from '../../test/example-agent.ts'
import { type Authority, openAuthority } from '../../test/open-authority.ts'
import { bindContact, unbindContact } from './contact-binding.ts'
import { contactBindingStore } from './contact-binding-store.ts'

let authority: Authority
beforeAll(async () => {
  authority = await openAuthority()
})
afterAll(() => authority[Symbol.asyncDispose]())

async function added() {
  const record = exampleAgent()
  await authority.agents.add(record)
  return record.agent.id
}

/** The use case, with what it did to the tokens and told the APIs. */
function open(options: { failAt?: 'revoke' | 'publish' } = {}) {
  const steps: string[] = []
  const run = (step: string, name: 'revoke' | 'publish') => async () => {
    if (options.failAt === name) throw new Error(`cannot ${name}`)
    steps.push(step)
  }
  const deps = {
    contactBindings: contactBindingStore(authority.db, authority.events),
    tokens: {
      revokeTokensOf: (subject: object) =>
        run(`revoke ${(subject as { generation: number }).generation}`, 'revoke')(),
    },
    cachedAgents: { forget: () => undefined },
    revoker: { publishRevocation: () => run('publish', 'publish')() },
  }
  return { deps, steps }
}
const read = async (id: Awaited<ReturnType<typeof added>>) => {
  const agent = (await authority.agents.find(id))?.agent
  return [agent?.generation, agent?.contactBoundSince]
}

test('raises the generation before the commit, again after it, then publishes', async () => {
  const id = await added()
  const { deps, steps } = open()
  expect(await bindContact(deps, id, 1)).toBe(2)
  expect(steps).toEqual(['revoke 2', 'revoke 2', 'publish'])
  expect(await read(id)).toEqual([2, 2])
})

test('raises it once, and publishes each time', async () => {
  const id = await added()
  await bindContact(open().deps, id, 1)
  const { deps, steps } = open()
  expect([await bindContact(deps, id, 1), await bindContact(deps, id, 2)]).toEqual([2, 2])
  expect(steps).toEqual(['revoke 2', 'publish', 'revoke 2', 'publish'])
  expect(await read(id)).toEqual([2, 2])
})

test('many at once raise it once', async () => {
  const id = await added()
  const { deps } = open()
  const all = await Promise.all(Array.from({ length: 8 }, () => bindContact(deps, id, 1)))
  expect(all).toEqual(Array(8).fill(2))
  expect(await read(id)).toEqual([2, 2])
})

test('a request that was authenticated before its credential was removed gets no valid generation', async () => {
  const id = await added()
  const remove = () => authority.db.query('update agents set generation = generation + 1 where id = $1', [id])
  await remove()
  const { deps, steps } = open()
  expect(await bindContact(deps, id, 1)).toBe(1)
  expect([steps, await read(id)]).toEqual([[], [2, undefined]])
  expect(await bindContact(deps, id, 2)).toBe(3)
  await remove()
  expect([await bindContact(deps, id, 2), await bindContact(deps, id, 3)]).toEqual([3, 3])
  // The store of tokens never gets a number that is lower than the agent's.
  expect(steps.at(-2)).toBe('revoke 4')
  expect(await read(id)).toEqual([4, 3])
})

test('an agent that is not active is not bound', async () => {
  const id = await added()
  await authority.agents.end(id, 'disabled', async () => {})
  const { deps, steps } = open()
  expect(await bindContact(deps, id, 2)).toBe(2)
  expect([steps, await read(id)]).toEqual([[], [2, undefined]])
  expect(await unbindContact(deps, id)).toBe(false)
})

test('changes nothing when the tokens cannot be revoked, and publishes later what it could not', async () => {
  const id = await added()
  await expect(bindContact(open({ failAt: 'revoke' }).deps, id, 1)).rejects.toThrow('cannot revoke')
  expect(await read(id)).toEqual([1, undefined])
  await expect(bindContact(open({ failAt: 'publish' }).deps, id, 1)).rejects.toThrow('cannot publish')
  const { deps, steps } = open()
  expect(await bindContact(deps, id, 1)).toBe(2)
  expect(steps).toEqual(['revoke 2', 'publish'])
})

test('clearing it revokes nothing, and the next bound token sets it again', async () => {
  const id = await added()
  const { deps, steps } = open()
  await bindContact(deps, id, 1)
  steps.length = 0
  for (let n = 0; n < 2; n++) expect(await unbindContact(deps, id)).toBe(true)
  expect([steps, await read(id)]).toEqual([[], [2, undefined]])
  expect(await bindContact(deps, id, 2)).toBe(3)
  expect(await read(id)).toEqual([3, 3])
})
