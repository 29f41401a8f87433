import { createApiProcess } from './api-process.ts'
import { createRevokingProcess } from './revoking-process.ts'
import { createStoreModel, type StoreSnapshot } from './store-model.ts'
import { createRandom, createVirtualTime } from './virtual-time.ts'
import type { Parts, World } from './world.ts'

type FaultKind = 'cut' | 'half-open' | 'pause' | 'slow' | 'flush' | 'restart' | 'failover'
interface PlannedFault {
  readonly at: number
  readonly kind: FaultKind
  /** For `pause` its duration, for `slow` the longest extra delay, and for `failover` the age of the copy. */
  readonly ms: number
  /** The API process, if the fault concerns only one. */
  readonly apiIndex: number
}

export interface Plan {
  /** Determines every delay and choice that the plan leaves open. */
  readonly seed: number
  readonly faults: readonly PlannedFault[]
}

export interface Outcome {
  /** Requests that began after the response to a revocation, and were accepted with the revoked token. */
  readonly violations: readonly string[]
  /** The number of revocations that were acknowledged. */
  readonly revocations: number
  /** The number of requests that were accepted. */
  readonly granted: number
  /** The number of requests that were accepted by a cached introspection. */
  readonly fromMemory: number
}

/** The virtual time for which requests and revocations are sent. */
export const DURATION_MS = 30_000
/** The number of processes of each app. */
const PROCESSES = 2
/** Every other client is a person's connection. */
const CLIENTS = 4
/** The largest deviation of a clock's speed. The margin of revokers covers it. */
const MAX_DRIFT = 0.04

/**
 * Simulates two API processes and two revoking processes in virtual time, with requests, revocations and planned
 * faults.
 */
export function simulate(parts: Parts, plan: Plan): Outcome {
  const world: World = {
    parts,
    time: createVirtualTime(),
    random: createRandom(plan.seed),
    store: createStoreModel(),
    apis: [],
    revokers: [],
    storeUnavailableUntil: 0,
    respondedAt: new Map(),
    violations: [],
    granted: 0,
    fromMemory: 0,
  }
  const { time, random } = world
  for (let number = 0; number < PROCESSES; number += 1) {
    const clock = { speed: random.between(1 - MAX_DRIFT, 1 + MAX_DRIFT), offset: random.between(0, 1e6) }
    world.revokers.push(
      createRevokingProcess(world, { speed: random.between(1 - MAX_DRIFT, 1 + MAX_DRIFT), offset: 0 }),
    )
    world.apis.push(createApiProcess(world, `api-${number}`, clock))
  }
  const clients = Array.from({ length: CLIENTS }, (_, number) => createTokens(world, number))
  const sendRequest = () => {
    if (time.now() >= DURATION_MS) return
    const tokens = clients[random.below(CLIENTS)]!
    world.apis[random.below(PROCESSES)]!.request(tokens[random.below(tokens.length)]!)
    time.at(time.now() + random.between(1, 20), sendRequest)
  }
  let revocations = 0
  const revoke = () => {
    if (time.now() >= DURATION_MS) return
    const clientIndex = random.below(CLIENTS)
    const tokens = clients[clientIndex]!
    const onResponse = () => (revocations += 1)
    const revoker = world.revokers[random.below(PROCESSES)]!
    // A person ends a connection more often than its app revokes a token.
    if (random.happens(isPerson(clientIndex) ? 0.7 : 0.2)) revoker.revoke(tokens, 'client', onResponse)
    else revoker.revoke(tokens.slice(0, 1), 'token', onResponse)
    time.at(
      time.now() + random.between(50, 3_000),
      () => (clients[clientIndex] = createTokens(world, clientIndex)),
    )
    time.at(time.now() + random.between(20, 1_000), revoke)
  }
  time.at(0, sendRequest)
  time.at(random.between(0, 1_000), revoke)
  takeCopies(world)
  for (const fault of plan.faults) time.at(fault.at, () => applyFault(world, fault))
  time.run(DURATION_MS + 10_000)
  return { violations: world.violations, revocations, granted: world.granted, fromMemory: world.fromMemory }
}

const isPerson = (client: number) => client % 2 === 1

/** Numbers the tokens of all simulations. */
let tokenCount = 0
/**
 * Creates the tokens of a client, named `client-<client>/<number>`: one, or two for a person's connection, whose app
 * has refreshed. They are stored immediately, without the network.
 */
function createTokens({ store }: World, client: number): readonly string[] {
  const tokens = Array.from(
    { length: isPerson(client) ? 2 : 1 },
    () => `client-${client}/${(tokenCount += 1)}`,
  )
  tokens.forEach(store.save)
  return tokens
}

const copiesByWorld = new WeakMap<World, { at: number; snapshot: StoreSnapshot }[]>()
/** Copies the store every 50 ms, as replication would. */
function takeCopies(world: World): void {
  const storeCopies: { at: number; snapshot: StoreSnapshot }[] = []
  copiesByWorld.set(world, storeCopies)
  const takeCopy = () => {
    storeCopies.push({ at: world.time.now(), snapshot: world.store.copy() })
    if (world.time.now() < DURATION_MS) world.time.at(world.time.now() + 50, takeCopy)
  }
  takeCopy()
}

function applyFault(world: World, { kind, ms, apiIndex }: PlannedFault): void {
  const { time, store } = world
  const api = world.apis[apiIndex % PROCESSES]!
  if (kind === 'cut') api.cut()
  else if (kind === 'half-open') api.fallSilent()
  else if (kind === 'pause') api.pause(ms)
  else if (kind === 'slow') api.slowDown(ms)
  else if (kind === 'flush') store.flush()
  else {
    const oldCopy = copiesByWorld.get(world)!.findLast(({ at }) => at <= time.now() - ms)
    store.restart(kind === 'failover' ? oldCopy?.snapshot : undefined)
    // A restart closes all connections. The store is available again within 0.2 s.
    for (const each of world.apis) each.cut()
    world.storeUnavailableUntil = time.now() + world.random.between(0, 200)
  }
}
