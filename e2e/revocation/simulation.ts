import { createApiProcess } from './api-process.ts'
import { createRevokingProcess } from './revoking-process.ts'
import { createStoreModel, type StoreSnapshot } from './store-model.ts'
import { createRandom, createVirtualTime } from './virtual-time.ts'
import type { CodeUnderTest, World } from './world.ts'

/**
 * The first four are the faults of an API process in `ApiProcess`. `flush` deletes the data of the store, `restart` restarts it
 * without data, and `failover` replaces it by a copy that is at least `ms` old.
 */
type FaultKind = 'cut' | 'half-open' | 'pause' | 'slow' | 'flush' | 'restart' | 'failover'
interface PlannedFault {
  /** The virtual time of the fault, in milliseconds. */
  readonly at: number
  readonly kind: FaultKind
  /** For `pause` its duration, for `slow` the longest extra delay, and for `failover` the age of the copy. */
  readonly ms: number
  /** The index of the affected API process. Faults of the store (`flush`, `restart`, `failover`) ignore it. */
  readonly apiIndex: number
}

export interface Plan {
  /** Determines every delay and choice that the plan leaves open. */
  readonly seed: number
  readonly faults: readonly PlannedFault[]
}

export interface Outcome {
  /** A line for each request that began after the response to a revocation, and was accepted with the revoked token. */
  readonly violations: readonly string[]
  /** The number of revocations that received a response. */
  readonly revocations: number
  /** The number of requests that were accepted. */
  readonly accepted: number
  /** The number of requests that were accepted because of a cached introspection. */
  readonly acceptedFromCache: number
}

/** The virtual time for which requests and revocations are sent. */
export const DURATION_MS = 30_000
const PROCESSES_PER_APP = 2
const CLIENT_COUNT = 4
/**
 * The largest relative deviation of a clock's speed. `marginMs` covers it: 2 250 ms on the fastest clock exceed a lease of
 * 2 000 ms on the slowest.
 */
const MAX_DRIFT = 0.04

/**
 * Simulates two API processes and two revoking processes in virtual time, with requests, revocations and planned
 * faults.
 */
export function simulate(codeUnderTest: CodeUnderTest, plan: Plan): Outcome {
  const world: World = {
    codeUnderTest,
    time: createVirtualTime(),
    random: createRandom(plan.seed),
    store: createStoreModel(),
    apis: [],
    revokers: [],
    storeUnavailableUntil: 0,
    respondedAt: new Map(),
    violations: [],
    accepted: 0,
    acceptedFromCache: 0,
  }
  const { time, random } = world
  for (let number = 0; number < PROCESSES_PER_APP; number += 1) {
    const clock = { speed: random.between(1 - MAX_DRIFT, 1 + MAX_DRIFT), offsetMs: random.between(0, 1e6) }
    world.revokers.push(
      createRevokingProcess(world, { speed: random.between(1 - MAX_DRIFT, 1 + MAX_DRIFT), offsetMs: 0 }),
    )
    world.apis.push(createApiProcess(world, `api-${number}`, clock))
  }
  const clients = Array.from({ length: CLIENT_COUNT }, (_, number) => createTokens(world, number))
  const sendRequest = () => {
    if (time.now() >= DURATION_MS) return
    const tokens = clients[random.below(CLIENT_COUNT)]!
    world.apis[random.below(PROCESSES_PER_APP)]!.request(tokens[random.below(tokens.length)]!)
    time.at(time.now() + random.between(1, 20), sendRequest)
  }
  let revocations = 0
  const revoke = () => {
    if (time.now() >= DURATION_MS) return
    const clientIndex = random.below(CLIENT_COUNT)
    const tokens = clients[clientIndex]!
    const onResponse = () => (revocations += 1)
    const revoker = world.revokers[random.below(PROCESSES_PER_APP)]!
    // The connection of a person is mostly revoked as a whole. Other clients mostly revoke single tokens.
    if (random.happens(isPersonConnection(clientIndex) ? 0.7 : 0.2))
      revoker.revoke(tokens, 'client', onResponse)
    else revoker.revoke(tokens.slice(0, 1), 'token', onResponse)
    time.at(
      time.now() + random.between(50, 3_000),
      () => (clients[clientIndex] = createTokens(world, clientIndex)),
    )
    time.at(time.now() + random.between(20, 1_000), revoke)
  }
  time.at(0, sendRequest)
  time.at(random.between(0, 1_000), revoke)
  const storeCopies = takeCopies(world)
  for (const fault of plan.faults) time.at(fault.at, () => applyFault(world, fault, storeCopies))
  // Runs 10 s longer, so that pending requests and revocations can finish.
  time.run(DURATION_MS + 10_000)
  const { violations, accepted, acceptedFromCache } = world
  return { violations, revocations, accepted, acceptedFromCache }
}

/** Clients with an odd index are connections of a person. */
const isPersonConnection = (clientIndex: number) => clientIndex % 2 === 1

/** The number of tokens that all simulations have created, which makes each name unique. */
let tokenCount = 0
/**
 * Creates and stores the tokens of a client, without network delay: one token, or two for a person's connection, as after
 * a refresh by its app. They are named `client-<index>/<number>`.
 */
function createTokens({ store }: World, clientIndex: number): readonly string[] {
  const tokens = Array.from(
    { length: isPersonConnection(clientIndex) ? 2 : 1 },
    () => `client-${clientIndex}/${(tokenCount += 1)}`,
  )
  tokens.forEach(store.save)
  return tokens
}

interface StoreCopy {
  readonly at: number
  readonly snapshot: StoreSnapshot
}

/** Copies the store every 50 ms, as replication would. Returns the array to which it adds the copies. */
function takeCopies(world: World): readonly StoreCopy[] {
  const storeCopies: StoreCopy[] = []
  const takeCopy = () => {
    storeCopies.push({ at: world.time.now(), snapshot: world.store.copy() })
    if (world.time.now() < DURATION_MS) world.time.at(world.time.now() + 50, takeCopy)
  }
  takeCopy()
  return storeCopies
}

function applyFault(
  world: World,
  { kind, ms, apiIndex }: PlannedFault,
  storeCopies: readonly StoreCopy[],
): void {
  const { time, store } = world
  const api = world.apis[apiIndex % PROCESSES_PER_APP]!
  if (kind === 'cut') api.cut()
  else if (kind === 'half-open') api.becomeHalfOpen()
  else if (kind === 'pause') api.pause(ms)
  else if (kind === 'slow') api.slowDown(ms)
  else if (kind === 'flush') store.flush()
  else {
    const oldCopy = storeCopies.findLast(({ at }) => at <= time.now() - ms)
    store.restart(kind === 'failover' ? oldCopy?.snapshot : undefined)
    // A restart closes all connections. The store is available again within 0.2 s.
    for (const each of world.apis) each.cut()
    world.storeUnavailableUntil = time.now() + world.random.between(0, 200)
  }
}
