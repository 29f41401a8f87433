import type { AgentId } from '@plainpath/domain'
import { sha256 } from '@plainpath/sealing'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exampleAgent } from '../../test/example-agent.ts'
import type { Authority } from '../../test/open-authority.ts'
import type { StopScope } from './stop-store.ts'
import {
  JKT,
  newToken,
  type OpenedTokenStore,
  openUnderTest,
  type TokenStoreUnderTest,
} from './token-store.contract.ts'

/** What should be true, kept as simply as can be. */
interface Model {
  readonly clients: { id: AgentId; status: 'active' | 'disabled' | 'deleted'; generation: number }[]
  readonly tokens: {
    hash: Buffer
    client: number
    generation: number
    epoch: number
    issuedAt: number
    expiresAt: number
    gone: boolean
  }[]
  /** What was stopped; the second in milliseconds. */
  epoch: number
  issuedBefore: number
  now: number
}
interface Real {
  readonly store: TokenStoreUnderTest
  /** Makes the store forget: its copies of generations and stops, or all it holds. Absent where nothing can be lost. */
  lose?(what: 'cached copies' | 'everything'): Promise<void>
}
type Command = fc.AsyncCommand<Model, Real>

const shouldBeActive = (model: Readonly<Model>, token: Model['tokens'][number]) => {
  const client = model.clients[token.client]
  return (
    !token.gone &&
    token.expiresAt > model.now &&
    client?.status === 'active' &&
    client.generation === token.generation &&
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
      model.clients.push({ id: agent.id, status: 'active', generation: 1 })
    },
  })

