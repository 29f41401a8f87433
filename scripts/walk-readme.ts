import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { freshShell, killAll, processesIn, readBlock, runBlock, startService } from './readme.ts'

/** The minimum result of each block of the README, besides that its commands succeed. */
const EXPECTED = {
  'ci:journey': {
    output: /with the revoked token: 401$/m,
    answers: [
      'POST /api/agent/register 201',
      'POST /oauth/token 200',
      'GET /api/guides 200',
      'POST /api/waitlist 201',
      'POST /oauth/revoke 200',
    ],
  },
  'ci:second-start': {
    output: /./,
    answers: ['GET /api/agent 200', 'GET /api/guides 200', 'POST /api/waitlist 200', 'DELETE /api/agent 204'],
  },
}
const USUAL_PORT = 8080
const GRACE_MS = 5000

/** Follows README.md in a new clone of the last commit: start, journey, stop, start again, rest of the journey. */
async function walkReadme(root: string): Promise<void> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'plainpath-walk-'))
  const clone = path.join(folder, 'clone')
  const walker = path.join(folder, 'walker')
  const env = freshShell(process.env)
  const interrupted = (signal: NodeJS.Signals) => {
    cleanUp(folder)
    process.exit(128 + os.constants.signals[signal])
  }
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted)
  try {
    execFileSync('git', ['clone', '--quiet', root, clone])
    mkdirSync(walker)
    const port = await freePort(USUAL_PORT)
    const markdown = readFileSync(path.join(clone, 'README.md'), 'utf8')
    for (const marker of ['ci:journey', 'ci:second-start'] as const) {
      await using service = await startService(clone, { port, env })
      console.log(`npm start was ready after ${service.readyAfterSeconds.toFixed(1)} s`)
      await walkBlock(marker, markdown, {
        folder: walker,
        env: port === USUAL_PORT ? env : { ...env, ORIGIN: origin(port) },
      })
      await service.stop()
      console.log('SIGTERM: it ended with exit code 0')
    }
    await expectNothingLeft(folder)
  } finally {
    cleanUp(folder)
  }
}

const origin = (port: number) => `http://localhost:${port}`

async function walkBlock(
  marker: keyof typeof EXPECTED,
  markdown: string,
  where: { folder: string; env: Readonly<Record<string, string>> },
): Promise<void> {
  const { output, answers } = await runBlock(readBlock(markdown, marker), where.folder, where.env)
  for (const answer of answers) console.log(`  ${answer}`)
  const expected = EXPECTED[marker]
  const missing = expected.answers.filter((answer) => !answers.includes(answer))
  const ending = output.slice(-1000)
  if (missing.length > 0)
    throw new Error(`In the block ${marker} nothing answered: ${missing.join(', ')}\n${ending}`)
  if (!expected.output.test(output))
    throw new Error(`The block ${marker} did not print ${expected.output}:\n${ending}`)
}

/** Returns the wanted port, or a free one when it is in use. */
async function freePort(port: number): Promise<number> {
  const server = createServer()
  const { promise, resolve } = Promise.withResolvers<number | undefined>()
  server.once('error', () => resolve(undefined))
  server.listen(port, '127.0.0.1', () => {
    const address = server.address()
    server.close(() => resolve(address !== null && typeof address === 'object' ? address.port : undefined))
  })
  return (await promise) ?? freePort(0)
}

/** @throws {Error} when a process is still running a few seconds after its end was reported */
async function expectNothingLeft(folder: string): Promise<void> {
  const deadline = Date.now() + GRACE_MS
  while (processesIn(folder).length > 0) {
    if (Date.now() > deadline)
      throw new Error(
        `Left running: ${processesIn(folder)
          .map(({ command }) => command)
          .join('; ')}`,
      )
    await setTimeout(100)
  }
}

function cleanUp(folder: string): void {
  killAll(processesIn(folder))
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
}

try {
  await walkReadme(path.resolve(import.meta.dirname, '..'))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
