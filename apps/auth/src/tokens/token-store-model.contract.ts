import type { AgentId } from '@plainpath/domain'
import { sha256 } from '@plainpath/sealing'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createExampleAgent } from '../../test/example-agent.ts'
import type { TestStores } from '../../test/open-test-stores.ts'
import type { RevocationScope } from './emergency-revocation-store.ts'
import {
  generateToken,
  JKT,
  type OpenedTokenStore,
  openTokenStoreFixture,
  type TokenStoreFixture,
} from './token-store.contract.ts'

/*
 * A model-based test for token stores. It runs random sequences of commands, such as `issue` and `revokeAll`, on a store and on a
 * simple model. The command `findAll` compares the two.
 */

/** The expected state in its simplest form. Times are Unix times in milliseconds. */
interface Model {
  readonly clients: { id: AgentId; status: 'active' | 'disabled' | 'deleted'; credentialVersion: number }[]
  readonly tokens: {
    hash: Buffer
    clientIndex: number
    credentialVersion: number
    epoch: number
    issuedAt: number
    expiresAt: number
    isRevokedOrLost: boolean
  }[]
  /**
   * The combined effect of the emergency revocations so far. Tokens of an earlier epoch, or issued before the time, are revoked.
   */
  readonly cutoff: {
    epoch: number
    /** 0 if no revocation set a time. */
    issuedBefore: number
  }
  now: number
}
/** The store under test, which runs the same commands as the model. */
interface Real {
  readonly fixture: TokenStoreFixture
  /** Loses the cached copies, or everything, including the tokens. Absent for a store that loses nothing. */
  lose?(lostData: 'cached copies' | 'everything'): Promise<void>
}
type Command = fc.AsyncCommand<Model, Real>

const shouldBeActive = (model: Readonly<Model>, token: Model['tokens'][number]) => {
  const client = model.clients[token.clientIndex]
  return (
    !token.isRevokedOrLost &&
    token.expiresAt > model.now &&
    client?.status === 'active' &&
    client.credentialVersion === token.credentialVersion &&
    token.epoch >= model.cutoff.epoch &&
    token.issuedAt >= model.cutoff.issuedBefore
  )
}

const toWholeSecond = (ms: number) => Math.floor(ms / 1000) * 1000

const readEpoch = async ({ stores, clock }: TokenStoreFixture): Promise<number> =>
  (await stores.createTokenAuthority(() => clock.now).readCutoff()).epoch

/** Runs an emergency revocation. Returns false if it was refused. */
const tryEmergencyRevocation = async (fixture: TokenStoreFixture, scope: RevocationScope): Promise<boolean> =>
  (await fixture.revokeInEmergency(scope)).ok

/** Revokes all tokens in the store under test and in the model. This is a step of the commands `revokeAll` and `issue`. */
async function runRevokeAll(model: Model, fixture: TokenStoreFixture): Promise<void> {
  expect(await tryEmergencyRevocation(fixture, { kind: 'all-tokens' })).toBe(true)
  // A failed attempt also reserves an epoch, so the epoch may have risen by more than one.
  const epoch = await readEpoch(fixture)
  expect(epoch).toBeGreaterThan(model.cutoff.epoch)
  model.cutoff.epoch = epoch
}

/** Creates a command of the model. `register` to `findAll` each create the command for one operation. */
const createCommand = (name: string, parts: Omit<Command, 'toString'>): Command => ({
  ...parts,
  toString: () => name,
})

const register = () =>
  createCommand('register', {
    check: (model) => model.clients.length < 3,
    async run(model, { fixture }) {
      const { agent } = createExampleAgent()
      await fixture.stores.agents.add({ agent, secrets: [] })
      model.clients.push({ id: agent.id, status: 'active', credentialVersion: 1 })
    },
  })

/**
 * Issues a token. With `jkt`, the token is bound to that key, which must make no difference.
 *
 * @param versionsBehind the number of credential versions by which the cache of the issuing process is stale
 * @param options.revokesAllBeforeSave true to revoke all tokens between reading the epoch and saving the token with that epoch;
 *   otherwise the store assigns the epoch
 */
