import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { readBlock } from '../../scripts/readme.ts'
import { CLIENT_README } from '../build-client.ts'
import { startSystem } from '../in-process/start-system.ts'

const run = promisify(execFile)

test('the Python of the README of the client runs', async () => {
  await run('/usr/bin/python3', ['-c', 'import requests']).catch((cause: unknown) => {
    throw new Error('Missing: python3-requests. On Debian: apt-get install python3-requests', { cause })
  })
  await using system = await startSystem()
  const block = readBlock(readFileSync(CLIENT_README, 'utf8'), 'run: python')
  const { stdout } = await run('/usr/bin/python3', [
    '-c',
    block.replaceAll('https://plainpath.example', system.origin),
  ])
  expect(stdout).toMatch(/^information\n.*work permit/i)
  const count = (path: string) => system.logged.filter((line) => line.includes(`"${path}"`)).length
  expect(count('/api/agent/register')).toBeGreaterThan(0)
})
