import { waitUntil } from '@plainpath/stack/managed-process'
import type { FaultCase } from './fault-case.ts'
import type { FaultyStack } from './faulty-stack.ts'
import { metric, readiness } from './operations-listener.ts'

const PATIENCE_MS = 15_000

/** Faults of a machine as a process sees it: a wrong clock, and host names that cannot be resolved. */
export const MACHINE_FAULTS: readonly FaultCase[] = [
  createClockFault('an hour ahead', 3_600_000),
  createClockFault('an hour behind', -3_600_000),
  createClockFault('put back by 10 s', -10_000),
  {
    name: 'no name of a store is resolved, and connections are lost',
    numbers: ['F-35'],
    parts: ['auth database', 'api database', 'auth redis', 'introspection'],
    refuses: ['register', 'join', 'token'],
    failsCheck: 'database',
    async begin(system) {
      for (const { name } of listApps(system)) system.machine(name).set({ noNames: true })
      const connections = [
        'auth database',
        'api database',
        'auth redis',
        'api redis',
        'introspection',
      ] as const
      await system.put({ kind: 'reset' }, ...connections)
      await system.put({ kind: 'pass' }, ...connections)
    },
    async end(system) {
      for (const { name } of listApps(system)) system.machine(name).set({})
    },
  },
]

const listApps = ({ stack }: FaultyStack) => [...stack.auth, ...stack.resource]
const firstInstances = (system: FaultyStack) => listApps(system).filter(({ name }) => name.endsWith('-1'))

/** Creates a fault that shifts the clock of one process of each app. It must refuse requests that depend on the clock. */
function createClockFault(how: string, clockMs: number): FaultCase {
  const mustBeUnready = Math.abs(clockMs) > 30_000
  let mistakes: string[] = []
  return {
    name: `the clock of one process of each app is ${how}`,
    numbers: ['F-17'],
    isManual: clockMs <= 0,
    // The API rejects a response that is dated in the future.
    parts: mustBeUnready ? ['auth', 'api', 'introspection'] : ['introspection'],
    refuses: mustBeUnready ? ['token', 'read with a token', 'register', 'revoke', 'join'] : [],
    async begin(system) {
      for (const { name } of firstInstances(system)) system.machine(name).set({ clockMs })
    },
    async end(system) {
      mistakes = []
      for (const app of firstInstances(system)) {
        const ready = await waitForResult(
          () => readiness(app),
          (status) => status?.ready === !mustBeUnready,
        )
        if (!ready) mistakes.push(`${app.name} is ${mustBeUnready ? 'ready' : 'not ready'}`)
        const reportsSkew = await waitForResult(
          () => metric(app, 'clock_skew_seconds'),
          (seconds) => Math.abs(seconds * 1_000 - clockMs) < 2_000,
        )
        if (!reportsSkew) mistakes.push(`${app.name} does not report its clock`)
      }
      for (const { name } of firstInstances(system)) system.machine(name).set({})
    },
    async finish(system) {
      for (const app of firstInstances(system)) {
        const ready = await waitForResult(
          () => readiness(app),
          (status) => status?.ready === true,
        )
        if (!ready) mistakes.push(`${app.name} is not ready again`)
      }
      return mistakes
    },
  }
}

const waitForResult = <T>(read: () => Promise<T>, isExpected: (response: T) => boolean) =>
  waitUntil(async () => isExpected(await read()), PATIENCE_MS)
