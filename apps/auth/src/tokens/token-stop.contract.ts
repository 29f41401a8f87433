import type { AgentId } from '@plainpath/domain'
import { sha256 } from '@plainpath/sealing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exampleAgent } from '../../test/example-agent.ts'
import type { Authority } from '../../test/open-authority.ts'
import {
  JKT,
  newToken,
  type OpenedTokenStore,
  openUnderTest,
  type TokenStoreUnderTest,
} from './token-store.contract.ts'

/** What the emergency stop promises, which every TokenStore must keep. */
export function describeTokenStop(
  kind: string,
  open: (authority: Authority, now: () => Date) => Promise<OpenedTokenStore>,
): void {
  describe(`the emergency stop with the ${kind} token store`, () => {
    let store: TokenStoreUnderTest & AsyncDisposable
    beforeAll(async () => {
      store = await openUnderTest(open)
    })
    afterAll(() => store[Symbol.asyncDispose]())

    const ALL = { kind: 'all-tokens' } as const
    const second = () => new Date(Math.floor(store.clock.now.getTime() / 1000) * 1000)
    async function register() {
      const record = exampleAgent()
      await store.authority.agents.add(record)
      return record.agent.id
    }
    const epochNow = async () => (await store.tokens.stop()).epoch
    let saved = 0
    /** Every other token is bound to a key. */
    async function save(clientId: AgentId, { epoch, generation = 1, issuedAt = second() }: Partial<Stamp>) {
      const hash = sha256(newToken())
      const expiresAt = new Date(store.clock.now.getTime() + 3_600_000)
      const about = { scope: 'guides:read', audience: 'https://a.example/api' }
      const stamp = { generation, issuedAt, ...(epoch !== undefined && { epoch }) }
      const binding = saved++ % 2 ? { jkt: JKT } : {}
      await store.tokens.save(hash, { clientId, expiresAt, ...stamp, ...about, ...binding })
      return hash
    }
    const issue = async (clientId: AgentId, more: Partial<Stamp> = {}) =>
      save(clientId, { epoch: await epochNow(), ...more })
    const isActive = async (hash: Buffer) => (await store.tokens.find(hash)) !== undefined
    const evidence = async (stopping: ReturnType<TokenStoreUnderTest['stop']>) => {
      const done = await stopping
      if (!done.ok) throw new Error(done.error)
      return done.value
    }

    test('of everything revokes every token, but no new ones', async () => {
      const [one, two] = [await register(), await register()]
      const before = [await issue(one), await issue(two)]
      const done = await evidence(store.stop(ALL))
      const after = await issue(one)
      expect(await Promise.all([...before, after].map(isActive))).toEqual([false, false, true])
      expect(done.confirmed).toEqual(await store.authority.tokenAuthority(() => store.clock.now).stop())
      expect(done.ended).toEqual({ tokens: 2, complete: true })
    })

    test('revokes a token that was being issued at that moment, whatever its time of issue', async () => {
      const id = await register()
      const epoch = await epochNow()
      await evidence(store.stop(ALL))
      const future = new Date(second().getTime() + 600_000)
      const late = [await save(id, { epoch }), await save(id, { epoch, issuedAt: future })]
      expect(await Promise.all([...late, await issue(id)].map(isActive))).toEqual([false, false, true])
    })

    test('of one client revokes its tokens, also late ones, and leaves the client active and other tokens valid', async () => {
      const [stopped, other] = [await register(), await register()]
      const [hash, others] = [await issue(stopped), await issue(other)]
      const done = await evidence(store.stop({ kind: 'client', clientId: stopped }))
      expect(done.stopped).toEqual({ kind: 'client', clientId: stopped, generation: 2 })
      expect(done.ended.tokens).toBe(1)
      const [late, fresh] = [await issue(stopped), await issue(stopped, { generation: 2 })]
      expect(await Promise.all([hash, others, late, fresh].map(isActive))).toEqual([false, true, false, true])
      expect((await store.authority.agents.find(stopped))?.agent.status).toBe('active')
    })

    test('gives a token the current epoch when it is saved', async () => {
      const id = await register()
      const before = await save(id, {})
      await evidence(store.stop(ALL))
      const after = await save(id, {})
      expect((await store.tokens.find(after))?.epoch).toBe(await epochNow())
      const [issuedAt, expiresAt] = [second(), new Date(store.clock.now.getTime() + 3_600_000)]
      const token = { clientId: id, generation: 1, scope: '', audience: '', issuedAt, expiresAt }
      expect(await store.tokens.save(sha256(newToken()), token)).toEqual(await store.tokens.stop())
      expect(await isActive(before)).toBe(false)
      await evidence(store.stop(ALL))
      expect(await isActive(after)).toBe(false)
    })

    test('by time revokes tokens issued before, not those issued in that very second', async () => {
      const id = await register()
      const at = second()
      const earlier = new Date(at.getTime() - 1_000)
      const hashes = [await issue(id, { issuedAt: earlier }), await issue(id, { issuedAt: at })]
      expect((await evidence(store.stop({ kind: 'issued-before', at }))).ended.tokens).toBe(1)
      expect(await Promise.all(hashes.map(isActive))).toEqual([false, true])
      await evidence(store.stop({ kind: 'issued-before', at: new Date(at.getTime() - 60_000) }))
      const late = await issue(id, { issuedAt: earlier })
      expect(await Promise.all([...hashes, late].map(isActive))).toEqual([false, true, false])
    })

    test.for([
      ['a time to come', () => ({ kind: 'issued-before', at: new Date(Date.now() + 60_000) }) as const],
      ['an agent that never was', () => ({ kind: 'client', clientId: exampleAgent().agent.id }) as const],
    ] as const)('is refused for %s, and ends nothing', async ([, scope]) => {
      const hash = await issue(await register())
      const rows = (await store.authority.stops.audit()).length
      expect(await store.stop(scope())).toMatchObject({ ok: false, error: expect.stringMatching(/\.$/) })
      expect(await isActive(hash)).toBe(true)
      expect(await store.authority.stops.audit()).toHaveLength(rows)
    })

    test('is refused for a deleted agent', async () => {
      const id = await register()
      await store.endAgent(id, 'deleted')
      expect((await store.stop({ kind: 'client', clientId: id })).ok).toBe(false)
    })

    test('no find that begins after it finds a token issued before, whenever it was saved', async () => {
      const rounds = Array.from({ length: 5 }, async () => {
        const id = await register()
        const saving = Array.from({ length: 5 }, () => save(id, {}))
        const epoch = await epochNow()
        const reading = saving.map(async (hash) => isActive(await hash))
        await evidence(store.stop(ALL))
        const late = await save(id, { epoch })
        await Promise.all(reading)
        return isActive(late)
      })
      expect(await Promise.all(rounds)).not.toContain(true)
    })

    test('of two at once, both take effect and both are in the audit', async () => {
      const hash = await issue(await register())
      const before = (await store.authority.stops.audit()).length
      await Promise.all([evidence(store.stop(ALL)), evidence(store.stop(ALL))])
      expect(await store.authority.stops.audit()).toHaveLength(before + 2)
      expect(await isActive(hash)).toBe(false)
    })
  })
}

interface Stamp {
  readonly epoch: number
  readonly generation?: number
  readonly issuedAt?: Date
}
