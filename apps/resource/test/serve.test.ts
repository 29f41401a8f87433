import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { openTestDatabase } from '@plainpath/postgres/testing'
import { expect, test } from 'vitest'
import { MIGRATIONS } from '../src/migrations.ts'
import { createKeyFolder } from './key-folder.ts'
import { sendRequest } from './send-request.ts'

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url))

test('the process serves, and on SIGTERM it exits with 0', async () => {
  await using resources = new AsyncDisposableStack()
  const database = resources.use(await openTestDatabase({ folder: MIGRATIONS, name: 'resource' }))
  const keyFolder = createKeyFolder(resources)
  const child = spawn(process.execPath, [MAIN, 'serve'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '',
      RESOURCE_ORIGIN: 'https://plainpath.example',
      RESOURCE_PORT: '0',
      RESOURCE_HOST: '127.0.0.1',
      RESOURCE_OPERATIONS_PORT: '0',
      RESOURCE_DATABASE_URL: database.appUrl,
      // Nothing listens at this URL and at that of the mail server. The process must serve public guides without them.
      RESOURCE_AUTH_URL: 'http://127.0.0.1:1',
      RESOURCE_CLIENT_ID: 'resource-api',
      RESOURCE_CLIENT_SECRET_FILE: `${keyFolder}/client-secret`,
      RESOURCE_KEK_FILE: `${keyFolder}/kek`,
      RESOURCE_HASH_KEY_FILE: `${keyFolder}/hash-key`,
      RESOURCE_SMTP_URL: 'smtp://127.0.0.1:9',
      RESOURCE_DRAIN_DELAY_SECONDS: '1',
      RESOURCE_DRAIN_SECONDS: '2',
    },
  })
  resources.defer(() => void child.kill('SIGKILL'))
  const exitEvent = once(child, 'exit')
  const lines: Record<string, unknown>[] = []
  for await (const line of createInterface(child.stdout)) {
    lines.push(JSON.parse(line) as Record<string, unknown>)
    // The first line names the ports. The lines after it are only collected.
    if (lines.length > 1) continue
    const { msg, port, operations_port: operationsPort } = lines[0] ?? {}
    expect(msg).toBe('listening')
    const response = await sendRequest(`http://127.0.0.1:${port}`, {
      path: '/api/guides',
      headers: { host: 'plainpath.example' },
    })
    expect(response.status).toBe(200)
    expect((await fetch(`http://127.0.0.1:${operationsPort}/ready`)).status).toBe(200)
    child.kill('SIGTERM')
  }
  expect(await exitEvent).toEqual([0, null])
  expect(lines.map(({ msg }) => msg)).toEqual(['listening', 'request', 'stopping'])
})
