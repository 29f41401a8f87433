import { expect, test } from 'vitest'
import { openScratchRedis } from '../../test/open-scratch-redis.ts'
import { describeUsedProofStore } from './used-proof-store.contract.ts'
import { createRedisUsedProofStore } from './used-proof-store.ts'

async function open() {
  const scratch = await openScratchRedis()
  const { redis, prefix } = scratch
  return {
    scratch,
    proofs: createRedisUsedProofStore(redis, { prefix }),
    secondInstance: createRedisUsedProofStore(redis, { prefix }),
    dump: scratch.dump,
    [Symbol.asyncDispose]: () => scratch[Symbol.asyncDispose](),
  }
}

describeUsedProofStore('Redis', open)

test('sets the expiry of a proof in Redis', async () => {
  await using store = await open()
  const expiresAt = new Date(Date.now() + 300_000)
  await store.proofs.markUsed({ clientId: 'agt_1', jti: 'one', expiresAt })
  const [key] = await store.scratch.listKeys('proof:*')
  expect(await store.scratch.redis.pexpiretime(key!)).toBe(expiresAt.getTime())
})
