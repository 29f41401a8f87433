import { execFile } from 'node:child_process'
import { readdir, readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { createTemporaryFolder } from '@plainpath/stack/create-temporary-folder'
import { expect, test } from 'vitest'
import { startLocalService, toLocalProgram } from './start-local-service.ts'

test('the local service keeps a revocation and an erasure in a file from which a restore repeats them', async () => {
  await using resources = new AsyncDisposableStack()
  const { path: folder } = resources.use(await createTemporaryFolder('events'))
  const { service, port, dataDirectory } = await startLocalService(folder)
  resources.use(service)
  const origin = `http://localhost:${port}`
  const postJson = (route: string, body: object) =>
    fetch(`${origin}${route}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const registration = await postJson('/api/agent/register', {})
  expect(registration.status).toBe(201)
  const agent = (await registration.json()) as { client_id: string; client_secret: string }
  const credentials = Buffer.from(`${agent.client_id}:${agent.client_secret}`).toString('base64')
  const deletion = await fetch(`${origin}/api/agent`, {
    method: 'DELETE',
    headers: { authorization: `Basic ${credentials}` },
  })
  expect(deletion.status).toBe(204)
  expect((await postJson('/api/waitlist', { email: 'ana@example.org' })).status).toBe(201)
  const outbox = path.join(dataDirectory, 'outbox')
  await expect.poll(() => readdir(outbox), { timeout: 30_000 }).toHaveLength(1)
  const mail = await readFile(path.join(outbox, (await readdir(outbox))[0] ?? ''), 'utf8')
  // The text may be quoted-printable.
  const text = mail.replaceAll(/=\r?\n/g, '').replaceAll('=3D', '=')
  const link = /\/waitlist\/remove\?link=([\w-]{43})/.exec(text)?.[1] ?? ''
  const removal = await fetch(`${origin}/waitlist/remove`, {
    method: 'POST',
    body: new URLSearchParams({ link }),
  })
  expect(removal.status).toBe(200)

  const file = path.join(dataDirectory, 'security-events.log')
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  const { PATH, NODE_COMPILE_CACHE } = process.env
  const env = { PATH, NODE_COMPILE_CACHE, DATA_DIR: dataDirectory, PORT: String(port) }
  // `restore` reads a log in the same way.
  const planReplay = async (app: string) => {
    const command = [toLocalProgram(`${app}-command`), 'replay', '--dry-run', '--json', '--log', file]
    return JSON.parse((await promisify(execFile)(process.execPath, command, { env })).stdout)
  }
  expect(await planReplay('auth')).toMatchObject({ told: { clients: 1 } })
  expect(await planReplay('resource')).toMatchObject({ told: { entries: 1 } })
}, 240_000)
