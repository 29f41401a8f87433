import { execFile } from 'node:child_process'
import { request } from 'node:http'
import { promisify } from 'node:util'
import type { Stack } from '@plainpath/stack/start-stack'
import { type FaultCase, repeatedFault } from './fault-case.ts'
import type { FaultyStack } from './faulty-stack.ts'

const run = promisify(execFile)

type RunningApp = Stack['auth'][number]

/** About the number of descriptors that a process has open before it serves requests, so that it can open no more. */
const MOST_DESCRIPTORS = 24
/** More lines than fit into a pipe and the buffer of its reader. */
const LINES = 4_000

/** Faults of the processes of the apps. */
export const PROCESS_FAULTS: readonly FaultCase[] = [
  killedInTurn(),
  {
    name: 'one process of each app has no file descriptors left (EMFILE)',
    numbers: ['F-33'],
    parts: ['auth', 'api', 'auth database', 'api database', 'auth redis', 'introspection'],
    refuses: [],
    isManual: true,
    async begin({ stack, admin }) {
      for (const app of firstOfEach(stack)) await limitDescriptors(app, MOST_DESCRIPTORS)
      // Open connections keep working; this makes the process open new ones.
      await admin.server.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname in ('plainpath_auth', 'plainpath_resource') and application_name <> 'plainpath faults'`,
      )
    },
    async end({ stack }) {
      for (const app of firstOfEach(stack)) await limitDescriptors(app, 4_096)
    },
  },
  {
    name: 'nobody reads the log of one process of each app',
    numbers: ['F-34'],
    parts: [],
    refuses: [],
    isManual: true,
    async begin({ stack }) {
      for (const app of firstOfEach(stack)) app.child.stdout?.pause()
      await Promise.all(firstOfEach(stack).map((app) => makeItLog(app, stack.origin)))
    },
    async end({ stack }) {
      for (const app of firstOfEach(stack)) app.child.stdout?.resume()
    },
  },
]

const firstOfEach = ({ auth, resource }: FaultyStack['stack']) =>
  [auth[0], resource[0]].filter((app) => app !== undefined)

/** Kills each process in turn under load and starts it again, as an orchestrator would. */
function killedInTurn(): FaultCase {
  let turn = 0
  return repeatedFault({
    name: 'each process of both apps in turn: kill -9 and started',
    numbers: ['F-18'],
    parts: ['auth', 'api', 'introspection'],
    refuses: [],
    maxRefusedShare: 0.3,
    isManual: true,
    async act({ stack, admin }) {
      const apps = [...stack.auth, ...stack.resource]
      const app = apps[turn++ % apps.length]
      await app?.stop('SIGKILL')
      await app?.start()
      await admin.server.query('select pg_sleep(0.5)')
    },
  })
}

async function limitDescriptors({ child }: RunningApp, most: number): Promise<void> {
  await run('prlimit', ['--pid', String(child.pid), `--nofile=${most}:4096`])
}

/** Sends requests, each of which causes a log line. They may hang, which is what the fault tests. */
async function makeItLog(app: RunningApp, origin: string): Promise<void> {
  let left = LINES
  const path = app.name.startsWith('auth') ? '/oauth/jwks.json' : '/robots.txt'
  const worker = async () => {
    for (; left > 0; left -= 1) if (!(await isServedDirectly(app, origin, path))) return
  }
  await Promise.all(Array.from({ length: 16 }, worker))
}

function isServedDirectly({ ports }: RunningApp, origin: string, path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const headers = { host: new URL(origin).host }
  const outgoing = request(
    { host: '127.0.0.1', port: ports.public, path, headers, timeout: 2_000 },
    (response) => {
      response.resume()
      response.on('end', () => resolve(true))
    },
  )
  outgoing.on('timeout', () => outgoing.destroy())
  outgoing.on('error', () => resolve(false))
  outgoing.end()
  return promise
}