/**
 * @param behind how many generations the cache of the issuing process is stale
 * @param jkt the key that the token is bound to, if any: it makes no difference
 * @param late whether a stop came after the epoch of the token was asked for; else it gets its epoch as it is saved
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
        // Disabling raises the generation, so nobody ever saw a disabled client active in its present one.
        return (
          client !== undefined && client.generation > behind && (behind > 0 || client.status === 'active')
        )
      },
      async run(model, { store }) {
        const client = model.clients[which]!
        const generation = client.generation - behind
        const hash = sha256(newToken())
        const issuedAt = wholeSecond(model.now)
        const expiresAt = model.now + seconds * 1000
        const { epoch } = late ? await store.authority.tokenAuthority(() => store.clock.now).stop() : model
        expect(epoch).toBe(model.epoch)
        if (late) await stopAll(model, store)
        await store.tokens.save(hash, {
          clientId: client.id,
          generation,
          ...(late && { epoch }),
          ...(jkt && { jkt }),
          scope: 'guides:read',
          audience: 'https://a.example/api',
          issuedAt: new Date(issuedAt),
          expiresAt: new Date(expiresAt),
        })
        model.tokens.push({ hash, client: which, generation, epoch, issuedAt, expiresAt, gone: false })
      },
    },
  )

const revoke = (which: number) =>
  command(`revoke(${which})`, {
    check: (model) => model.tokens[which] !== undefined,
    async run(model, { store }) {
      await store.tokens.revoke(model.tokens[which]!.hash)
      model.tokens[which]!.gone = true
    },
  })

const end = (which: number, status: 'disabled' | 'deleted') =>
  command(`${status}(${which})`, {
    check: (model) => model.clients[which] !== undefined,
    async run(model, { store }) {
      const client = model.clients[which]!
      const ended = await store.endAgent(client.id, status)
      expect(ended).toBe(client.status !== 'deleted')
      if (ended) Object.assign(client, { status, generation: client.generation + 1 })
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

const wholeSecond = (ms: number) => Math.floor(ms / 1000) * 1000
const stopped = async (store: TokenStoreUnderTest, scope: StopScope) => (await store.stop(scope)).ok

async function stopAll(model: Model, store: TokenStoreUnderTest): Promise<void> {
  expect(await stopped(store, { kind: 'all-tokens' })).toBe(true)
  // An attempt that failed took an epoch too, so it may have risen by more than one.
  const { epoch } = await store.authority.tokenAuthority(() => store.clock.now).stop()
  expect(epoch).toBeGreaterThan(model.epoch)
  model.epoch = epoch
}

const stopEverything = () =>
  command('stop everything', { check: () => true, run: (model, { store }) => stopAll(model, store) })

const stopBefore = (secondsAgo: number) =>
  command(`stop what was issued before ${secondsAgo} s ago`, {
    check: () => true,
    async run(model, { store }) {
      const at = wholeSecond(model.now) - secondsAgo * 1000
      const earlier = Date.now()
      const done = await stopped(store, { kind: 'issued-before', at: new Date(at) })
      if (at <= earlier) expect(done).toBe(true)
      if (at > Date.now()) expect(done).toBe(false)
      if (done) model.issuedBefore = Math.max(model.issuedBefore, at)
    },
  })

const stopClient = (which: number) =>
  command(`stop the tokens of ${which}`, {
    check: (model) => model.clients[which] !== undefined,
    async run(model, { store }) {
      const client = model.clients[which]!
      const done = await stopped(store, { kind: 'client', clientId: client.id })
      expect(done).toBe(client.status !== 'deleted')
      if (done) client.generation += 1
    },
  })

const dieBeforeStopping = () =>
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
      if (what === 'everything') for (const token of model.tokens) token.gone = true
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
      const found = await Promise.all(model.tokens.map(({ hash }) => store.tokens.find(hash)))
      expect(found.map((token) => token !== undefined)).toEqual(
        model.tokens.map((token) => shouldBeActive(model, token)),
      )
    },
  })

const which = fc.nat({ max: 2 })
const COMMANDS = [
  fc.constant(register()),
  fc
    .tuple(
      which,
      fc.nat({ max: 2 }),
      fc.integer({ min: 5, max: 3600 }),
      fc.record({ late: fc.boolean(), jkt: fc.constantFrom(undefined, JKT) }),
    )
    .map((args) => issue(...args)),
  fc.nat({ max: 9 }).map(revoke),
  fc.tuple(which, fc.constantFrom('disabled' as const, 'deleted' as const)).map((args) => end(...args)),
  which.map(enable),
  fc.constant(stopEverything()),
  fc.integer({ min: -2, max: 600 }).map(stopBefore),
  which.map(stopClient),
  fc.constant(dieBeforeStopping()),
  fc.constantFrom('cached copies' as const, 'everything' as const).map(lose),
  fc.integer({ min: 1, max: 600 }).map(wait),
  fc.constant(findAll()),
  fc.constant(findAll()),
]

/** Whatever happens in whatever order, exactly those tokens are active that a simple model says are. */
export function describeTokenStoreModel(
  kind: string,
  open: (
    authority: Authority,
    now: () => Date,
  ) => Promise<OpenedTokenStore & { lose?(what: 'cached copies' | 'everything'): Promise<void> }>,
): void {
  describe(`${kind} token store against a model`, () => {
    let store: TokenStoreUnderTest & AsyncDisposable
    let lost: Real['lose']
    beforeAll(async () => {
      store = await openUnderTest(async (authority, now) => {
        const opened = await open(authority, now)
        lost = opened.lose
        return opened
      })
    })
    afterAll(() => store[Symbol.asyncDispose]())

    test('finds exactly the tokens that the model holds active', { timeout: 60_000 }, async () => {
      const property = fc.asyncProperty(fc.commands(COMMANDS, { size: '+1' }), (commands) =>
        fc.asyncModelRun(async () => {
          const now = Date.now()
          const { epoch, issuedBefore } = await store.authority.tokenAuthority(() => store.clock.now).stop()
          store.clock.now = new Date(now)
          const model: Model = {
            clients: [],
            tokens: [],
            now,
            epoch,
            issuedBefore: issuedBefore?.getTime() ?? 0,
          }
          return { model, real: { store, ...(lost && { lose: lost }) } }
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
