import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { waitUntil } from '@plainpath/stack/managed-process'
import type { RunningApp } from '@plainpath/stack/start-app'
import type { Stack } from '@plainpath/stack/start-stack'
import type { FaultCase } from './fault-case.ts'
import type { FaultyStack } from './faulty-stack.ts'
import { recordTokenLoss } from './ledger.ts'
import { isLive, readiness } from './operations-listener.ts'

const PATIENCE_MS = 30_000
const LIVES_MS = 2_000

/** Faults of stopping processes, and of processes that cannot become ready. */
export const RESTART_FAULTS: readonly FaultCase[] = [toldToStop(), otherKey(), everythingDown()]

const everyApp = ({ auth, resource }: Stack) => [...auth, ...resource]
const firstOfEach = (stack: Stack) => everyApp(stack).filter(({ name }) => name.endsWith('-1'))

/** Restarts processes as in a rolling restart: no request is refused. */
function toldToStop(): FaultCase {
  let wrong: string[] = []
  return {
    name: 'one process of each app is stopped with SIGTERM, and started',
    numbers: ['F-19'],
    parts: [],
    refuses: [],
    isManual: true,
    async begin({ stack }) {
      wrong = []
      await Promise.all(
        firstOfEach(stack).map(async (app) => {
          await app.stop('SIGTERM')
          const { exitCode, signalCode } = app.child
          if (exitCode !== 0) wrong.push(`${app.name} ended with ${exitCode ?? signalCode}`)
          await app.start()
        }),
      )
    },
    end: async () => {},
    finish: async () => wrong,
  }
}

/** Starts a process with a key-encryption key that decrypts nothing; it must not create a signing key. */
function otherKey(): FaultCase {
  let wrong: string[] = []
  let right = ''
  let kids: string[] = []
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
      wrong = []
      const { app, file, otherFile } = keyFiles(system)
      right = await readFile(file, 'utf8')
      kids = await signingKeys(system)
      await app.stop('SIGTERM')
      await copyFile(otherFile, file)
      app.start().catch(() => undefined)
      if (!(await waitUntil(() => isUnready(app), PATIENCE_MS))) wrong.push(`${app.name} misses no key`)
    },
    async end(system) {
      const { app, file } = keyFiles(system)
      if (!(await isUnready(app))) wrong.push(`${app.name} waits no more for its key`)
      if (!(await isLive(app, LIVES_MS))) wrong.push(`${app.name} does not live`)
      if (kids.join() !== (await signingKeys(system)).join()) wrong.push('there are other signing keys')
      await app.stop('SIGTERM')
      await writeFile(file, right)
      await app.start()
    },
    async finish(system) {
      const { app } = keyFiles(system)
      const ready = await waitUntil(async () => (await readiness(app))?.ready === true, PATIENCE_MS)
      return ready ? wrong : [...wrong, `${app.name} is not ready again`]
    },
  }
}

/** Replaces the file by the key of the API, which decrypts nothing of auth. Running processes have read the old file. */
function keyFiles({ stack }: FaultyStack) {
  const [app] = stack.auth
  const { AUTH_KEK_FILE: file, RESOURCE_KEK_FILE: otherFile } = stack.env
  if (!app || !file || !otherFile) throw new Error('there is no process of auth, or no key-encryption key')
  return { app, file, otherFile }
}

async function signingKeys({ admin }: FaultyStack): Promise<string[]> {
  const { rows } = await admin.auth.query<{ kid: string }>('select kid from signing_keys order by kid')
  return rows.map(({ kid }) => kid)
}

/** Starts the apps while all stores are down: they are alive, report what they wait for, and need no second start. */
function everythingDown(): FaultCase {
  let wrong: string[] = []
  let starting: Promise<unknown>
  const waits = async (app: RunningApp) => {
    const status = await readiness(app)
    const awaited = status?.ready === false && Object.values(status.awaited).includes('PostgreSQL')
    return awaited && (await isLive(app, LIVES_MS))
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
      wrong = []
      const apps = everyApp(stack)
      await Promise.all(apps.map((app) => app.stop('SIGKILL')))
      await Promise.all([postgres.stop('SIGQUIT'), stack.redis.stop('SIGKILL')])
      starting = Promise.all(apps.map((app) => app.start()))
      starting.catch(() => undefined)
      await Promise.all(
        apps.map(async (app) => {
          if (!(await waitUntil(() => waits(app), PATIENCE_MS)))
            wrong.push(`${app.name} does not say that it waits for PostgreSQL`)
        }),
      )
    },
    /** From here on each response has the 5 s of the judgement. */
    async end({ stack, postgres }, ledger) {
      await Promise.all([postgres.start(), recordTokenLoss(ledger, () => stack.redis.start())])
    },
    async finish({ stack }) {
      await starting
      for (const app of everyApp(stack)) {
        if ((await readiness(app))?.ready !== true) wrong.push(`${app.name} is not ready`)
      }
      return wrong
    },
  }
}
