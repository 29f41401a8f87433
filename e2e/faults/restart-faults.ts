import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { waitUntil } from '@plainpath/stack/managed-process'
import type { RunningApp } from '@plainpath/stack/start-app'
import type { Stack } from '@plainpath/stack/start-stack'
import type { FaultCase } from './fault-case.ts'
import type { FaultyStack } from './faulty-stack.ts'
import { recordTokenLoss } from './ledger.ts'
import { checkLive, readReadiness } from './read-operations.ts'

const PATIENCE_MS = 30_000
const LIVENESS_TIMEOUT_MS = 2_000

/** Faults of processes that stop, or that cannot become ready. */
export const RESTART_FAULTS: readonly FaultCase[] = [
  createStopFault(),
  createWrongKeyFault(),
  createColdStartFault(),
]

const listApps = ({ auth, resource }: Stack) => [...auth, ...resource]
const listFirstInstances = (stack: Stack) => listApps(stack).filter(({ name }) => name.endsWith('-1'))

/** Creates a fault that stops and starts processes as a rolling restart does. No request may be refused. */
function createStopFault(): FaultCase {
  let mistakes: string[] = []
  return {
    name: 'one process of each app is stopped with SIGTERM, and restarted',
    numbers: ['F-19'],
    components: [],
    refusedOperations: [],
    isManual: true,
    async begin({ stack }) {
      mistakes = []
      await Promise.all(
        listFirstInstances(stack).map(async (app) => {
          await app.stop('SIGTERM')
          const { exitCode, signalCode } = app.child
          if (exitCode !== 0) mistakes.push(`${app.name} exited with ${exitCode ?? signalCode}`)
          await app.start()
        }),
      )
    },
    end: async () => {},
    finish: async () => mistakes,
  }
}

/** Creates a fault that starts a process with a wrong key-encryption key. The process must not generate a signing key. */
function createWrongKeyFault(): FaultCase {
  let mistakes: string[] = []
  let correctKey = ''
  let kidsBefore: string[] = []
  const awaitsKey = async (app: RunningApp) => {
    const status = await readReadiness(app)
    return status?.ready === false && status.awaited['keys']?.endsWith('see AUTH_KEK_FILE') === true
  }
  return {
    name: 'one process of auth is started with another key-encryption key',
    numbers: ['F-22'],
    components: [],
    refusedOperations: [],
    isManual: true,
    async begin(system) {
      mistakes = []
      const { app, file, otherFile } = findKeyFiles(system)
      correctKey = await readFile(file, 'utf8')
      kidsBefore = await readSigningKids(system)
      await app.stop('SIGTERM')
      await copyFile(otherFile, file)
      // The process never becomes ready, so this start fails when `end` stops the process.
      app.start().catch(() => undefined)
      if (!(await waitUntil(() => awaitsKey(app), PATIENCE_MS)))
        mistakes.push(`${app.name} does not report a missing key`)
    },
    async end(system) {
      const { app, file } = findKeyFiles(system)
      if (!(await awaitsKey(app))) mistakes.push(`${app.name} no longer waits for its key`)
      if (!(await checkLive(app, LIVENESS_TIMEOUT_MS))) mistakes.push(`${app.name} is not live`)
      if (kidsBefore.join() !== (await readSigningKids(system)).join())
        mistakes.push('the signing keys have changed')
      await app.stop('SIGTERM')
      await writeFile(file, correctKey)
      await app.start()
    },
    async finish(system) {
      const { app } = findKeyFiles(system)
      const isReady = await waitUntil(async () => (await readReadiness(app))?.ready === true, PATIENCE_MS)
      return isReady ? mistakes : [...mistakes, `${app.name} is not ready again`]
    },
  }
}

/**
 * Finds an auth process and the key-encryption key files of both apps. The API's key decrypts none of auth's data.
 * Running processes have already read their file, so a change affects only the next start.
 */
function findKeyFiles({ stack }: FaultyStack) {
  const [app] = stack.auth
  const { AUTH_KEK_FILE: file, RESOURCE_KEK_FILE: otherFile } = stack.env
  if (!app || !file || !otherFile)
    throw new Error('there is no process of auth, or no file with a key-encryption key')
  return { app, file, otherFile }
}

async function readSigningKids({ admin }: FaultyStack): Promise<string[]> {
  const { rows } = await admin.auth.query<{ kid: string }>('select kid from signing_keys order by kid')
  return rows.map(({ kid }) => kid)
}

/** Creates a fault that starts the apps while all stores are down. They must be live, and report what they wait for. */
function createColdStartFault(): FaultCase {
  let mistakes: string[] = []
  let starts: Promise<unknown>
  const isWaiting = async (app: RunningApp) => {
    const status = await readReadiness(app)
    const awaitsPostgres = status?.ready === false && Object.values(status.awaited).includes('PostgreSQL')
    return awaitsPostgres && (await checkLive(app, LIVENESS_TIMEOUT_MS))
  }
  return {
    name: 'everything is down, and the apps are started before their stores',
    numbers: ['F-36'],
    components: ['auth', 'api', 'auth database', 'api database', 'redis', 'introspection'],
    refusedOperations: ['register', 'token', 'revoke', 'read with a token', 'join'],
    isManual: true,
    // The gateway tries for 2 s to find an instance that accepts the request, and waits up to 6 s for its response.
    maxResponseMs: 9_000,
    async begin({ stack, postgres }) {
      mistakes = []
      const apps = listApps(stack)
      await Promise.all(apps.map((app) => app.stop('SIGKILL')))
      await Promise.all([postgres.stop('SIGQUIT'), stack.redis.stop('SIGKILL')])
      starts = Promise.all(apps.map((app) => app.start()))
      // `finish` awaits the starts and reports a failure.
      starts.catch(() => undefined)
      await Promise.all(
        apps.map(async (app) => {
          if (!(await waitUntil(() => isWaiting(app), PATIENCE_MS)))
            mistakes.push(`${app.name} does not say that it waits for PostgreSQL`)
        }),
      )
    },
    async end({ stack, postgres }, ledger) {
      await Promise.all([postgres.start(), recordTokenLoss(ledger, () => stack.redis.start())])
    },
    async finish({ stack }) {
      await starts
      for (const app of listApps(stack)) {
        if ((await readReadiness(app))?.ready !== true) mistakes.push(`${app.name} is not ready`)
      }
      return mistakes
    },
  }
}
