import type { AgentId } from '@plainpath/domain'
import { sha256 } from '@plainpath/sealing'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exampleAgent } from '../../test/example-agent.ts'
import type { Authority } from '../../test/open-authority.ts'
import type { RevocationScope } from './emergency-revocation-store.ts'
import {
  JKT,
  newToken,
  type OpenedTokenStore,
  openUnderTest,
  type TokenStoreUnderTest,
} from './token-store.contract.ts'

/** The expected state in its simplest form. */
interface Model {
  readonly clients: { id: AgentId; status: 'active' | 'disabled' | 'deleted'; credentialVersion: number }[]
  readonly tokens: {
    hash: Buffer
    client: number
    credentialVersion: number
    epoch: number
    issuedAt: number
    expiresAt: number
    isGone: boolean
  }[]
  /** The emergency revocations so far; `issuedBefore` in milliseconds. */
  epoch: number
  issuedBefore: number
  now: number
}
interface Real {
  readonly store: TokenStoreUnderTest
  /** Deletes the cached credential versions and cutoffs, or everything. Absent for a store that loses nothing. */
  lose?(what: 'cached copies' | 'everything'): Promise<void>
}
type Command = fc.AsyncCommand<Model, Real>

const shouldBeActive = (model: Readonly<Model>, token: Model['tokens'][number]) => {
  const client = model.clients[token.client]
  return (
    !token.isGone &&
    token.expiresAt > model.now &&
    client?.status === 'active' &&
    client.credentialVersion === token.credentialVersion &&
    token.epoch >= model.epoch &&
    token.issuedAt >= model.issuedBefore
  )
}
const command = (name: string, parts: Omit<Command, 'toString'>): Command => ({
  ...parts,
  toString: () => name,
})

const register = () =>
  command('register', {
    check: (model) => model.clients.length < 3,
    async run(model, { store }) {
      const { agent } = exampleAgent()
      await store.authority.agents.add({ agent, secrets: [] })
      model.clients.push({ id: agent.id, status: 'active', credentialVersion: 1 })
    },
  })

/**
 * Issues a token, perhaps bound to a key, which makes no difference.
 *
 * @param behind by how many credential versions the cache of the issuing process is stale
 * @param options.late true to stop everything after the epoch is read; otherwise the store assigns the epoch
 */
const issue = (
  which: number,
  behind: number,
  seconds: number,
  { late, jkt }: { late: boolean; jkt?: string | undefined },
) =>
  command(
    `issue(${which}, ${behind} behind, ${seconds} s${late ? ', while all is stopped' : ''}${jkt ? ', bound' : ''})`,
    {
      check: (model) => {
        const client = model.clients[which]
        // Disabling raises the credential version, so no process saw a disabled client active at its current version.
        return (
          client !== undefined &&
          client.credentialVersion > behind &&
          (behind > 0 || client.status === 'active')
        )
      },
      async run(model, { store }) {
        const client = model.clients[which]!
        const credentialVersion = client.credentialVersion - behind
        const hash = sha256(newToken())
        const issuedAt = toWholeSecond(model.now)
        const expiresAt = model.now + seconds * 1000
        const { epoch } = late
          ? await store.authority.tokenAuthority(() => store.clock.now).readCutoff()
          : model
        expect(epoch).toBe(model.epoch)
        if (late) await stopAll(model, store)
        await store.tokens.save(hash, {
          clientId: client.id,
          credentialVersion,
          ...(late && { epoch }),
          ...(jkt && { jkt }),
          scope: 'guides:read',
          audience: 'https://a.example/api',
          issuedAt: new Date(issuedAt),
          expiresAt: new Date(expiresAt),
        })
        model.tokens.push({
          hash,
          client: which,
          credentialVersion,
          epoch,
          issuedAt,
          expiresAt,
          isGone: false,
        })
      },
    },
  )

const revoke = (which: number) =>
  command(`revoke(${which})`, {
    check: (model) => model.tokens[which] !== undefined,
    async run(model, { store }) {
      await store.tokens.revoke(model.tokens[which]!.hash)
      model.tokens[which]!.isGone = true
    },
  })

const deactivate = (which: number, status: 'disabled' | 'deleted') =>
  command(`${status}(${which})`, {
    check: (model) => model.clients[which] !== undefined,
    async run(model, { store }) {
      const client = model.clients[which]!
      const isDeactivated = await store.deactivateAgent(client.id, status)
      expect(isDeactivated).toBe(client.status !== 'deleted')
      if (isDeactivated) Object.assign(client, { status, credentialVersion: client.credentialVersion + 1 })
    },
  })

const enable = (which: number) =>
  command(`enable(${which})`, {
    check: (model) => model.clients[which]?.status === 'disabled',
    async run(model, { store }) {
      expect(await store.authority.agents.enable(model.clients[which]!.id, new Date())).toBe(true)
      model.clients[which]!.status = 'active'
    },
  })

const toWholeSecond = (ms: number) => Math.floor(ms / 1000) * 1000
const tryStop = async (store: TokenStoreUnderTest, scope: RevocationScope) => (await store.stop(scope)).ok

