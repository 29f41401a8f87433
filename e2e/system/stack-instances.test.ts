import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import type { ManagedProcess } from '@plainpath/stack/managed-process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createHttpClient } from '../faults/http-client.ts'
import { runStackCommand, type StackProcess } from './run-stack-command.ts'

/*
 * `npm run stack` with fixed ports: an instance is added and stopped, and a killed process is restarted.
 */

/** The time limit for tests that start processes. On a busy machine, each app takes half a minute to start. */
const START_MS = 300_000
const resources = new AsyncDisposableStack()
let basePort: number
let stack: StackProcess
beforeAll(async () => {
  basePort = await findBasePort()
  stack = resources.use(
    await runStackCommand({}, '--auth', '1', '--resource', '2', '--base-port', String(basePort)),
  )
}, START_MS)
afterAll(() => resources.disposeAsync(), START_MS)

// The port table is in the usage text of the command (`stack-command.ts`). Auth-N is at the base port + 10 N, resource-N at 5
// more, and the operations listener of each at one more. So 20 is auth-2, which does not run, and 36 is the operations listener
// of resource-3.
test('each process listens at its port of the port table', async () => {
  for (const [name, offset] of [
    ['PostgreSQL', 0],
    ['Redis', 1],
    ['SMTP', 4],
    ['the internal listener of auth-1', 12],
  ] as const)
    await expect(canConnect(basePort + offset), name).resolves.toBe(true)
  expect((await fetch(`http://127.0.0.1:${basePort + 2}/-/ready`)).status).toBe(200)
  expect(await (await fetch(`http://127.0.0.1:${basePort + 3}`)).text()).toContain('Mail sent by the stack')
  for (const offset of [11, 16, 26])
    expect((await fetch(`http://127.0.0.1:${basePort + offset}/ready`)).status).toBe(200)
  expect(await canConnect(basePort + 20)).toBe(false)
})

test(
  'another stack with the same ports is refused, and the message names the ports with their processes',
  async () => {
    const secondStack = runStackCommand({}, '--auth', '1', '--base-port', String(basePort))
    const createMessage = (port: number, name: string) =>
      `Port ${port} is in use, and ${name} needs it. Stop the program that uses it, or set --base-port to another port.`
    await expect(secondStack).rejects.toThrow(createMessage(basePort, 'PostgreSQL'))
    await expect(secondStack).rejects.toThrow(createMessage(basePort + 25, 'resource-2'))
    await expect(secondStack).rejects.toThrow('ended (1)')
    const { port } = new URL(stack.origin)
    await expect(runStackCommand({ PORT: port })).rejects.toThrow(
      `Port ${port} is in use, and the gateway needs it. Stop the program that uses it, or set PORT to another port.`,
    )
  },
  START_MS,
)

test(
  'another stack with the same data directory is refused',
  async () => {
    await expect(runStackCommand({ DATA_DIR: stack.dataDirectory })).rejects.toThrow(
      /ended \(1\):\n[^]*Another stack serves/,
    )
  },
  START_MS,
)

test(
  '--add is refused for a data directory without a running stack',
  async () => {
    await expect(runStackCommand({}, '--add', 'auth')).rejects.toThrow(
      /ended \(1\):\nNo stack is running in .*\. Start one with npm run stack/,
    )
  },
  START_MS,
)

test(
  'an added instance of auth is scraped, serves requests, and stops',
  async () => {
    await using addedInstance = await stack.addInstance('auth')
    await expect.poll(listScrapedInstances, { timeout: 60_000 }).toContain('auth-2')
    await expect
      .poll(async () => {
        await fetch(`${stack.origin}/oauth/jwks.json`)
        return countRequests(basePort + 21, '/oauth/jwks.json')
      })
      .toBeGreaterThan(0)
    await addedInstance.stop('SIGINT')
    expect(addedInstance.child.exitCode).toBe(0)
    expect(await canConnect(basePort + 20)).toBe(false)
  },
  START_MS,
)

