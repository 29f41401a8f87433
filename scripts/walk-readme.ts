import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  createShellEnvironment,
  killAll,
  listProcesses,
  readBlock,
  runBlock,
  startService,
} from './readme.ts'

/**
 * The minimum output and responses of each block of the README. All commands must also succeed. The second block uses the agent
 * and the data of the first, so its waitlist entry exists already (200 instead of 201).
 */
const EXPECTED = {
  'ci:journey': {
    output: /with the revoked token: 401$/m,
    responses: [
      'POST /api/agent/register 201',
      'POST /oauth/token 200',
      'GET /api/guides 200',
      'POST /api/waitlist 201',
      'POST /oauth/revoke 200',
    ],
  },
  'ci:second-start': {
    output: /./,
    responses: [
      'GET /api/agent 200',
      'GET /api/guides 200',
      'POST /api/waitlist 200',
      'DELETE /api/agent 204',
    ],
  },
}
/** The port that the commands of the README use unless ORIGIN names another. */
const USUAL_PORT = 8080
/** How long processes may still run after the service has stopped. */
const GRACE_MS = 5000

/** Follows README.md in a new clone of the last commit. Starts the service for each block of `EXPECTED`, runs the block, and stops the service. */
async function walkReadme(root: string): Promise<void> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'plainpath-walk-'))
  // If this process is root, the database server runs as another user, which must be able to enter this folder.
  chmodSync(folder, 0o755)
  const clone = path.join(folder, 'clone')
  const workingFolder = path.join(folder, 'walker')
  const env = createShellEnvironment(process.env)
  const cleanUpAndExit = (signal: NodeJS.Signals) => {
    cleanUp(folder)
    process.exit(128 + os.constants.signals[signal])
  }
  process.once('SIGINT', cleanUpAndExit).once('SIGTERM', cleanUpAndExit)
  try {
    execFileSync('git', ['clone', '--quiet', root, clone])
    mkdirSync(workingFolder)
    const port = await findFreePort(USUAL_PORT)
    const markdown = readFileSync(path.join(clone, 'README.md'), 'utf8')
    for (const marker of ['ci:journey', 'ci:second-start'] as const) {
      await using service = await startService(clone, { port, env })
      console.log(`npm start was ready after ${service.readyAfterSeconds.toFixed(1)} s`)
      await walkBlock(marker, markdown, {
        folder: workingFolder,
        env: port === USUAL_PORT ? env : { ...env, ORIGIN: `http://localhost:${port}` },
      })
      await service.stop()
      console.log('SIGTERM: it exited with code 0')
    }
    await waitUntilNothingRuns(folder)
  } finally {
    cleanUp(folder)
  }
}

/**
 * Runs a block of the README, and compares its result with `EXPECTED`.
 *
 * @throws {Error} if a command fails, or if an expected response or the expected output is missing
 */
async function walkBlock(
  marker: keyof typeof EXPECTED,
  markdown: string,
  { folder, env }: { folder: string; env: Readonly<Record<string, string>> },
): Promise<void> {
  const { output, responses } = await runBlock(readBlock(markdown, marker), folder, env)
  for (const response of responses) console.log(`  ${response}`)
  const expected = EXPECTED[marker]
  const missingResponses = expected.responses.filter((response) => !responses.includes(response))
  const outputTail = output.slice(-1000)
  if (missingResponses.length > 0)
    throw new Error(`In the block ${marker} nothing answered: ${missingResponses.join(', ')}\n${outputTail}`)
  if (!expected.output.test(output))
    throw new Error(`The block ${marker} did not print ${expected.output}:\n${outputTail}`)
}

/** Returns the given port if it is free, and any free port otherwise. */
async function findFreePort(port: number): Promise<number> {
  const server = createServer()
  const { promise, resolve } = Promise.withResolvers<number | undefined>()
  server.once('error', () => resolve(undefined))
  server.listen(port, '127.0.0.1', () => {
    const address = server.address()
    server.close(() => resolve(address !== null && typeof address === 'object' ? address.port : undefined))
  })
  return (await promise) ?? findFreePort(0)
}

/** Waits until no process with the folder in its command line runs. @throws {Error} if one still runs after five seconds */
async function waitUntilNothingRuns(folder: string): Promise<void> {
  const deadline = Date.now() + GRACE_MS
  while (listProcesses(folder).length > 0) {
    if (Date.now() > deadline) {
      const commands = listProcesses(folder).map(({ command }) => command)
      throw new Error(`Left running: ${commands.join('; ')}`)
    }
    await sleep(100)
  }
}

/** Kills all processes of the walk and deletes the folder. Deletes again while a killed process may still be writing. */
function cleanUp(folder: string): void {
  killAll(listProcesses(folder))
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
}

try {
  await walkReadme(path.resolve(import.meta.dirname, '..'))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
