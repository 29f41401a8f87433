import { newKeyEncryptionKey, parseKeyEncryptionKeys, SealError } from '@plainpath/sealing'
import { expect, test } from 'vitest'
import { exampleAgent } from '../../test/example-agent.ts'
import { openAuthority } from '../../test/open-authority.ts'
import { rewrapNames } from './postgres-agent-names.ts'
import { postgresAgentStore } from './postgres-agent-store.ts'

test('names move to the newest key-encryption key, after which the old one is not needed', async () => {
  await using authority = await openAuthority()
  const [old, young] = [newKeyEncryptionKey(), newKeyEncryptionKey()]
  const under = (text: string) => parseKeyEncryptionKeys(text)
  const named = Array.from({ length: 3 }, (_, n) => exampleAgent({ name: `Agent ${n}` }))
  const store = postgresAgentStore(authority.db, under(old))
  for (const agent of [...named, exampleAgent()]) await store.add(agent)
  const both = under(`${young}\n${old}`)
  expect(await rewrapNames(authority.db, both, { trial: true })).toBe(3)
  expect(await rewrapNames(authority.db, both, { trial: false })).toBe(3)
  expect(await rewrapNames(authority.db, both, { trial: false })).toBe(0)
  const found = await postgresAgentStore(authority.db, under(young)).find(named[0]?.agent.id as never)
  expect(found?.agent.name).toBe('Agent 0')
  await expect(rewrapNames(authority.db, under(old), { trial: false })).rejects.toThrow(SealError)
})
