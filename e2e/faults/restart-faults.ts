import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { waitUntil } from '@plainpath/stack/managed-process'
import type { RunningApp } from '@plainpath/stack/start-app'
import type { Stack } from '@plainpath/stack/start-stack'
import type { FaultCase } from './fault-case.ts'
import type { FaultyStack } from './faulty-stack.ts'
import { recordTokenLoss } from './ledger.ts'
import { isLive, readiness } from './operations-listener.ts'

const PATIENCE_MS = 30_000
const LIVENESS_TIMEOUT_MS = 2_000

/** Faults of stopping processes, and of processes that cannot become ready. */
export const RESTART_FAULTS: readonly FaultCase[] = [
  createStopFault(),
  createWrongKeyFault(),
  createColdStartFault(),
]

const listApps = ({ auth, resource }: Stack) => [...auth, ...resource]
const listFirstInstances = (stack: Stack) => listApps(stack).filter(({ name }) => name.endsWith('-1'))

/** Creates a fault that restarts processes as in a rolling restart. No request may be refused. */
function createStopFault(): FaultCase {
  let mistakes: string[] = []
  return {
    name: 'one process of each app is stopped with SIGTERM, and started',
    numbers: ['F-19'],
    parts: [],
    refuses: [],
    isManual: true,
    async begin({ stack }) {
      mistakes = []
      await Promise.all(
        listFirstInstances(stack).map(async (app) => {
          await app.stop('SIGTERM')
          const { exitCode, signalCode } = app.child
          if (exitCode !== 0) mistakes.push(`${app.name} ended with ${exitCode ?? signalCode}`)
          await app.start()
        }),
      )
    },
    end: async () => {},
    finish: async () => mistakes,
  }
}

/** Creates a fault that starts a process with a wrong key-encryption key. The process must not create a signing key. */
function createWrongKeyFault(): FaultCase {
  let mistakes: string[] = []
  let correctKey = ''
  let kidsBefore: string[] = []
  const isUnready = async (app: RunningApp) => {
    const status = await readiness(app)
    return status?.ready === false && status.awaited['keys']?.endsWith('see AUTH_KEK_FILE') === true
  }
  return {
    name: 'one process of auth is started with another key-encryption key',
    numbers: ['F-22'],
    parts: [],
    refuses: [],
    isManual: true,
    async begin(system) {
      mistakes = []
      const { app, file, otherFile } = findKeyFiles(system)
      correctKey = await readFile(file, 'utf8')
      kidsBefore = await readSigningKids(system)
      await app.stop('SIGTERM')
      await copyFile(otherFile, file)
      app.start().catch(() => undefined)
      if (!(await waitUntil(() => isUnready(app), PATIENCE_MS))) mistakes.push(`${app.name} misses no key`)
    },
    async end(system) {
      const { app, file } = findKeyFiles(system)
      if (!(await isUnready(app))) mistakes.push(`${app.name} waits no more for its key`)
      if (!(await isLive(app, LIVENESS_TIMEOUT_MS))) mistakes.push(`${app.name} does not live`)
      if (kidsBefore.join() !== (await readSigningKids(system)).join())
        mistakes.push('there are other signing keys')
      await app.stop('SIGTERM')
      await writeFile(file, correctKey)
      await app.start()
    },
    async finish(system) {
      const { app } = findKeyFiles(system)
      const ready = await waitUntil(async () => (await readiness(app))?.ready === true, PATIENCE_MS)
      return ready ? mistakes : [...mistakes, `${app.name} is not ready again`]
    },
  }
}

/** Finds the key files of auth and the API, whose key decrypts nothing of auth. Running processes have read their files. */
function findKeyFiles({ stack }: FaultyStack) {
  const [app] = stack.auth
  const { AUTH_KEK_FILE: file, RESOURCE_KEK_FILE: otherFile } = stack.env
  if (!app || !file || !otherFile) throw new Error('there is no process of auth, or no key-encryption key')
  return { app, file, otherFile }
}

async function readSigningKids({ admin }: FaultyStack): Promise<string[]> {
  const { rows } = await admin.auth.query<{ kid: string }>('select kid from signing_keys order by kid')
  return rows.map(({ kid }) => kid)
}

/** Creates a fault that starts the apps while all stores are down. They must stay alive and report the awaited stores. */
function createColdStartFault(): FaultCase {
  let mistakes: string[] = []
  let starts: Promise<unknown>
  const isWaiting = async (app: RunningApp) => {
    const status = await readiness(app)
    const awaited = status?.ready === false && Object.values(status.awaited).includes('PostgreSQL')
    return awaited && (await isLive(app, LIVENESS_TIMEOUT_MS))
  }
  return {
    name: 'everything is down, and the apps are started before their stores',
    numbers: ['F-36'],
    parts: ['auth', 'api', 'auth database', 'api database', 'auth redis', 'introspection'],
    refuses: ['register', 'token', 'revoke', 'read with a token', 'join'],
    isManual: true,
    // The gateway tries for 2 s to find an instance that accepts a request, and gives it 6 s.
    maxResponseMs: 9_000,
    async begin({ stack, postgres }) {
      mistakes = []
      const apps = listApps(stack)
      await Promise.all(apps.map((app) => app.stop('SIGKILL')))
      await Promise.all([postgres.stop('SIGQUIT'), stack.redis.stop('SIGKILL')])
      starts = Promise.all(apps.map((app) => app.start()))
      starts.catch(() => undefined)
      await Promise.all(
        apps.map(async (app) => {
          if (!(await waitUntil(() => isWaiting(app), PATIENCE_MS)))
            mistakes.push(`${app.name} does not say that it waits for PostgreSQL`)
        }),
      )
    },
    /** From here on, each response may take the 5 s that the judge allows. */
    async end({ stack, postgres }, ledger) {
      await Promise.all([postgres.start(), recordTokenLoss(ledger, () => stack.redis.start())])
    },
    async finish({ stack }) {
      await starts
      for (const app of listApps(stack)) {
        if ((await readiness(app))?.ready !== true) mistakes.push(`${app.name} is not ready`)
      }
      return mistakes
    },
  }
}
