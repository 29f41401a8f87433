import type { AgentId } from '@plainpath/domain'
import { sha256 } from '@plainpath/sealing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createExampleAgent } from '../../test/example-agent.ts'
import type { TestStores } from '../../test/open-test-stores.ts'
import {
  generateToken,
  JKT,
  type OpenedTokenStore,
  openTokenStoreFixture,
  type TokenStoreFixture,
} from './token-store.contract.ts'

/** Defines the tests of emergency revocation that every TokenStore must pass. */
export function describeEmergencyRevocation(
  kind: string,
  open: (stores: TestStores, now: () => Date) => Promise<OpenedTokenStore>,
): void {
  describe(`emergency revocation (${kind} token store)`, () => {
    let fixture: TokenStoreFixture & AsyncDisposable
    beforeAll(async () => {
      fixture = await openTokenStoreFixture(open)
    })
    afterAll(() => fixture[Symbol.asyncDispose]())

    const ALL_TOKENS = { kind: 'all-tokens' } as const
    const readWholeSecond = () => new Date(Math.floor(fixture.clock.now.getTime() / 1000) * 1000)
    async function register() {
      const record = createExampleAgent()
      await fixture.stores.agents.add(record)
      return record.agent.id
    }
    const readEpoch = async () => (await fixture.tokens.readCutoff()).epoch
    let savedCount = 0
    /** Saves a token. Without `epoch`, the store assigns the epoch. Every second token is bound to a key. */
    async function save(
      clientId: AgentId,
      { epoch, credentialVersion = 1, issuedAt = readWholeSecond() }: Partial<Stamp>,
    ) {
      const hash = sha256(generateToken())
      const expiresAt = new Date(fixture.clock.now.getTime() + 3_600_000)
      const grant = { scope: 'guides:read', audience: 'https://a.example/api' }
      const stamp = { credentialVersion, issuedAt, ...(epoch !== undefined && { epoch }) }
      const binding = savedCount++ % 2 ? { jkt: JKT } : {}
      await fixture.tokens.save(hash, { clientId, expiresAt, ...stamp, ...grant, ...binding })
      return hash
    }
    /** Saves a token with the current epoch, unless the stamp has another one. */
    const issue = async (clientId: AgentId, stamp: Partial<Stamp> = {}) =>
      save(clientId, { epoch: await readEpoch(), ...stamp })
    const isActive = async (hash: Buffer) => (await fixture.tokens.find(hash)) !== undefined
    const requireEvidence = async (revocation: ReturnType<TokenStoreFixture['revokeInEmergency']>) => {
      const result = await revocation
      if (!result.ok) throw new Error(result.error)
      return result.value
    }

    test('of all tokens revokes the tokens of two clients, but not a token that is issued later', async () => {
      const [client, otherClient] = [await register(), await register()]
      const revokedTokens = [await issue(client), await issue(otherClient)]
      const evidence = await requireEvidence(fixture.revokeInEmergency(ALL_TOKENS))
      const laterToken = await issue(client)
      expect(await Promise.all([...revokedTokens, laterToken].map(isActive))).toEqual([false, false, true])
      expect(evidence.confirmedCutoff).toEqual(
        await fixture.stores.createTokenAuthority(() => fixture.clock.now).readCutoff(),
      )
      expect(evidence.revoked).toEqual({ tokens: 2, countedAll: true })
    })

    test('of all tokens revokes a token that is saved later with the earlier epoch', async () => {
      const id = await register()
      const epoch = await readEpoch()
      await requireEvidence(fixture.revokeInEmergency(ALL_TOKENS))
      // The epoch decides. A later time of issue does not save a token of the earlier epoch.
      const future = new Date(readWholeSecond().getTime() + 600_000)
      const lateTokens = [await save(id, { epoch }), await save(id, { epoch, issuedAt: future })]
      expect(await Promise.all([...lateTokens, await issue(id)].map(isActive))).toEqual([false, false, true])
    })

    test('of one client revokes its tokens, even those saved later with the old version, and leaves the client active', async () => {
      const [stoppedClient, otherClient] = [await register(), await register()]
      const [stoppedToken, otherToken] = [await issue(stoppedClient), await issue(otherClient)]
      const evidence = await requireEvidence(
        fixture.revokeInEmergency({ kind: 'client', clientId: stoppedClient }),
      )
      expect(evidence.effect).toEqual({ kind: 'client', clientId: stoppedClient, credentialVersion: 2 })
      expect(evidence.revoked.tokens).toBe(1)
      const lateToken = await issue(stoppedClient)
      const currentToken = await issue(stoppedClient, { credentialVersion: 2 })
      expect(await Promise.all([stoppedToken, otherToken, lateToken, currentToken].map(isActive))).toEqual([
        false,
        true,
        false,
        true,
      ])
      expect((await fixture.stores.agents.find(stoppedClient))?.agent.status).toBe('active')
    })

    test('of all tokens revokes a token that got its epoch from the store', async () => {
      const id = await register()
      const firstToken = await save(id, {})
      await requireEvidence(fixture.revokeInEmergency(ALL_TOKENS))
      const secondToken = await save(id, {})
      expect((await fixture.tokens.find(secondToken))?.epoch).toBe(await readEpoch())
      const issuedAt = readWholeSecond()
      const expiresAt = new Date(fixture.clock.now.getTime() + 3_600_000)
      const token = { clientId: id, credentialVersion: 1, scope: '', audience: '', issuedAt, expiresAt }
      expect(await fixture.tokens.save(sha256(generateToken()), token)).toEqual(
        await fixture.tokens.readCutoff(),
      )
      expect(await isActive(firstToken)).toBe(false)
      await requireEvidence(fixture.revokeInEmergency(ALL_TOKENS))
      expect(await isActive(secondToken)).toBe(false)
    })

    test('of tokens issued before a time does not revoke a token issued in that second', async () => {
      const id = await register()
      const cutoff = readWholeSecond()
      const earlier = new Date(cutoff.getTime() - 1_000)
      const hashes = [await issue(id, { issuedAt: earlier }), await issue(id, { issuedAt: cutoff })]
      const evidence = await requireEvidence(fixture.revokeInEmergency({ kind: 'issued-before', at: cutoff }))
      expect(evidence.revoked.tokens).toBe(1)
      expect(await Promise.all(hashes.map(isActive))).toEqual([false, true])
      // An earlier cutoff must not replace the later one.
      await requireEvidence(
        fixture.revokeInEmergency({ kind: 'issued-before', at: new Date(cutoff.getTime() - 60_000) }),
      )
      const lateToken = await issue(id, { issuedAt: earlier })
      expect(await Promise.all([...hashes, lateToken].map(isActive))).toEqual([false, true, false])
    })

    test.for([
      ['a time in the future', () => ({ kind: 'issued-before', at: new Date(Date.now() + 60_000) }) as const],
      ['an unknown agent', () => ({ kind: 'client', clientId: createExampleAgent().agent.id }) as const],
    ] as const)('is refused for %s, and leaves another token active', async ([, buildScope]) => {
      const hash = await issue(await register())
      const rowCount = (await fixture.stores.emergencyRevocations.readAudit()).length
      expect(await fixture.revokeInEmergency(buildScope())).toMatchObject({
        ok: false,
        error: expect.stringMatching(/\.$/),
      })
      expect(await isActive(hash)).toBe(true)
      expect(await fixture.stores.emergencyRevocations.readAudit()).toHaveLength(rowCount)
    })

    test('is refused for a deleted agent', async () => {
      const id = await register()
      await fixture.deactivateAgent(id, 'deleted')
      expect((await fixture.revokeInEmergency({ kind: 'client', clientId: id })).ok).toBe(false)
    })

    test('of all tokens revokes a token that is saved afterwards, while other tokens are saved and found', async () => {
      const rounds = Array.from({ length: 5 }, async () => {
        const id = await register()
        const saves = Array.from({ length: 5 }, () => save(id, {}))
        const epoch = await readEpoch()
        const finds = saves.map(async (hash) => isActive(await hash))
        await requireEvidence(fixture.revokeInEmergency(ALL_TOKENS))
        const lateToken = await save(id, { epoch })
        await Promise.all(finds)
        return isActive(lateToken)
      })
      expect(await Promise.all(rounds)).not.toContain(true)
    })

    test('writes two audit rows when it runs twice simultaneously', async () => {
      const hash = await issue(await register())
      const rowCount = (await fixture.stores.emergencyRevocations.readAudit()).length
      await Promise.all([
        requireEvidence(fixture.revokeInEmergency(ALL_TOKENS)),
        requireEvidence(fixture.revokeInEmergency(ALL_TOKENS)),
      ])
      expect(await fixture.stores.emergencyRevocations.readAudit()).toHaveLength(rowCount + 2)
      expect(await isActive(hash)).toBe(false)
    })
  })
}

/** The values that decide whether an emergency revocation covers a token. */
interface Stamp {
  readonly epoch: number
  readonly credentialVersion?: number
  readonly issuedAt?: Date
}
