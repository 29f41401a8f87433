import { execFile } from 'node:child_process'
import { request } from 'node:http'
import { promisify } from 'node:util'
import type { RunningApp } from '@plainpath/stack/start-app'
import type { Stack } from '@plainpath/stack/start-stack'
import { createRepeatedFault, type FaultCase } from './fault-case.ts'

const run = promisify(execFile)

/** About as many descriptors as a process has open before it serves requests, so that it can open no more. */
const MAX_DESCRIPTORS = 24
/** More lines than a pipe and its reader's buffer can hold. */
const LOG_LINES = 4_000

/** Faults of app processes. */
export const PROCESS_FAULTS: readonly FaultCase[] = [
  createKillFault(),
  {
    name: 'one process of each app has no file descriptors left (EMFILE)',
    numbers: ['F-33'],
    components: ['auth', 'api', 'auth database', 'api database', 'redis', 'introspection'],
    refusedOperations: [],
    isManual: true,
    async begin({ stack, admin }) {
      for (const app of listFirstInstances(stack)) await limitDescriptors(app, MAX_DESCRIPTORS)
      // Open connections would keep working, so the process is forced to open new ones.
      await admin.server.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname in ('plainpath_auth', 'plainpath_resource') and application_name <> 'plainpath faults'`,
      )
    },
    async end({ stack }) {
      for (const app of listFirstInstances(stack)) await limitDescriptors(app, 4_096)
    },
  },
  {
    name: 'nobody reads the log of one process of each app',
    numbers: ['F-34'],
    components: [],
    refusedOperations: [],
    isManual: true,
    async begin({ stack }) {
      for (const app of listFirstInstances(stack)) app.child.stdout?.pause()
      await Promise.all(listFirstInstances(stack).map((app) => causeLogLines(app, stack.origin)))
    },
    async end({ stack }) {
      for (const app of listFirstInstances(stack)) app.child.stdout?.resume()
    },
  },
]

const listFirstInstances = ({ auth, resource }: Stack) =>
  [auth[0], resource[0]].filter((app) => app !== undefined)

/** Creates a fault that kills each process in turn under load and starts it again, as an orchestrator would. */
function createKillFault(): FaultCase {
  let turn = 0
  return createRepeatedFault({
    name: 'each process of both apps in turn: killed (kill -9) and restarted',
    numbers: ['F-18'],
    components: ['auth', 'api', 'introspection'],
    refusedOperations: [],
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

/** Sets the soft limit for open descriptors. The hard limit stays 4,096, so that the soft limit can be raised again. */
async function limitDescriptors({ child }: RunningApp, limit: number): Promise<void> {
  await run('prlimit', ['--pid', String(child.pid), `--nofile=${limit}:4096`])
}

/** Sends requests that each cause a log line. Stops at the first missing response, which the load detects as well. */
async function causeLogLines(app: RunningApp, origin: string): Promise<void> {
  let remaining = LOG_LINES
  const path = app.name.startsWith('auth') ? '/oauth/jwks.json' : '/robots.txt'
  const worker = async () => {
    for (; remaining > 0; remaining -= 1) if (!(await checkRespondsDirectly(app, origin, path))) return
  }
  await Promise.all(Array.from({ length: 16 }, worker))
}

/** Sends a request to a process, past the gateway. Returns whether it responds; a pause of 2 s counts as no response. */
function checkRespondsDirectly({ ports }: RunningApp, origin: string, path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  // The apps reject a request for any other host than that of the origin.
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