const issue = (
  clientIndex: number,
  versionsBehind: number,
  lifetimeSeconds: number,
  { revokesAllBeforeSave, jkt }: { revokesAllBeforeSave: boolean; jkt?: string | undefined },
) =>
  createCommand(
    `issue(${clientIndex}, ${versionsBehind} behind, ${lifetimeSeconds} s${revokesAllBeforeSave ? ', all revoked before saving' : ''}${jkt ? ', bound' : ''})`,
    {
      check: (model) => {
        const client = model.clients[clientIndex]
        // Disabling raises the credential version, so no process saw a disabled client active at its current version.
        return (
          client !== undefined &&
          client.credentialVersion > versionsBehind &&
          (versionsBehind > 0 || client.status === 'active')
        )
      },
      async run(model, { fixture }) {
        const client = model.clients[clientIndex]!
        const credentialVersion = client.credentialVersion - versionsBehind
        const hash = sha256(generateToken())
        const issuedAt = toWholeSecond(model.now)
        const expiresAt = model.now + lifetimeSeconds * 1000
        const epoch = revokesAllBeforeSave ? await readEpoch(fixture) : model.cutoff.epoch
        expect(epoch).toBe(model.cutoff.epoch)
        if (revokesAllBeforeSave) await runRevokeAll(model, fixture)
        await fixture.tokens.save(hash, {
          clientId: client.id,
          credentialVersion,
          ...(revokesAllBeforeSave && { epoch }),
          ...(jkt && { jkt }),
          scope: 'guides:read',
          audience: 'https://a.example/api',
          issuedAt: new Date(issuedAt),
          expiresAt: new Date(expiresAt),
        })
        model.tokens.push({
          hash,
          clientIndex,
          credentialVersion,
          epoch,
          issuedAt,
          expiresAt,
          isRevokedOrLost: false,
        })
      },
    },
  )

const revoke = (tokenIndex: number) =>
  createCommand(`revoke(${tokenIndex})`, {
    check: (model) => model.tokens[tokenIndex] !== undefined,
    async run(model, { fixture }) {
      await fixture.tokens.revoke(model.tokens[tokenIndex]!.hash)
      model.tokens[tokenIndex]!.isRevokedOrLost = true
    },
  })

const deactivate = (clientIndex: number, status: 'disabled' | 'deleted') =>
  createCommand(`${status}(${clientIndex})`, {
    check: (model) => model.clients[clientIndex] !== undefined,
    async run(model, { fixture }) {
      const client = model.clients[clientIndex]!
      const isDeactivated = await fixture.deactivateAgent(client.id, status)
      expect(isDeactivated).toBe(client.status !== 'deleted')
      if (isDeactivated) Object.assign(client, { status, credentialVersion: client.credentialVersion + 1 })
    },
  })

const enable = (clientIndex: number) =>
  createCommand(`enable(${clientIndex})`, {
    check: (model) => model.clients[clientIndex]?.status === 'disabled',
    async run(model, { fixture }) {
      expect(await fixture.stores.agents.enable(model.clients[clientIndex]!.id, new Date())).toBe(true)
      model.clients[clientIndex]!.status = 'active'
    },
  })

const revokeAll = () =>
  createCommand('revokeAll', {
    check: () => true,
    run: (model, { fixture }) => runRevokeAll(model, fixture),
  })

/** Revokes the tokens issued before a time. A negative `secondsAgo` is a time in the future, which the store refuses. */
const revokeIssuedBefore = (secondsAgo: number) =>
  createCommand(`revokeIssuedBefore(${secondsAgo} s ago)`, {
    check: () => true,
    async run(model, { fixture }) {
      const cutoff = toWholeSecond(model.now) - secondsAgo * 1000
      // The database's own clock decides whether a cutoff is in the future, not the model's clock.
      const startedAt = Date.now()
      const isRevoked = await tryEmergencyRevocation(fixture, {
        kind: 'issued-before',
        at: new Date(cutoff),
      })
      if (cutoff <= startedAt) expect(isRevoked).toBe(true)
      if (cutoff > Date.now()) expect(isRevoked).toBe(false)
      if (isRevoked) model.cutoff.issuedBefore = Math.max(model.cutoff.issuedBefore, cutoff)
    },
  })

const revokeClient = (clientIndex: number) =>
  createCommand(`revokeClient(${clientIndex})`, {
    check: (model) => model.clients[clientIndex] !== undefined,
    async run(model, { fixture }) {
      const client = model.clients[clientIndex]!
      const isRevoked = await tryEmergencyRevocation(fixture, { kind: 'client', clientId: client.id })
      expect(isRevoked).toBe(client.status !== 'deleted')
      if (isRevoked) client.credentialVersion += 1
    },
  })