test(
  'no request fails while an instance of the API is added and stopped',
  async () => {
    const load = startRequests(stack.origin)
    try {
      await using addedInstance = await stack.addInstance('resource')
      await expect.poll(() => countRequests(basePort + 36), { timeout: 60_000 }).toBeGreaterThan(20)
      await expect.poll(listScrapedInstances, { timeout: 60_000 }).toContain('resource-3')
      await addedInstance.stop('SIGINT')
      expect(addedInstance.child.exitCode).toBe(0)
      const responsesBefore = load.statuses.length
      await expect.poll(() => load.statuses.length).toBeGreaterThan(responsesBefore + 20)
    } finally {
      await load.stop()
    }
    expect(load.statuses.filter((status) => status !== 200)).toEqual([])
    expect(await canConnect(basePort + 35)).toBe(false)
    await expect
      .poll(listScrapedInstances, { timeout: 60_000 })
      .toEqual(['auth-1', 'resource-1', 'resource-2'])
  },
  START_MS,
)

test(
  'the command reports that a process was killed, and restarts it at its port',
  async () => {
    process.kill(await findProcess(`AUTH_PORT=${basePort + 10}`), 'SIGKILL')
    const readLines = async () => (await stack.readOutput()).filter((line) => line.startsWith('auth-1 '))
    await expect
      .poll(readLines, { timeout: 60_000 })
      .toEqual([
        expect.stringContaining(`127.0.0.1:${basePort + 10}`),
        expect.stringMatching(
          /^auth-1 ended unexpectedly \(signal SIGKILL\), see .* It will be restarted in 1 s\.$/,
        ),
        'auth-1 is running again.',
      ])
    expect((await fetch(`${stack.origin}/oauth/jwks.json`)).status).toBe(200)
  },
  START_MS,
)

test(
  'Ctrl-C also stops an instance that was added',
  async () => {
    const addedInstance: ManagedProcess = resources.use(await stack.addInstance('resource'))
    expect(await stack.interrupt()).toBe(0)
    expect(await canConnect(basePort + 35)).toBe(false)
    await addedInstance.stop('SIGINT')
    expect(addedInstance.child.exitCode).toBe(0)
    expect(await readFile(addedInstance.logFile, 'utf8')).toContain('The stack is stopping.')
  },
  START_MS,
)

const INTERVAL_MS = 20

/** Sends a request every `INTERVAL_MS` over persistent connections, without waiting for responses. One in ten has a body. */
function startRequests(origin: string) {
  const client = createHttpClient(origin)
  const statuses: number[] = []
  const pendingRequests: Promise<unknown>[] = []
  const timer = setInterval(() => {
    const request = pendingRequests.length % 10 === 0 ? ANSWER_REQUEST : GUIDES_REQUEST
    pendingRequests.push(client.send(request).then(({ status }) => statuses.push(status)))
  }, INTERVAL_MS)
  return {
    statuses,
    async stop() {
      clearInterval(timer)
      await Promise.all(pendingRequests)
      client[Symbol.dispose]()
    },
  }
}

const GUIDES_REQUEST = { method: 'GET', path: '/api/guides' } as const
const ANSWER_REQUEST = {
  method: 'POST',
  path: '/api/answers',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ question: 'How long is a green card valid?' }),
} as const

/** Counts the requests to which an instance has responded. @param port the port of its operations listener */
async function countRequests(port: number, route = '/api/guides'): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  return metrics
    .split('\n')
    .filter((line) => line.startsWith('http_request_duration_seconds_count') && line.includes(route))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

/** Returns the id of the process with an environment variable, such as `AUTH_PORT=8080`. */
async function findProcess(variable: string): Promise<number> {
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    // The file cannot be read if the process has ended, or belongs to another user.
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')
    if (environment.split('\0').includes(variable)) return Number(pid)
  }
  throw new Error(`no process has ${variable}`)
}

/** Lists the instances that Prometheus scrapes successfully. */
async function listScrapedInstances(): Promise<readonly string[]> {
  const response = await fetch(`http://127.0.0.1:${basePort + 2}/api/v1/targets?state=active`)
  const { data } = (await response.json()) as {
    data: { activeTargets: { labels: { instance: string }; health: string }[] }
  }
  return data.activeTargets
    .filter(({ health }) => health === 'up')
    .map(({ labels }) => labels.instance)
    .toSorted()
}

async function canConnect(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const connected = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return connected
}

/** Finds a hundred free ports in a row, below those that `reserveFreePorts` assigns. */
async function findBasePort(): Promise<number> {
  for (;;) {
    const base = 10_000 + randomInt(98) * 100
    const servers = Array.from({ length: 100 }, (_, offset) => createServer().listen(base + offset))
    const attempts = await Promise.allSettled(servers.map((server) => once(server, 'listening')))
    for (const server of servers) server.close()
    if (attempts.every(({ status }) => status === 'fulfilled')) return base
  }
}
