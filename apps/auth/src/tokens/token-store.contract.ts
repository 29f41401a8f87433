import { randomBytes } from 'node:crypto'
import type { AgentId } from '@plainpath/domain'
import { sha256 } from '@plainpath/sealing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createExampleAgent } from '../../test/example-agent.ts'
import { openTestStores, type TestStores } from '../../test/open-test-stores.ts'
import { deactivateAgent } from '../agents/deactivate-agent.ts'
import { noOpRevocationPublisher } from '../revocation/revocation-publisher.ts'
import { revokeInEmergency } from './emergency-revocation.ts'
import type { RevocationScope } from './emergency-revocation-store.ts'
import type { TokenRecord, TokenStore } from './token-store.ts'

/** The store that an implementation opens for the tests. */
export interface OpenedTokenStore extends AsyncDisposable {
  readonly tokens: TokenStore
  /** Returns everything that is stored, as text. */
  dump(): Promise<string>
}

/** A token store for the tests, with the other stores, the clock, and the functions that the tests call. */
export interface TokenStoreFixture {
  readonly stores: TestStores
  /** The token store under test. */
  readonly tokens: TokenStore
  deactivateAgent(id: AgentId, status: 'disabled' | 'deleted'): Promise<boolean>
  revokeInEmergency(scope: RevocationScope): ReturnType<typeof revokeInEmergency>
  readonly clock: { now: Date }
  dump(): Promise<string>
}

