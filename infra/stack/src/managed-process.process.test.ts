import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { startManagedProcess } from './managed-process.ts'

const OPTIONS = {
  name: 'auth-1',
  command: ['sh', '-c', 'echo ready; exec sleep 600'],
  env: {},
}

test('a process whose log cannot be opened is not started', async () => {
  const logFile = path.join(tmpdir(), 'no-such-folder', 'auth-1.log')
  await expect(startManagedProcess({ ...OPTIONS, logFile, readyLine: 'never written' })).rejects.toThrow(
    /^auth-1 cannot write its log \(ENOENT/,
  )
})

test('a process whose log cannot be written any more can still be stopped', async () => {
  // Every write to /dev/full fails, as on a full disk.
  await using managed = await startManagedProcess({ ...OPTIONS, logFile: '/dev/full', readyLine: 'ready' })
  await managed.stop('SIGTERM')
  expect(managed.child.signalCode).toBe('SIGTERM')
})
