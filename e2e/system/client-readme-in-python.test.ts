import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { readBlock } from '../../scripts/readme.ts'
import { CLIENT_README } from '../build-client.ts'
import { startSystem } from '../in-process/start-system.ts'

// Uses Debian's Python, for which the package python3-requests is installed.
const runProgram = promisify(execFile)

test('the Python example in the README of the client registers, and prints an answer', async () => {
  await runProgram('/usr/bin/python3', ['-c', 'import requests']).catch((cause: unknown) => {
    throw new Error('Missing: python3-requests. On Debian: apt-get install python3-requests', { cause })
  })
  await using system = await startSystem()
  const block = readBlock(readFileSync(CLIENT_README, 'utf8'), 'run: python')
  const { stdout } = await runProgram('/usr/bin/python3', [
    '-c',
    block.replaceAll('https://plainpath.example', system.origin),
  ])
  expect(stdout).toMatch(/^information\n.*work permit/i)
  const countLogLines = (path: string) => system.logged.filter((line) => line.includes(`"${path}"`)).length
  expect(countLogLines('/api/agent/register')).toBeGreaterThan(0)
})
