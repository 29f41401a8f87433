import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, test, vi } from 'vitest'

vi.setConfig({ testTimeout: 60_000 })

const PROGRAM = fileURLToPath(new URL('../../test/failing-process.ts', import.meta.url))

/** Starts a real process and collects its output and its exit code. */
async function start() {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env
  const child = spawn(process.execPath, [PROGRAM], { env: { PATH, NODE_COMPILE_CACHE } })
  const [lines, complaints]: [string[], string[]] = [[], []]
  createInterface({ input: child.stderr }).on('line', (line) => complaints.push(line))
  const { promise: listening, resolve, reject } = Promise.withResolvers<number>()
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line)
    const { msg, port } = JSON.parse(line) as { msg: string; port?: number }
    if (msg === 'listening') resolve(port ?? 0)
  })
  const ended = once(child, 'close').then(([code, signal]) => {
    reject(new Error(complaints.join('\n')))
    return (code ?? signal) as number | string
  })
  const url = `http://127.0.0.1:${await listening}`
  return {
    child,
    lines,
    complaints,
    ended,
    get: (path: string) => fetch(url + path, { headers: { connection: 'close' } }),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

test('responds with 500 to an error in a handler, logs it, and keeps running', async () => {
  await using failing = await start()
  const response = await failing.get('/throw')
  expect([response.status, response.headers.get('content-type')]).toEqual([500, 'application/problem+json'])
  expect(await response.text()).not.toContain('canary')
  expect((await failing.get('/')).status).toBe(200)
  const errors = () => failing.lines.filter((line) => line.includes('"level":"error"'))
  await expect.poll(() => errors().length).toBe(1)
  expect(failing.lines.join('') + failing.complaints.join('')).not.toContain('canary')
})

test.for(['/timer', '/promise', '/text'])('logs an uncaught error and exits: %s', async (path) => {
  await using failing = await start()
  // The exit may cut off the response.
  await failing.get(path).catch(() => undefined)
  expect(await failing.ended).toBe(1)
  const errors = failing.lines.filter((line) => line.includes('"level":"error"'))
  expect(errors).toHaveLength(1)
  expect(JSON.parse(errors[0] ?? '')).toMatchObject({ error: { name: expect.any(String) } })
  expect(failing.lines.join('')).not.toContain('canary')
  expect(failing.complaints).toEqual([])
})

test('opens no debugger on SIGUSR1, and keeps running', async () => {
  await using failing = await start()
  failing.child.kill('SIGUSR1')
  for (let n = 0; n < 20; n++) expect((await failing.get('/')).status).toBe(200)
  failing.child.kill('SIGTERM')
  expect(await failing.ended).toBe('SIGTERM')
  expect(failing.complaints).toEqual([])
})
