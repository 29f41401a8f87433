import type { AgentId, RegistrationId } from '@plainpath/domain'
import { sha256 } from '@plainpath/sealing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createExampleAgent, createExampleHashKey } from '../../test/example-agent.ts'
import { createAttempt, createLinkMail, createRedemption } from '../../test/example-claim.ts'
import type { TestStores } from '../../test/open-test-stores.ts'
import { noOpRevocationPublisher } from '../revocation/revocation-publisher.ts'
import { createVerificationAttemptStore } from '../verifications/postgres-verification-attempt-store.ts'
import { createVerificationStore } from '../verifications/postgres-verification-store.ts'
import {
  generateToken,
  type OpenedTokenStore,
  openTokenStoreFixture,
  type TokenStoreFixture,
} from './token-store.contract.ts'

/** Defines the tests of tokens that depend on a verification. Every TokenStore must pass them. */
export function describeVerifiedTokens(
  kind: string,
  open: (stores: TestStores, now: () => Date) => Promise<OpenedTokenStore>,
): void {
  describe(`a token that depends on a verification, in the ${kind} token store,`, () => {
    let fixture: TokenStoreFixture & AsyncDisposable
    beforeAll(async () => {
      fixture = await openTokenStoreFixture(open)
    })
    afterAll(() => fixture[Symbol.asyncDispose]())

    const createDeps = () => ({
      db: fixture.stores.db,
      sealer: fixture.stores.sealer,
      hashKey: createExampleHashKey(),
      addMail: async () => undefined,
      events: fixture.stores.events,
    })
    const createVerifications = () =>
      createVerificationStore({
        ...createDeps(),
        tokens: fixture.tokens,
        revocationPublisher: noOpRevocationPublisher,
      })
    async function register() {
      const record = createExampleAgent()
      await fixture.stores.agents.add(record)
      return record.agent.id
    }
    /** Adds a verification of the client, which replaces the earlier one. */
    async function verify(clientId: AgentId): Promise<RegistrationId> {
      const now = fixture.clock.now
      const attempt = createAttempt(clientId, { createdAt: now })
      const attempts = createVerificationAttemptStore(createDeps())
      await attempts.begin(attempt, createLinkMail(attempt))
      await attempts.showCode(attempt.id, sha256('code'), now)
      expect(
        await createVerifications().redeem(createRedemption(attempt, sha256('code'), now)),
      ).toMatchObject({
        ok: true,
      })
      return attempt.registrationId
    }
    async function issue(clientId: AgentId, verificationId?: RegistrationId) {
      const hash = sha256(generateToken())
      const issuedAt = new Date(Math.floor(fixture.clock.now.getTime() / 1000) * 1000)
      const expiresAt = new Date(issuedAt.getTime() + 3_600_000)
      const token = {
        clientId,
        credentialVersion: 1,
        epoch: 0,
        scope: 'contact:write',
        audience: 'https://a.example/api',
      }
      await fixture.tokens.save(hash, { ...token, issuedAt, expiresAt, verificationId })
      return hash
    }
    const isActive = async (hash: Buffer) => (await fixture.tokens.find(hash)) !== undefined

    test('is found with the id of its verification while the verification is live', async () => {
      const clientId = await register()
      const verificationId = await verify(clientId)
      expect(await fixture.tokens.find(await issue(clientId, verificationId))).toMatchObject({
        clientId,
        verificationId,
      })
      expect(await fixture.tokens.find(await issue(clientId))).not.toHaveProperty('verificationId')
    })

    test.for(['person', 'agent', 'operator'] as const)(
      'is revoked, even if saved later, when the %s revokes the verification; another token stays active',
      async (by) => {
        const clientId = await register()
        const verificationId = await verify(clientId)
        const [verifiedToken, ownToken] = [await issue(clientId, verificationId), await issue(clientId)]
        expect([await isActive(verifiedToken), await isActive(ownToken)]).toEqual([true, true])
        expect(await createVerifications().revoke(verificationId, by, fixture.clock.now)).toBe(true)
        expect([await isActive(verifiedToken), await isActive(ownToken)]).toEqual([false, true])
        expect(await isActive(await issue(clientId, verificationId))).toBe(false)
      },
    )

    test('is revoked when a new verification of the client replaces the one it depends on', async () => {
      const clientId = await register()
      const oldToken = await issue(clientId, await verify(clientId))
      expect(await isActive(oldToken)).toBe(true)
      const newVerificationToken = await issue(clientId, await verify(clientId))
      expect([await isActive(oldToken), await isActive(newVerificationToken)]).toEqual([false, true])
    })

    test('is not active if its verification is unknown', async () => {
      const clientId = await register()
      const hash = sha256(generateToken())
      const issuedAt = fixture.clock.now
      const expiresAt = new Date(issuedAt.getTime() + 3_600_000)
      const token = { clientId, credentialVersion: 1, epoch: 0, scope: '', audience: '', issuedAt, expiresAt }
      const verificationId = `clm_${'A'.repeat(22)}`
      // A store may also refuse to save it.
      await Promise.allSettled([fixture.tokens.save(hash, { ...token, verificationId })])
      expect(await isActive(hash)).toBe(false)
    })

    test('is active if the token store failed while its verification was being revoked', async () => {
      const clientId = await register()
      const verificationId = await verify(clientId)
      const failingVerifications = createVerificationStore({
        ...createDeps(),
        tokens: { revokeTokensOf: () => Promise.reject(new Error('no subscriber')) },
        revocationPublisher: noOpRevocationPublisher,
      })
      const revocation = failingVerifications.revoke(verificationId, 'person', fixture.clock.now)
      await expect(revocation).rejects.toThrow('no subscriber')
      expect(await isActive(await issue(clientId, verificationId))).toBe(true)
    })

    test('is not found after its verification was revoked, whether it was saved before or afterwards', async () => {
      const rounds = Array.from({ length: 10 }, async () => {
        const clientId = await register()
        const verificationId = await verify(clientId)
        const hashes = await Promise.all(Array.from({ length: 3 }, () => issue(clientId, verificationId)))
        const earlierFinds = hashes.map(isActive)
        await createVerifications().revoke(verificationId, 'agent', fixture.clock.now)
        hashes.push(await issue(clientId, verificationId))
        await Promise.all(earlierFinds)
        return Promise.all(hashes.map(isActive))
      })
      expect((await Promise.all(rounds)).flat()).not.toContain(true)
    })
  })
}
