import type { AgentId, RegistrationId } from '@plainpath/domain'
import { sha256 } from '@plainpath/sealing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exampleAgent, exampleHashKey } from '../../test/example-agent.ts'
import { exampleAttempt, exampleRedemption, linkMail } from '../../test/example-claim.ts'
import type { Authority } from '../../test/open-authority.ts'
import { postgresClaimAttempts } from '../claims/postgres-claim-attempts.ts'
import { postgresClaims } from '../claims/postgres-claims.ts'
import { noOpRevoker } from '../revocation/revoker.ts'
import {
  newToken,
  type OpenedTokenStore,
  openUnderTest,
  type TokenStoreUnderTest,
} from './token-store.contract.ts'

/** Every TokenStore must pass this, too: tokens that were got under a claim. */
export function describeTokensOfClaims(
  kind: string,
  open: (authority: Authority, now: () => Date) => Promise<OpenedTokenStore>,
): void {
  describe(`in the ${kind} token store, a token that was got under a claim`, () => {
    let store: TokenStoreUnderTest & AsyncDisposable
    beforeAll(async () => {
      store = await openUnderTest(open)
    })
    afterAll(() => store[Symbol.asyncDispose]())

    const deps = () => ({
      db: store.authority.db,
      sealingKeys: store.authority.sealingKeys,
      hashKey: exampleHashKey(),
      addMail: async () => undefined,
      events: store.authority.events,
    })
    const claims = () =>
      postgresClaims({
        ...deps(),
        tokens: store.tokens,
        revoker: noOpRevoker,
      })
    async function register() {
      const record = exampleAgent()
      await store.authority.agents.add(record)
      return record.agent.id
    }
    /** @returns the claim that stands from now on; an earlier one of the client ends */
    async function claim(clientId: AgentId): Promise<RegistrationId> {
      const now = store.clock.now
      const attempt = exampleAttempt(clientId, { createdAt: now })
      const attempts = postgresClaimAttempts(deps())
      await attempts.begin(attempt, linkMail(attempt))
      await attempts.press(attempt.id, sha256('code'), now)
      expect(await claims().redeem(exampleRedemption(attempt.id, sha256('code'), now))).toMatchObject({
        ok: true,
      })
      return attempt.registrationId
    }
    async function issue(clientId: AgentId, claimId?: RegistrationId) {
      const hash = sha256(newToken())
      const issuedAt = new Date(Math.floor(store.clock.now.getTime() / 1000) * 1000)
      const expiresAt = new Date(issuedAt.getTime() + 3_600_000)
      const token = {
        clientId,
        generation: 1,
        epoch: 0,
        scope: 'contact:write',
        audience: 'https://a.example/api',
      }
      await store.tokens.save(hash, { ...token, issuedAt, expiresAt, claimId })
      return hash
    }
    const isActive = async (hash: Buffer) => (await store.tokens.find(hash)) !== undefined

    test('carries the claim, and is active while the claim is live', async () => {
      const clientId = await register()
      const claimId = await claim(clientId)
      expect(await store.tokens.find(await issue(clientId, claimId))).toMatchObject({ clientId, claimId })
      expect(await store.tokens.find(await issue(clientId))).not.toHaveProperty('claimId')
    })

    test.for(['person', 'agent', 'operator'] as const)(
      'ends with it when the %s ends it, also where it is saved later; the others of the client live',
      async (by) => {
        const clientId = await register()
        const claimId = await claim(clientId)
        const [lent, own] = [await issue(clientId, claimId), await issue(clientId)]
        expect([await isActive(lent), await isActive(own)]).toEqual([true, true])
        expect(await claims().end(claimId, by, store.clock.now)).toBe(true)
        expect([await isActive(lent), await isActive(own)]).toEqual([false, true])
        expect(await isActive(await issue(clientId, claimId))).toBe(false)
      },
    )

    test('ends when another claim of the client replaces it', async () => {
      const clientId = await register()
      const before = await issue(clientId, await claim(clientId))
      expect(await isActive(before)).toBe(true)
      const after = await issue(clientId, await claim(clientId))
      expect([await isActive(before), await isActive(after)]).toEqual([false, true])
    })

    test('is never active under an unknown claim', async () => {
      const clientId = await register()
      const hash = sha256(newToken())
      const [issuedAt, expiresAt] = [store.clock.now, new Date(store.clock.now.getTime() + 3_600_000)]
      const token = { clientId, generation: 1, epoch: 0, scope: '', audience: '', issuedAt, expiresAt }
      const claimId = `clm_${'A'.repeat(22)}`
      await Promise.allSettled([store.tokens.save(hash, { ...token, claimId })])
      expect(await isActive(hash)).toBe(false)
    })

    test('a claim whose end cannot be announced stays live', async () => {
      const clientId = await register()
      const claimId = await claim(clientId)
      const failing = postgresClaims({
        ...deps(),
        tokens: { revokeTokensOf: () => Promise.reject(new Error('no subscriber')) },
        revoker: noOpRevoker,
      })
      await expect(failing.end(claimId, 'person', store.clock.now)).rejects.toThrow('no subscriber')
      expect(await isActive(await issue(clientId, claimId))).toBe(true)
    })

    test('no find that begins after the end of the claim finds it', async () => {
      const rounds = Array.from({ length: 10 }, async () => {
        const clientId = await register()
        const claimId = await claim(clientId)
        const hashes = await Promise.all(Array.from({ length: 3 }, () => issue(clientId, claimId)))
        const reading = hashes.map(isActive)
        await claims().end(claimId, 'agent', store.clock.now)
        hashes.push(await issue(clientId, claimId))
        await Promise.all(reading)
        return Promise.all(hashes.map(isActive))
      })
      expect((await Promise.all(rounds)).flat()).not.toContain(true)
    })
  })
}
