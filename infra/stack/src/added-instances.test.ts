import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { serveAdditions } from './added-instances.ts'

test.for([
  ['names no app', 'none\n'],
  ['does not end within 99 characters', 'a'.repeat(100)],
] as const)('a connection whose first line %s is closed, and nothing is started', async ([, sent]) => {
  await using resources = new AsyncDisposableStack()
  const folder = await mkdtemp(path.join(tmpdir(), 'plainpath-added-'))
  resources.defer(() => rm(folder, { recursive: true }))
  let startCount = 0
  resources.use(
    await serveAdditions(folder, () => {
      startCount += 1
      return Promise.reject(new Error('no app may be started'))
    }),
  )
  const socket = connect({ path: path.join(folder, 'stack.sock'), allowHalfOpen: true })
  resources.defer(() => void socket.destroy())
  socket.write(sent)
  expect(await text(socket)).toBe('')
  expect(startCount).toBe(0)
})
