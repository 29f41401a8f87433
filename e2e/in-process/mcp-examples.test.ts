import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { type MailServer, startMailServer } from '@plainpath/mail/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { extractFencedBlocks } from '../fenced-blocks.ts'
import { createSender } from '../send.ts'
import { createMailSettings, verifyMailbox } from '../verification-steps.ts'
import { type System, startSystem } from './start-system.ts'

const resources = new AsyncDisposableStack()
let system: System
let programs: string[]
let commands: string[]
let mail: MailServer
beforeAll(async () => {
  mail = resources.use(await startMailServer())
  system = resources.use(await startSystem({ env: createMailSettings(mail) }))
  const text = await (await fetch(`${system.origin}/mcp.md`)).text()
  programs = extractFencedBlocks(text, 'js')
  commands = extractFencedBlocks(text, 'sh')
})
afterAll(() => resources.disposeAsync())

/** Runs a program as an ES module, with only the given environment variables. @returns its output */
async function runProgram(program: string | undefined, env: Record<string, string> = {}): Promise<string> {
  const args = ['--input-type=module', '--eval', program ?? '']
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, {
    cwd: new URL('..', import.meta.url),
    env,
    timeout: 30_000,
  })
  expect(stderr).toBe('')
  return stdout
}

async function register(): Promise<{ client_id: string; client_secret: string }> {
  const response = await fetch(`${system.origin}/api/agent/register`, { method: 'POST' })
  return (await response.json()) as { client_id: string; client_secret: string }
}

test('/mcp.md has three programs, of which the first has at most ten lines', () => {
  expect(programs).toHaveLength(3)
  expect(programs[0]?.split('\n').filter(Boolean).length).toBeLessThanOrEqual(10)
})

test('the first program asks a question without a token', async () => {
  expect(await runProgram(programs[0])).toMatch(/^## .*\n[^]*information, not legal advice/)
})

test('the second program sends a token, and reads a guide', async () => {
  const { client_id: CLIENT_ID, client_secret: CLIENT_SECRET } = await register()
  expect(await runProgram(programs[1], { CLIENT_ID, CLIENT_SECRET })).toMatch(
    /^# Work permit[^]*\n## Sources\n/,
  )
})

test('the third program sends a message with the token of a verified e-mail address', async () => {
  using sender = createSender(system.origin)
  const email = `ana-${randomUUID()}@example.org`
  const token = await verifyMailbox(await register(), email, { mail, sender })
  expect(await runProgram(programs[2], { ACCESS_TOKEN: token })).toMatch(/status: 'received'/)
})

test('the command without an SDK calls a tool', async () => {
  expect(commands).toHaveLength(1)
  const { stdout } = await promisify(execFile)('sh', ['-c', commands[0] ?? ''], { timeout: 30_000 })
  expect(stdout).toMatch(/^data: .*work-permit/m)
})
