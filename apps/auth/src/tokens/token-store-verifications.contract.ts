import type { AgentId, RegistrationId } from '@plainpath/domain'
import { sha256 } from '@plainpath/sealing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exampleAgent, exampleHashKey } from '../../test/example-agent.ts'
import { exampleAttempt, exampleRedemption, linkMail } from '../../test/example-claim.ts'
import type { Authority } from '../../test/open-authority.ts'
import { noOpRevocationPublisher } from '../revocation/revocation-publisher.ts'
import { createVerificationAttemptStore } from '../verifications/postgres-verification-attempt-store.ts'
import { createVerificationStore } from '../verifications/postgres-verification-store.ts'
import {
  newToken,
  type OpenedTokenStore,
  openUnderTest,
  type TokenStoreUnderTest,
} from './token-store.contract.ts'

/** Defines the tests of tokens that depend on a verification. Every TokenStore must pass them. */
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
    const openVerifications = () =>
      createVerificationStore({
        ...deps(),
        tokens: store.tokens,
        revocationPublisher: noOpRevocationPublisher,
      })
    async function register() {
      const record = exampleAgent()
      await store.authority.agents.add(record)
      return record.agent.id
    }
    /** Verifies a client. This replaces its earlier verification. */
    async function verify(clientId: AgentId): Promise<RegistrationId> {
      const now = store.clock.now
      const attempt = exampleAttempt(clientId, { createdAt: now })
      const attempts = createVerificationAttemptStore(deps())
      await attempts.begin(attempt, linkMail(attempt))
      await attempts.showCode(attempt.id, sha256('code'), now)
      expect(
        await openVerifications().redeem(exampleRedemption(attempt.id, sha256('code'), now)),
      ).toMatchObject({
        ok: true,
      })
      return attempt.registrationId
    }
    async function issue(clientId: AgentId, verificationId?: RegistrationId) {
      const hash = sha256(newToken())
      const issuedAt = new Date(Math.floor(store.clock.now.getTime() / 1000) * 1000)
      const expiresAt = new Date(issuedAt.getTime() + 3_600_000)
      const token = {
        clientId,
        credentialVersion: 1,
        epoch: 0,
        scope: 'contact:write',
        audience: 'https://a.example/api',
      }
      await store.tokens.save(hash, { ...token, issuedAt, expiresAt, verificationId })
      return hash
    }
    const isActive = async (hash: Buffer) => (await store.tokens.find(hash)) !== undefined

    test('carries the claim, and is active while the claim is live', async () => {
      const clientId = await register()
      const verificationId = await verify(clientId)
      expect(await store.tokens.find(await issue(clientId, verificationId))).toMatchObject({
        clientId,
        verificationId,
      })
      expect(await store.tokens.find(await issue(clientId))).not.toHaveProperty('claimId')
    })

    test.for(['person', 'agent', 'operator'] as const)(
      'ends with it when the %s ends it, also where it is saved later; the others of the client live',
      async (by) => {
        const clientId = await register()
        const verificationId = await verify(clientId)
        const [verifiedToken, ownToken] = [await issue(clientId, verificationId), await issue(clientId)]
        expect([await isActive(verifiedToken), await isActive(ownToken)]).toEqual([true, true])
        expect(await openVerifications().revoke(verificationId, by, store.clock.now)).toBe(true)
        expect([await isActive(verifiedToken), await isActive(ownToken)]).toEqual([false, true])
        expect(await isActive(await issue(clientId, verificationId))).toBe(false)
      },
    )

    test('ends when another claim of the client replaces it', async () => {
      const clientId = await register()
      const before = await issue(clientId, await verify(clientId))
      expect(await isActive(before)).toBe(true)
      const after = await issue(clientId, await verify(clientId))
      expect([await isActive(before), await isActive(after)]).toEqual([false, true])
    })

    test('is never active under an unknown claim', async () => {
      const clientId = await register()
      const hash = sha256(newToken())
      const [issuedAt, expiresAt] = [store.clock.now, new Date(store.clock.now.getTime() + 3_600_000)]
      const token = { clientId, credentialVersion: 1, epoch: 0, scope: '', audience: '', issuedAt, expiresAt }
      const verificationId = `clm_${'A'.repeat(22)}`
      await Promise.allSettled([store.tokens.save(hash, { ...token, verificationId })])
      expect(await isActive(hash)).toBe(false)
    })

    test('a claim whose end cannot be announced stays live', async () => {
      const clientId = await register()
      const verificationId = await verify(clientId)
      const failing = createVerificationStore({
        ...deps(),
        tokens: { revokeTokensOf: () => Promise.reject(new Error('no subscriber')) },
        revocationPublisher: noOpRevocationPublisher,
      })
      await expect(failing.revoke(verificationId, 'person', store.clock.now)).rejects.toThrow('no subscriber')
      expect(await isActive(await issue(clientId, verificationId))).toBe(true)
    })

    test('no find that begins after the end of the claim finds it', async () => {
      const rounds = Array.from({ length: 10 }, async () => {
        const clientId = await register()
        const verificationId = await verify(clientId)
        const hashes = await Promise.all(Array.from({ length: 3 }, () => issue(clientId, verificationId)))
        const reading = hashes.map(isActive)
        await openVerifications().revoke(verificationId, 'agent', store.clock.now)
        hashes.push(await issue(clientId, verificationId))
        await Promise.all(reading)
        return Promise.all(hashes.map(isActive))
      })
      expect((await Promise.all(rounds)).flat()).not.toContain(true)
    })
  })
}
