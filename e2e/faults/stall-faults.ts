import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { RunningApp } from '@plainpath/stack/start-app'
import { readPods } from '@plainpath/topology/pods'
import type { FaultCase } from './fault-case.ts'
import { BLOCKED_MS } from './faulty-process.ts'
import type { FaultyStack } from './faulty-stack.ts'
import { checkLive } from './read-operations.ts'

const run = promisify(execFile)

const ALL_COMPONENTS = ['auth', 'api', 'auth database', 'api database', 'redis', 'introspection'] as const
const CRASH_TIMEOUT_MS = 60_000
/** The address space that a process may reserve in addition to what it already has. */
const EXTRA_ADDRESS_BYTES = 32 * 1_048_576

/** Faults of processes that hang or run out of memory. */
export const STALL_FAULTS: readonly FaultCase[] = [
  {
    name: `the event loop of one process of each app is blocked for ${BLOCKED_MS / 1_000} s`,
    numbers: ['F-33'],
    components: ALL_COMPONENTS,
    refusedOperations: [],
    maxRefusedShare: 0.2,
    begin: async ({ stack, injectProcessFault }) => {
      for (const app of listFirstInstances(stack)) injectProcessFault(app, 'block')
    },
    end: async () => {},
  },
  createCrashFault('the heap of one process of each app reaches its limit', async () => {}),
  createCrashFault('one process of each app gets no more memory (ENOMEM)', limitMemory),
  {
    name: 'one process of each app is suspended until its liveness probe restarts it',
    numbers: ['F-33'],
    components: ALL_COMPONENTS,
    refusedOperations: [],
    maxRefusedShare: 0.3,
    // The gateway waits up to 6 s for the response of a suspended process.
    maxResponseMs: 7_000,
    isManual: true,
    begin: async (system) => {
      const suspendedApps = listFirstInstances(system.stack)
      for (const app of suspendedApps) app.child.kill('SIGSTOP')
      await Promise.all(suspendedApps.map((app) => restartWhenNotLive(app, system)))
    },
    end: async () => {},
  },
]

const listFirstInstances = ({ auth, resource }: FaultyStack['stack']) =>
  [auth[0], resource[0]].filter((app) => app !== undefined)

/** Creates a fault in which one process of each app leaks memory until it crashes, and is then started again. */
function createCrashFault(name: string, prepare: (app: RunningApp) => Promise<void>): FaultCase {
  const crash = async (app: RunningApp, { injectProcessFault }: FaultyStack) => {
    await prepare(app)
    const exit = once(app.child, 'exit', { signal: AbortSignal.timeout(CRASH_TIMEOUT_MS) })
    injectProcessFault(app, 'leak')
    await exit
    await app.start()
  }
  return {
    name,
    numbers: ['F-33'],
    components: ALL_COMPONENTS,
    refusedOperations: [],
    maxRefusedShare: 0.3,
    isManual: true,
    begin: async (system) =>
      void (await Promise.all(listFirstInstances(system.stack).map((app) => crash(app, system)))),
    end: async () => {},
  }
}

/** Limits the address space of a process to what it has, plus `EXTRA_ADDRESS_BYTES`. */
async function limitMemory({ child }: RunningApp): Promise<void> {
  const status = await readFile(`/proc/${child.pid}/status`, 'utf8')
  const usedBytes = Number(/^VmSize:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024
  await run('prlimit', ['--pid', String(child.pid), `--as=${usedBytes + EXTRA_ADDRESS_BYTES}:unlimited`])
}

/**
 * Probes a process as its manifest says. Once the probe has failed `failureThreshold` times in a row, kills the process
 * and starts it, as Kubernetes would.
 */
async function restartWhenNotLive(app: RunningApp, { admin }: FaultyStack): Promise<void> {
  const kind = app.name.startsWith('auth') ? 'auth' : 'resource'
  const probe = readPods().find(({ name }) => name === kind)?.containers[0]?.livenessProbe
  if (!probe) throw new Error(`${kind} has no liveness probe`)
  const { failureThreshold } = probe
  const periodMs = probe.periodSeconds * 1_000
  const timeoutMs = probe.timeoutSeconds * 1_000
  for (let failureCount = 0; failureCount < failureThreshold; ) {
    const requestedAt = performance.now()
    failureCount = (await checkLive(app, timeoutMs)) ? 0 : failureCount + 1
    while (failureCount < failureThreshold && performance.now() < requestedAt + periodMs)
      await admin.server.query('select pg_sleep(0.2)')
  }
  await app.stop('SIGKILL')
  await app.start()
}
