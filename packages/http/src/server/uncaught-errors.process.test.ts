import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const PROGRAM = fileURLToPath(new URL('../../test/failing-process.ts', import.meta.url))

/** Starts a process that fails on request (`failing-process.ts`), and collects its output and its exit code. */
async function startFailingProcess() {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env
  const child = spawn(process.execPath, [PROGRAM], { env: { PATH, NODE_COMPILE_CACHE } })
  const [lines, errorLines]: [string[], string[]] = [[], []]
  createInterface({ input: child.stderr }).on('line', (line) => errorLines.push(line))
  const { promise: portPromise, resolve, reject } = Promise.withResolvers<number>()
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line)
    const { msg, port } = JSON.parse(line) as { msg: string; port?: number }
    if (msg === 'listening') resolve(port ?? 0)
  })
  const exitCodeOrSignal = once(child, 'close').then(([code, signal]) => {
    // Without effect if the process has listened.
    reject(new Error(errorLines.join('\n')))
    return (code ?? signal) as number | string
  })
  const url = `http://127.0.0.1:${await portPromise}`
  return {
    child,
    lines,
    errorLines,
    exitCodeOrSignal,
    get: (path: string) => fetch(url + path, { headers: { connection: 'close' } }),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await exitCodeOrSignal
    },
  }
}

test('responds with 500 to an error in a handler, logs it, and keeps running', async () => {
  await using failingProcess = await startFailingProcess()
  const response = await failingProcess.get('/throw')
  expect([response.status, response.headers.get('content-type')]).toEqual([500, 'application/problem+json'])
  expect(await response.text()).not.toContain('canary')
  expect((await failingProcess.get('/')).status).toBe(200)
  const errors = () => failingProcess.lines.filter((line) => line.includes('"level":"error"'))
  await expect.poll(() => errors().length).toBe(1)
  expect(failingProcess.lines.join('') + failingProcess.errorLines.join('')).not.toContain('canary')
})

test.for(['/timer', '/promise', '/text'])('logs an uncaught error and exits with 1: %s', async (path) => {
  await using failingProcess = await startFailingProcess()
  // The exit may cut off the response.
  await failingProcess.get(path).catch(() => undefined)
  expect(await failingProcess.exitCodeOrSignal).toBe(1)
  const errors = failingProcess.lines.filter((line) => line.includes('"level":"error"'))
  expect(errors).toHaveLength(1)
  expect(JSON.parse(errors[0] ?? '')).toMatchObject({ error: { name: expect.any(String) } })
  expect(failingProcess.lines.join('')).not.toContain('canary')
  expect(failingProcess.errorLines).toEqual([])
})

test('opens no debugger on SIGUSR1, and keeps running', async () => {
  await using failingProcess = await startFailingProcess()
  // Node would announce its debugger on standard error. The requests give it the time to do so.
  failingProcess.child.kill('SIGUSR1')
  for (let count = 0; count < 20; count += 1) expect((await failingProcess.get('/')).status).toBe(200)
  failingProcess.child.kill('SIGTERM')
  expect(await failingProcess.exitCodeOrSignal).toBe('SIGTERM')
  expect(failingProcess.errorLines).toEqual([])
})