/** Opens a token store with an empty database. The test moves the clock. */
export async function openTokenStoreFixture(
  open: (stores: TestStores, now: () => Date) => Promise<OpenedTokenStore>,
): Promise<TokenStoreFixture & AsyncDisposable> {
  await using stack = new AsyncDisposableStack()
  const stores = stack.use(await openTestStores())
  const clock = { now: new Date() }
  const { tokens, dump } = stack.use(await open(stores, () => clock.now))
  const revocationDeps = {
    agents: stores.agents,
    tokens,
    revocationPublisher: noOpRevocationPublisher,
    agentCache: { invalidate: () => undefined },
  }
  const resources = stack.move()
  return {
    stores,
    tokens,
    deactivateAgent: (id, status) =>
      deactivateAgent(revocationDeps, { id, credentialVersion: undefined }, status),
    revokeInEmergency: (scope) =>
      revokeInEmergency(
        {
          revocationPublisher: noOpRevocationPublisher,
          emergencyRevocations: stores.emergencyRevocations,
          tokens,
          actor: { user: 'rosa', host: 'ops-laptop' },
        },
        scope,
        {
          reason: 'a test',
        },
      ),
    clock,
    dump,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

export const generateToken = () => `ppt_${randomBytes(32).toString('base64url')}`
/** The thumbprint of a key (RFC 7638). */
export const JKT = 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs'
const HOUR_MS = 3_600_000

/** Defines the tests that every TokenStore must pass. */
export function describeTokenStore(
  kind: string,
  open: (stores: TestStores, now: () => Date) => Promise<OpenedTokenStore>,
): void {
  describe(`${kind} token store`, () => {
    let fixture: TokenStoreFixture & AsyncDisposable
    beforeAll(async () => {
      fixture = await openTokenStoreFixture(open)
    })
    afterAll(() => fixture[Symbol.asyncDispose]())

    async function register() {
      const record = createExampleAgent()
      await fixture.stores.agents.add(record)
      return record.agent.id
    }
    function buildToken(clientId: AgentId, credentialVersion = 1, epoch = 0): TokenRecord {
      const issuedAt = new Date(Math.floor(fixture.clock.now.getTime() / 1000) * 1000)
      const expiresAt = new Date(issuedAt.getTime() + HOUR_MS)
      return {
        clientId,
        credentialVersion,
        epoch,
        scope: 'guides:read',
        audience: 'https://a.example/api',
        issuedAt,
        expiresAt,
      }
    }
    let issuedCount = 0
    /** Saves a token with the credential version that its issuer has cached. Alternates between bearer and bound tokens. */
    async function issue(clientId: AgentId, credentialVersion = 1) {
      const hash = sha256(generateToken())
      const binding = issuedCount++ % 2 ? { jkt: JKT } : {}
      await fixture.tokens.save(hash, { ...buildToken(clientId, credentialVersion), ...binding })
      return hash
    }
    const isActive = async (hash: Buffer) => (await fixture.tokens.find(hash)) !== undefined

    test('finds each saved token with its values', async () => {
      const id = await register()
      const [firstHash, secondHash] = [sha256(generateToken()), sha256(generateToken())]
      await fixture.tokens.save(firstHash, buildToken(id))
      await fixture.tokens.save(secondHash, { ...buildToken(id), scope: 'guides:read waitlist:write' })
      expect(await fixture.tokens.find(firstHash)).toEqual(buildToken(id))
      expect(await fixture.tokens.find(secondHash)).toEqual({
        ...buildToken(id),
        scope: 'guides:read waitlist:write',
      })
    })

    test('finds a bound token with the thumbprint of its key', async () => {
      const hash = sha256(generateToken())
      const boundToken = { ...buildToken(await register()), jkt: JKT }
      await fixture.tokens.save(hash, boundToken)
      expect(await fixture.tokens.find(hash)).toEqual(boundToken)
    })

    test('finds no token that was not saved', async () => {
      expect(await fixture.tokens.find(sha256(generateToken()))).toBeUndefined()
    })

    test('finds a token until it expires, and not at its time of expiry', async () => {
      const hash = await issue(await register())
      const { expiresAt } = buildToken(createExampleAgent().agent.id)
      const originalTime = fixture.clock.now
      fixture.clock.now = new Date(expiresAt.getTime() - 1)
      expect(await isActive(hash)).toBe(true)
      fixture.clock.now = expiresAt
      expect(await isActive(hash)).toBe(false)
      fixture.clock.now = originalTime
    })

    test('does not find a revoked token, but finds another token of the client', async () => {
      const id = await register()
      const [revokedToken, otherToken] = [await issue(id), await issue(id)]
      await fixture.tokens.revoke(revokedToken)
      expect([await isActive(revokedToken), await isActive(otherToken)]).toEqual([false, true])
    })

    test('accepts the revocation of an unknown token, and of one that is already revoked', async () => {
      const hash = await issue(await register())
      await fixture.tokens.revoke(hash)
      await fixture.tokens.revoke(hash)
      await fixture.tokens.revoke(sha256(generateToken()))
      expect(await isActive(hash)).toBe(false)
    })

    test('stores no token in plaintext, and finds no token by a hash that differs in one bit', async () => {
      const token = generateToken()
      const id = await register()
      await fixture.tokens.save(sha256(token), buildToken(id))
      const dump = await fixture.dump()
      expect(dump).toContain(id)
      expect(dump).not.toContain(token)
      expect(dump).not.toContain(token.slice('ppt_'.length))
      expect(dump).not.toContain(Buffer.from(token).toString('hex'))
      const alteredHash = sha256(token)
      alteredHash.writeUInt8(alteredHash.readUInt8(31) ^ 1, 31)
      expect([await isActive(sha256(token)), await isActive(alteredHash)]).toEqual([true, false])
    })

    test.for(['disabled', 'deleted'] as const)('finds no token of a %s client', async (status) => {
      const [deactivatedClient, otherClient] = [await register(), await register()]
      const [revokedToken, otherToken] = [await issue(deactivatedClient), await issue(otherClient)]
      expect(await fixture.deactivateAgent(deactivatedClient, status)).toBe(true)
      expect([await isActive(revokedToken), await isActive(otherToken)]).toEqual([false, true])
    })

    test.for(['disabled', 'deleted'] as const)(
      'finds no token that is saved with the old credential version after the client was %s',
      async (status) => {
        const id = await register()
        await fixture.deactivateAgent(id, status)
        expect(await isActive(await issue(id, 1))).toBe(false)
      },
    )

    test('finds only tokens of the new credential version after a client was disabled and enabled', async () => {
      const id = await register()
      const earlierToken = await issue(id)
      await fixture.deactivateAgent(id, 'disabled')
      await fixture.stores.agents.enable(id, new Date())
      const [staleToken, currentToken] = [await issue(id, 1), await issue(id, 2)]
      expect(await Promise.all([earlierToken, staleToken, currentToken].map(isActive))).toEqual([
        false,
        false,
        true,
      ])
    })

    test('finds no token with a credential version that its client has not reached', async () => {
      expect(await isActive(await issue(await register(), 2))).toBe(false)
    })

    test('finds no token of a client that the token authority does not know', async () => {
      const hash = sha256(generateToken())
      // A store may also refuse to save it.
      await Promise.allSettled([fixture.tokens.save(hash, buildToken(createExampleAgent().agent.id))])
      expect(await isActive(hash)).toBe(false)
    })

    test('does not find a token after its revocation, while earlier finds are still running', async () => {
      const id = await register()
      const rounds = Array.from({ length: 20 }, async () => {
        const hash = await issue(id)
        const earlierFinds = Promise.all(Array.from({ length: 5 }, () => isActive(hash)))
        await fixture.tokens.revoke(hash)
        const isActiveAfterwards = await isActive(hash)
        await earlierFinds
        return isActiveAfterwards
      })
      expect(await Promise.all(rounds)).not.toContain(true)
    })

    test('finds no token of a deleted client, whether its save began before the deletion or after it', async () => {
      const rounds = Array.from({ length: 10 }, async () => {
        const id = await register()
        const saves = Array.from({ length: 5 }, () => issue(id))
        const earlierFinds = saves.map(async (hash) => isActive(await hash))
        await fixture.deactivateAgent(id, 'deleted')
        const lateToken = await issue(id)
        const hashes = [...(await Promise.all(saves)), lateToken]
        await Promise.all(earlierFinds)
        return Promise.all(hashes.map(isActive))
      })
      expect((await Promise.all(rounds)).flat()).not.toContain(true)
    })

    test('finds only tokens of the third credential version after two simultaneous deactivations', async () => {
      const id = await register()
      const hash = await issue(id)
      await Promise.all([fixture.deactivateAgent(id, 'disabled'), fixture.deactivateAgent(id, 'disabled')])
      await fixture.stores.agents.enable(id, new Date())
      const credentialVersion = (await fixture.stores.agents.find(id))?.agent.credentialVersion
      const hashes = [hash, await issue(id, 1), await issue(id, 2), await issue(id, credentialVersion)]
      expect(credentialVersion).toBe(3)
      expect(await Promise.all(hashes.map(isActive))).toEqual([false, false, false, true])
    })
  })
}