/** A revocation of all tokens that crashes after it has reserved its epoch. */
const crashBeforeRevokingAll = () =>
  createCommand('crashBeforeRevokingAll', {
    check: () => true,
    async run(_model, { fixture }) {
      await fixture.stores.emergencyRevocations.reserveEpoch()
    },
  })

const lose = (lostData: 'cached copies' | 'everything') =>
  createCommand(`lose(${lostData})`, {
    check: () => true,
    async run(model, real) {
      if (!real.lose) return
      await real.lose(lostData)
      if (lostData === 'everything') for (const token of model.tokens) token.isRevokedOrLost = true
    },
  })

const wait = (seconds: number) =>
  createCommand(`wait(${seconds} s)`, {
    check: () => true,
    async run(model, { fixture }) {
      model.now += seconds * 1000
      fixture.clock.now = new Date(model.now)
    },
  })

const findAll = () =>
  createCommand('findAll', {
    check: (model) => model.tokens.length > 0,
    async run(model, { fixture }) {
      const foundTokens = await Promise.all(model.tokens.map(({ hash }) => fixture.tokens.find(hash)))
      expect(foundTokens.map((token) => token !== undefined)).toEqual(
        model.tokens.map((token) => shouldBeActive(model, token)),
      )
    },
  })

/** The index of a client. `register` adds at most three. A command with the index of a missing client is skipped. */
const anyClient = fc.nat({ max: 2 })
const COMMANDS = [
  fc.constant(register()),
  fc
    .tuple(
      anyClient,
      fc.nat({ max: 2 }),
      fc.integer({ min: 5, max: 3600 }),
      fc.record({ revokesAllBeforeSave: fc.boolean(), jkt: fc.constantFrom(undefined, JKT) }),
    )
    .map((args) => issue(...args)),
  fc.nat({ max: 9 }).map(revoke),
  fc
    .tuple(anyClient, fc.constantFrom('disabled' as const, 'deleted' as const))
    .map((args) => deactivate(...args)),
  anyClient.map(enable),
  fc.constant(revokeAll()),
  fc.integer({ min: -2, max: 600 }).map(revokeIssuedBefore),
  anyClient.map(revokeClient),
  fc.constant(crashBeforeRevokingAll()),
  fc.constantFrom('cached copies' as const, 'everything' as const).map(lose),
  fc.integer({ min: 1, max: 600 }).map(wait),
  // Listed twice, so that it is chosen twice as often.
  fc.constant(findAll()),
  fc.constant(findAll()),
]

/** Tests random sequences of operations: the store must find exactly the tokens that a simple model expects to be active. */
export function describeTokenStoreModel(
  kind: string,
  open: (
    stores: TestStores,
    now: () => Date,
  ) => Promise<OpenedTokenStore & { lose?(lostData: 'cached copies' | 'everything'): Promise<void> }>,
): void {
  describe(`${kind} token store against a model`, () => {
    let fixture: TokenStoreFixture & AsyncDisposable
    let loseData: Real['lose']
    beforeAll(async () => {
      fixture = await openTokenStoreFixture(async (stores, now) => {
        const openedStore = await open(stores, now)
        loseData = openedStore.lose
        return openedStore
      })
    })
    afterAll(() => fixture[Symbol.asyncDispose]())

    test('finds exactly the tokens that are active in the model', { timeout: 60_000 }, async () => {
      // `size` makes the sequences longer than the default.
      const property = fc.asyncProperty(fc.commands(COMMANDS, { size: '+1' }), (commands) =>
        fc.asyncModelRun(async () => {
          const now = Date.now()
          const { epoch, issuedBefore } = await fixture.stores
            .createTokenAuthority(() => fixture.clock.now)
            .readCutoff()
          fixture.clock.now = new Date(now)
          const model: Model = {
            clients: [],
            tokens: [],
            now,
            cutoff: { epoch, issuedBefore: issuedBefore?.getTime() ?? 0 },
          }
          return { model, real: { fixture, ...(loseData && { lose: loseData }) } }
        }, commands),
      )
      // On a slow machine, fewer runs in 20 s are enough.
      await fc.assert(property, {
        numRuns: 60,
        interruptAfterTimeLimit: 20_000,
        markInterruptAsFailure: false,
      })
    })
  })
}
