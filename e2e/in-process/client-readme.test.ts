import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import path from 'node:path'
import process from 'node:process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readBlock } from '../../scripts/readme.ts'
import { type BuiltClient, buildClient, CLIENT_README } from '../build-client.ts'
import { fencedBlocks } from '../fenced-blocks.ts'
import { type SystemWithMail, startSystemWithMail } from '../start-system-with-mail.ts'

const resources = new AsyncDisposableStack()
let system: SystemWithMail
let client: BuiltClient
beforeAll(async () => {
  system = resources.use(await startSystemWithMail())
  client = resources.use(await buildClient())
})
afterAll(() => resources.disposeAsync())

/**
 * Runs a block of the README as a program of somebody who installed the built package. Only the origin is another.
 *
 * @param answers returns the person's input for the output so far; undefined while there is nothing to type
 */
async function run(
  marker: string,
  answers: readonly ((printed: string) => Promise<string> | undefined)[] = [],
): Promise<string> {
  const block = readBlock(readFileSync(CLIENT_README, 'utf8'), marker)
  return runProgram(block.replaceAll('https://plainpath.example', system.origin), answers)
}

async function runProgram(
  program: string,
  answers: readonly ((printed: string) => Promise<string> | undefined)[] = [],
): Promise<string> {
  const file = path.join(client.project, 'block.mjs')
  writeFileSync(file, program)
  const child = spawn(process.execPath, [file], { cwd: client.project })
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const left = [...answers]
  let output = ''
  const listen = (text: string) => {
    output += text
    const answer = left[0]?.(output)
    if (!answer) return
    left.shift()
    answer.then((typed) => child.stdin.write(`${typed}\n`), reject)
  }
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', listen)
  child.on('error', reject)
  child.on('close', (code) =>
    code === 0 ? resolve(output) : reject(new Error(`exit code ${code}: ${output}`)),
  )
  return promise
}

test('the first ten lines answer a question and read a guide', async () => {
  const output = await run('run: ask')
  expect(output).toMatch(/^Ask the person: long-absence /m)
  expect(output).toContain('hand_off')
  expect(output).toContain("slug: 'work-permit'")
})

test('the next ones register once, and a message is sent when the person has confirmed', async () => {
  const [first, second] = [await run('run: register'), await run('run: register')]
  expect(first).toMatch(/work permit/i)
  expect(second).toBe(first)
  expect(system.logged.filter((line) => line.includes('/api/agent/register')).length).toBe(1)
  expect((await stat(path.join(client.project, 'agent.json'))).mode & 0o777).toBe(0o600)

  const email = `${randomUUID()}@example.org`
  const output = await run('run: message', [
    (printed) => (printed.includes('Your e-mail address: ') ? Promise.resolve(email) : undefined),
    (printed) => {
      const phrase = /must show the words: (.+)$/m.exec(printed)?.[1]
      return phrase !== undefined && printed.includes('The code on that page: ')
        ? system.confirm(email, phrase)
        : undefined
    },
  ])
  expect(output).toContain("status: 'received'")
  expect(output).not.toMatch(/pps_|ppt_/)
})

test('an agent with a key registers it once, and reads a guide with a token that is bound to it', async () => {
  const registrations = () => system.logged.filter((line) => line.includes('/api/agent/register')).length
  const requestsBefore = registrations()
  const [first, second] = [await run('run: key'), await run('run: key')]
  expect(first).toMatch(/work permit/i)
  expect(second).toBe(first)
  expect(registrations() - requestsBefore).toBe(1)
  expect((await stat(path.join(client.project, 'agent-key.json'))).mode & 0o777).toBe(0o600)
})

test('the program in /auth/dpop.md registers a key and reads a guide', async () => {
  const markdown = await (await fetch(`${system.origin}/auth/dpop.md`)).text()
  const programs = fencedBlocks(markdown, 'js')
  expect(programs).toHaveLength(1)
  expect(await runProgram(programs[0] ?? '')).toContain("slug: 'work-permit'")
})
