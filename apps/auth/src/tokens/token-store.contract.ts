import { randomBytes } from 'node:crypto'
import type { AgentId } from '@plainpath/domain'
import { sha256 } from '@plainpath/sealing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exampleAgent } from '../../test/example-agent.ts'
import { type Authority, openAuthority } from '../../test/open-authority.ts'
import { endAgent } from '../agents/end-agent.ts'
import { noOpRevoker } from '../revocation/revoker.ts'
import type { StopScope } from './stop-store.ts'
import { stopTokens } from './stop-tokens.ts'
import type { TokenRecord, TokenStore } from './token-store.ts'

export interface OpenedTokenStore extends AsyncDisposable {
  readonly tokens: TokenStore
  /** Everything that was written for tokens, as text. */
  dump(): Promise<string>
}

export interface TokenStoreUnderTest {
  readonly authority: Authority
  readonly tokens: TokenStore
  endAgent(id: AgentId, status: 'disabled' | 'deleted'): Promise<boolean>
  stop(scope: StopScope): ReturnType<typeof stopTokens>
  readonly clock: { now: Date }
  dump(): Promise<string>
}

/** A store on a fresh database whose agents are the authority; the clock is moved by the test. */
export async function openUnderTest(
  open: (authority: Authority, now: () => Date) => Promise<OpenedTokenStore>,
): Promise<TokenStoreUnderTest & AsyncDisposable> {
  await using opening = new AsyncDisposableStack()
  const authority = opening.use(await openAuthority())
  const clock = { now: new Date() }
  const { tokens, dump } = opening.use(await open(authority, () => clock.now))
  const ending = {
    agents: authority.agents,
    tokens,
    revoker: noOpRevoker,
    cachedAgents: { forget: () => undefined },
  }
  const resources = opening.move()
  return {
    authority,
    tokens,
    endAgent: (id, status) => endAgent(ending, id, status),
    stop: (scope) =>
      stopTokens(
        {
          revoker: noOpRevoker,
          stops: authority.stops,
          tokens,
          by: { user: 'rosa', host: 'desk' },
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

export const newToken = () => `ppt_${randomBytes(32).toString('base64url')}`
/** The thumbprint of a key (RFC 7638). */
export const JKT = 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs'
const HOUR_MS = 3_600_000

/** Every TokenStore must pass this. */
export function describeTokenStore(
  kind: string,
  open: (authority: Authority, now: () => Date) => Promise<OpenedTokenStore>,
): void {
  describe(`${kind} token store`, () => {
    let store: TokenStoreUnderTest & AsyncDisposable
    beforeAll(async () => {
      store = await openUnderTest(open)
    })
    afterAll(() => store[Symbol.asyncDispose]())

    async function register() {
      const record = exampleAgent()
      await store.authority.agents.add(record)
      return record.agent.id
    }
    function tokenOf(clientId: AgentId, generation = 1, epoch = 0): TokenRecord {
      const issuedAt = new Date(Math.floor(store.clock.now.getTime() / 1000) * 1000)
      const expiresAt = new Date(issuedAt.getTime() + HOUR_MS)
      return {
        clientId,
        generation,
        epoch,
        scope: 'guides:read',
        audience: 'https://a.example/api',
        issuedAt,
        expiresAt,
      }
    }
    let issued = 0
    /** What a process does that issues a token under the generation it believes in; every other one is bound to a key. */
    async function issue(clientId: AgentId, generation = 1) {
      const hash = sha256(newToken())
      const binding = issued++ % 2 ? { jkt: JKT } : {}
      await store.tokens.save(hash, { ...tokenOf(clientId, generation), ...binding })
      return hash
    }
    const isActive = async (hash: Buffer) => (await store.tokens.find(hash)) !== undefined

    test('finds each saved token with its values', async () => {
      const id = await register()
      const [first, second] = [sha256(newToken()), sha256(newToken())]
      await store.tokens.save(first, tokenOf(id))
      await store.tokens.save(second, { ...tokenOf(id), scope: 'guides:read waitlist:write' })
      expect(await store.tokens.find(first)).toEqual(tokenOf(id))
      expect(await store.tokens.find(second)).toEqual({ ...tokenOf(id), scope: 'guides:read waitlist:write' })
    })

    test('finds a token that is bound to a key with its thumbprint', async () => {
      const [hash, bound] = [sha256(newToken()), { ...tokenOf(await register()), jkt: JKT }]
      await store.tokens.save(hash, bound)
      expect(await store.tokens.find(hash)).toEqual(bound)
    })

    test('finds no token that was not saved', async () => {
      expect(await store.tokens.find(sha256(newToken()))).toBeUndefined()
    })

    test('finds a token until the moment it expires', async () => {
      const hash = await issue(await register())
      const { expiresAt } = tokenOf(exampleAgent().agent.id)
      const before = store.clock.now
      store.clock.now = new Date(expiresAt.getTime() - 1)
      expect(await isActive(hash)).toBe(true)
      store.clock.now = expiresAt
      expect(await isActive(hash)).toBe(false)
      store.clock.now = before
    })

    test('does not find a revoked token, but finds the client’s others', async () => {
      const id = await register()
      const [revoked, other] = [await issue(id), await issue(id)]
      await store.tokens.revoke(revoked)
      expect([await isActive(revoked), await isActive(other)]).toEqual([false, true])
    })

    test('accepts revoking a token twice, or an unknown one', async () => {
      const hash = await issue(await register())
      await store.tokens.revoke(hash)
      await store.tokens.revoke(hash)
      await store.tokens.revoke(sha256(newToken()))
      expect(await isActive(hash)).toBe(false)
    })

    test('stores hashes only, and finds by the whole hash', async () => {
      const token = newToken()
      const id = await register()
      await store.tokens.save(sha256(token), tokenOf(id))
      const dump = await store.dump()
      expect(dump).toContain(id)
      expect(dump).not.toContain(token)
      expect(dump).not.toContain(token.slice('ppt_'.length))
      expect(dump).not.toContain(Buffer.from(token).toString('hex'))
      const near = sha256(token)
      near.writeUInt8(near.readUInt8(31) ^ 1, 31)
      expect([await isActive(sha256(token)), await isActive(near)]).toEqual([true, false])
    })

    test.for(['disabled', 'deleted'] as const)('a %s client has no active token', async (status) => {
      const [ended, other] = [await register(), await register()]
      const [hash, others] = [await issue(ended), await issue(other)]
      expect(await store.endAgent(ended, status)).toBe(true)
      expect([await isActive(hash), await isActive(others)]).toEqual([false, true])
    })

    test.for(['disabled', 'deleted'] as const)(
      'nor one that is saved afterwards by a process that does not know yet that the client was %s',
      async (status) => {
        const id = await register()
        await store.endAgent(id, status)
        expect(await isActive(await issue(id, 1))).toBe(false)
      },
    )

    test('finds an enabled client’s new tokens, not its old ones', async () => {
      const id = await register()
      const before = await issue(id)
      await store.endAgent(id, 'disabled')
      await store.authority.agents.enable(id, new Date())
      const [stale, after] = [await issue(id, 1), await issue(id, 2)]
      expect([await isActive(before), await isActive(stale), await isActive(after)]).toEqual([
        false,
        false,
        true,
      ])
    })

    test('finds no token with a generation that its client has not reached', async () => {
      expect(await isActive(await issue(await register(), 2))).toBe(false)
    })

    test('finds no token of a client that the authority does not know', async () => {
      const hash = sha256(newToken())
      await Promise.allSettled([store.tokens.save(hash, tokenOf(exampleAgent().agent.id))])
      expect(await isActive(hash)).toBe(false)
    })

    test('no find that begins after a revocation finds the token', async () => {
      const id = await register()
      const rounds = Array.from({ length: 20 }, async () => {
        const hash = await issue(id)
        const reading = Promise.all(Array.from({ length: 5 }, () => isActive(hash)))
        await store.tokens.revoke(hash)
        const after = await isActive(hash)
        await reading
        return after
      })
      expect(await Promise.all(rounds)).not.toContain(true)
    })

    test('no find that begins after the end of a client finds its token, whenever it was saved', async () => {
      const rounds = Array.from({ length: 10 }, async () => {
        const id = await register()
        const saving = Array.from({ length: 5 }, () => issue(id))
        const reading = saving.map(async (hash) => isActive(await hash))
        await store.endAgent(id, 'deleted')
        const late = await issue(id)
        const hashes = [...(await Promise.all(saving)), late]
        await Promise.all(reading)
        return Promise.all(hashes.map(isActive))
      })
      expect((await Promise.all(rounds)).flat()).not.toContain(true)
    })

    test('of two ends at once, both take effect', async () => {
      const id = await register()
      const hash = await issue(id)
      await Promise.all([store.endAgent(id, 'disabled'), store.endAgent(id, 'disabled')])
      await store.authority.agents.enable(id, new Date())
      const generation = (await store.authority.agents.find(id))?.agent.generation
      const hashes = [hash, await issue(id, 1), await issue(id, 2), await issue(id, generation)]
      expect(generation).toBe(3)
      expect(await Promise.all(hashes.map(isActive))).toEqual([false, false, false, true])
    })
  })
}
