import { waitUntil } from '@plainpath/stack/managed-process'
import type { FaultCase } from './fault-case.ts'
import type { FaultyStack } from './faulty-stack.ts'
import { metric, readiness } from './operations-listener.ts'

const PATIENCE_MS = 15_000

/** Faults of the machine of a process: a wrong clock, and names that cannot be resolved. */
export const MACHINE_FAULTS: readonly FaultCase[] = [
  wrongClock('an hour ahead', 3_600_000),
  wrongClock('an hour behind', -3_600_000),
  wrongClock('put back by 10 s', -10_000),
  {
    name: 'no name of a store is resolved, and connections are lost',
    numbers: ['F-35'],
    parts: ['auth database', 'api database', 'auth redis', 'introspection'],
    refuses: ['register', 'join', 'token'],
    failsCheck: 'database',
    async begin(system) {
      for (const { name } of listApps(system)) system.machine(name).set({ noNames: true })
      const ways = ['auth database', 'api database', 'auth redis', 'api redis', 'introspection'] as const
      await system.put({ kind: 'reset' }, ...ways)
      await system.put({ kind: 'pass' }, ...ways)
    },
    async end(system) {
      for (const { name } of listApps(system)) system.machine(name).set({})
    },
  },
]

const listApps = ({ stack }: FaultyStack) => [...stack.auth, ...stack.resource]
const firstInstances = (system: FaultyStack) => listApps(system).filter(({ name }) => name.endsWith('-1'))

/** Shifts the clock of one process of each app. It must refuse what depends on the clock. */
function wrongClock(how: string, clockMs: number): FaultCase {
  const unready = Math.abs(clockMs) > 30_000
  let wrong: string[] = []
  return {
    name: `the clock of one process of each app is ${how}`,
    numbers: ['F-17'],
    isManual: clockMs <= 0,
    // The API rejects a response that is dated in the future.
    parts: unready ? ['auth', 'api', 'introspection'] : ['introspection'],
    refuses: unready ? ['token', 'read with a token', 'register', 'revoke', 'join'] : [],
    async begin(system) {
      for (const { name } of firstInstances(system)) system.machine(name).set({ clockMs })
    },
    async end(system) {
      wrong = []
      for (const app of firstInstances(system)) {
        const ready = await waitForResult(
          () => readiness(app),
          (status) => status?.ready === !unready,
        )
        if (!ready) wrong.push(`${app.name} is ${unready ? 'ready' : 'not ready'}`)
        const skew = await waitForResult(
          () => metric(app, 'clock_skew_seconds'),
          (seconds) => Math.abs(seconds * 1_000 - clockMs) < 2_000,
        )
        if (!skew) wrong.push(`${app.name} does not report its clock`)
      }
      for (const { name } of firstInstances(system)) system.machine(name).set({})
    },
    async finish(system) {
      for (const app of firstInstances(system)) {
        const ready = await waitForResult(
          () => readiness(app),
          (status) => status?.ready === true,
        )
        if (!ready) wrong.push(`${app.name} is not ready again`)
      }
      return wrong
    },
  }
}

const waitForResult = <T>(read: () => Promise<T>, isExpected: (response: T) => boolean) =>
  waitUntil(async () => isExpected(await read()), PATIENCE_MS)