async function stopAll(model: Model, store: TokenStoreUnderTest): Promise<void> {
  expect(await tryStop(store, { kind: 'all-tokens' })).toBe(true)
  // A failed attempt also reserves an epoch, so the epoch may have risen by more than one.
  const { epoch } = await store.authority.tokenAuthority(() => store.clock.now).readCutoff()
  expect(epoch).toBeGreaterThan(model.epoch)
  model.epoch = epoch
}

const stopEverything = () =>
  command('stop everything', { check: () => true, run: (model, { store }) => stopAll(model, store) })

const stopBefore = (secondsAgo: number) =>
  command(`stop what was issued before ${secondsAgo} s ago`, {
    check: () => true,
    async run(model, { store }) {
      const cutoff = toWholeSecond(model.now) - secondsAgo * 1000
      const startedAt = Date.now()
      const isStopped = await tryStop(store, { kind: 'issued-before', at: new Date(cutoff) })
      if (cutoff <= startedAt) expect(isStopped).toBe(true)
      if (cutoff > Date.now()) expect(isStopped).toBe(false)
      if (isStopped) model.issuedBefore = Math.max(model.issuedBefore, cutoff)
    },
  })

const stopClient = (which: number) =>
  command(`stop the tokens of ${which}`, {
    check: (model) => model.clients[which] !== undefined,
    async run(model, { store }) {
      const client = model.clients[which]!
      const isStopped = await tryStop(store, { kind: 'client', clientId: client.id })
      expect(isStopped).toBe(client.status !== 'deleted')
      if (isStopped) client.credentialVersion += 1
    },
  })

const crashBeforeStopping = () =>
  command('die before stopping everything', {
    check: () => true,
    async run(_model, { store }) {
      await store.authority.stops.reserveEpoch()
    },
  })

const lose = (what: 'cached copies' | 'everything') =>
  command(`lose(${what})`, {
    check: () => true,
    async run(model, real) {
      if (!real.lose) return
      await real.lose(what)
      if (what === 'everything') for (const token of model.tokens) token.isGone = true
    },
  })

const wait = (seconds: number) =>
  command(`wait(${seconds} s)`, {
    check: () => true,
    async run(model, { store }) {
      model.now += seconds * 1000
      store.clock.now = new Date(model.now)
    },
  })

const findAll = () =>
  command('find', {
    check: (model) => model.tokens.length > 0,
    async run(model, { store }) {
      const foundTokens = await Promise.all(model.tokens.map(({ hash }) => store.tokens.find(hash)))
      expect(foundTokens.map((token) => token !== undefined)).toEqual(
        model.tokens.map((token) => shouldBeActive(model, token)),
      )
    },
  })

const anyClient = fc.nat({ max: 2 })
const COMMANDS = [
  fc.constant(register()),
  fc
    .tuple(
      anyClient,
      fc.nat({ max: 2 }),
      fc.integer({ min: 5, max: 3600 }),
      fc.record({ late: fc.boolean(), jkt: fc.constantFrom(undefined, JKT) }),
    )
    .map((args) => issue(...args)),
  fc.nat({ max: 9 }).map(revoke),
  fc
    .tuple(anyClient, fc.constantFrom('disabled' as const, 'deleted' as const))
    .map((args) => deactivate(...args)),
  anyClient.map(enable),
  fc.constant(stopEverything()),
  fc.integer({ min: -2, max: 600 }).map(stopBefore),
  anyClient.map(stopClient),
  fc.constant(crashBeforeStopping()),
  fc.constantFrom('cached copies' as const, 'everything' as const).map(lose),
  fc.integer({ min: 1, max: 600 }).map(wait),
  fc.constant(findAll()),
  fc.constant(findAll()),
]

/** Tests that after any sequence of operations, exactly those tokens are active that a simple model expects. */
export function describeTokenStoreModel(
  kind: string,
  open: (
    authority: Authority,
    now: () => Date,
  ) => Promise<OpenedTokenStore & { lose?(what: 'cached copies' | 'everything'): Promise<void> }>,
): void {
  describe(`${kind} token store against a model`, () => {
    let store: TokenStoreUnderTest & AsyncDisposable
    let loseData: Real['lose']
    beforeAll(async () => {
      store = await openUnderTest(async (authority, now) => {
        const openedStore = await open(authority, now)
        loseData = openedStore.lose
        return openedStore
      })
    })
    afterAll(() => store[Symbol.asyncDispose]())

    test('finds exactly the tokens that the model holds active', { timeout: 60_000 }, async () => {
      const property = fc.asyncProperty(fc.commands(COMMANDS, { size: '+1' }), (commands) =>
        fc.asyncModelRun(async () => {
          const now = Date.now()
          const { epoch, issuedBefore } = await store.authority
            .tokenAuthority(() => store.clock.now)
            .readCutoff()
          store.clock.now = new Date(now)
          const model: Model = {
            clients: [],
            tokens: [],
            now,
            epoch,
            issuedBefore: issuedBefore?.getTime() ?? 0,
          }
          return { model, real: { store, ...(loseData && { lose: loseData }) } }
        }, commands),
      )
      await fc.assert(property, {
        numRuns: 60,
        interruptAfterTimeLimit: 20_000,
        markInterruptAsFailure: false,
      })
    })
  })
}
