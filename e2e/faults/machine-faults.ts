import { waitUntil } from '@plainpath/stack/managed-process'
import type { FaultCase } from './fault-case.ts'
import type { FaultyStack } from './faulty-stack.ts'
import { readMetric, readReadiness } from './read-operations.ts'

const PATIENCE_MS = 15_000

/** Faults of the machine, as a process sees them: a wrong clock, and host names that cannot be resolved. */
export const MACHINE_FAULTS: readonly FaultCase[] = [
  createClockFault('an hour ahead', 3_600_000),
  createClockFault('an hour behind', -3_600_000),
  createClockFault('put back by 10 s', -10_000),
  {
    name: 'no name of a store is resolved, and connections are lost',
    numbers: ['F-35'],
    components: ['auth database', 'api database', 'redis', 'introspection'],
    refusedOperations: ['register', 'join', 'token'],
    failingCheck: 'database',
    async begin(system) {
      for (const { name } of listApps(system))
        system.getMachine(name).setFaults({ isNameResolutionDown: true })
      // Open connections need no name, so all are reset. The apps must then resolve the names again.
      const connections = [
        'auth database',
        'api database',
        'auth redis',
        'api redis',
        'introspection',
      ] as const
      await system.setFault({ kind: 'reset' }, ...connections)
      await system.setFault({ kind: 'pass' }, ...connections)
    },
    async end(system) {
      for (const { name } of listApps(system)) system.getMachine(name).setFaults({})
    },
  },
]

const listApps = ({ stack }: FaultyStack) => [...stack.auth, ...stack.resource]
const listFirstInstances = (system: FaultyStack) => listApps(system).filter(({ name }) => name.endsWith('-1'))

/**
 * Creates a fault that shifts the clock of one process of each app. If the clock is wrong by more than 30 s, the
 * process must not be ready, and must refuse requests that depend on the clock.
 */
function createClockFault(description: string, clockOffsetMs: number): FaultCase {
  const mustBeUnready = Math.abs(clockOffsetMs) > 30_000
  let mistakes: string[] = []
  return {
    name: `the clock of one process of each app is ${description}`,
    numbers: ['F-17'],
    // CI injects only the clock that is ahead. The other clock faults resemble it.
    isManual: clockOffsetMs <= 0,
    // The API rejects an introspection response that is dated in the future.
    components: mustBeUnready ? ['auth', 'api', 'introspection'] : ['introspection'],
    refusedOperations: mustBeUnready ? ['token', 'read with a token', 'register', 'revoke', 'join'] : [],
    async begin(system) {
      for (const { name } of listFirstInstances(system)) system.getMachine(name).setFaults({ clockOffsetMs })
    },
    async end(system) {
      mistakes = []
      for (const app of listFirstInstances(system)) {
        const isAsExpected = await waitForResult(
          () => readReadiness(app),
          (status) => status?.ready === !mustBeUnready,
        )
        if (!isAsExpected) mistakes.push(`${app.name} is ${mustBeUnready ? 'ready' : 'not ready'}`)
        const reportsSkew = await waitForResult(
          () => readMetric(app, 'clock_skew_seconds'),
          (seconds) => Math.abs(seconds * 1_000 - clockOffsetMs) < 2_000,
        )
        if (!reportsSkew) mistakes.push(`${app.name} does not report its clock`)
      }
      for (const { name } of listFirstInstances(system)) system.getMachine(name).setFaults({})
    },
    async finish(system) {
      for (const app of listFirstInstances(system)) {
        const isReady = await waitForResult(
          () => readReadiness(app),
          (status) => status?.ready === true,
        )
        if (!isReady) mistakes.push(`${app.name} is not ready again`)
      }
      return mistakes
    },
  }
}

/** Reads a result until it is the expected one. Returns false if it is not within 15 s. */
const waitForResult = <T>(read: () => Promise<T>, isExpected: (result: T) => boolean) =>
  waitUntil(async () => isExpected(await read()), PATIENCE_MS)
