import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import path from 'node:path'
import process from 'node:process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readBlock } from '../../scripts/readme.ts'
import { type BuiltClient, buildClient, CLIENT_README } from '../build-client.ts'
import { extractFencedBlocks } from '../fenced-blocks.ts'
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
 * Runs a block of the README as a program in a project with the built package. Only the origin differs from the README.
 *
 * @param inputs the lines that the person types, in order. Each function receives the output so far, and returns undefined while
 *   the program does not wait for its line
 */
async function runBlock(
  marker: string,
  inputs: readonly ((printed: string) => Promise<string> | undefined)[] = [],
): Promise<string> {
  const block = readBlock(readFileSync(CLIENT_README, 'utf8'), marker)
  return runProgram(block.replaceAll('https://plainpath.example', system.origin), inputs)
}

/** Runs a program in the same project. Returns its output. @throws {Error} with the output if the program fails */
async function runProgram(
  program: string,
  inputs: readonly ((printed: string) => Promise<string> | undefined)[] = [],
): Promise<string> {
  const file = path.join(client.project, 'block.mjs')
  writeFileSync(file, program)
  const child = spawn(process.execPath, [file], { cwd: client.project })
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const remainingInputs = [...inputs]
  let output = ''
  const handleOutput = (text: string) => {
    output += text
    const input = remainingInputs[0]?.(output)
    if (!input) return
    remainingInputs.shift()
    input.then((typed) => child.stdin.write(`${typed}\n`), reject)
  }
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', handleOutput)
  child.on('error', reject)
  child.on('close', (code) =>
    code === 0 ? resolve(output) : reject(new Error(`exit code ${code}: ${output}`)),
  )
  return promise
}

test('the block "ask" answers a question and reads a guide', async () => {
  const output = await runBlock('run: ask')
  expect(output).toMatch(/^Ask the person: long-absence /m)
  expect(output).toContain('hand_off')
  expect(output).toContain("slug: 'work-permit'")
})

test('the block "register" registers only once, and "message" sends a message after the person has confirmed', async () => {
  const [firstOutput, secondOutput] = [await runBlock('run: register'), await runBlock('run: register')]
  expect(firstOutput).toMatch(/work permit/i)
  expect(secondOutput).toBe(firstOutput)
  expect(system.logged.filter((line) => line.includes('/api/agent/register')).length).toBe(1)
  expect((await stat(path.join(client.project, 'agent.json'))).mode & 0o777).toBe(0o600)

  const email = `${randomUUID()}@example.org`
  const output = await runBlock('run: message', [
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

test('the block "key" registers a key only once, and reads a guide with a token that is bound to the key', async () => {
  const countRegistrations = () => system.logged.filter((line) => line.includes('/api/agent/register')).length
  const countBefore = countRegistrations()
  const [firstOutput, secondOutput] = [await runBlock('run: key'), await runBlock('run: key')]
  expect(firstOutput).toMatch(/work permit/i)
  expect(secondOutput).toBe(firstOutput)
  expect(countRegistrations() - countBefore).toBe(1)
  expect((await stat(path.join(client.project, 'agent-key.json'))).mode & 0o777).toBe(0o600)
})

test('the program in /auth/dpop.md registers a key and reads a guide', async () => {
  const markdown = await (await fetch(`${system.origin}/auth/dpop.md`)).text()
  const programs = extractFencedBlocks(markdown, 'js')
  expect(programs).toHaveLength(1)
  expect(await runProgram(programs[0] ?? '')).toContain("slug: 'work-permit'")
})
