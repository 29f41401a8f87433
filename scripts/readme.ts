import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Reads a block of commands from Markdown, so that the test runs the commands that people copy.
 *
 * @param marker the text of the HTML comment before the block
 * @throws {Error} when the comment is missing, occurs twice, or is not followed by a fenced block
 */
export function readBlock(markdown: string, marker: string): string {
  const comment = `<!-- ${marker} -->\n`
  const [, afterComment, ...furtherParts] = markdown.split(comment)
  if (afterComment === undefined) throw new Error(`README.md has no comment ${comment.trim()}`)
  if (furtherParts.length > 0) throw new Error(`README.md has the comment ${comment.trim()} more than once`)
  const block = /^```\w+\n(.*?)^```$/ms.exec(afterComment)
  if (block?.[1] === undefined || block.index !== 0)
    throw new Error(`README.md has no block of commands right after ${comment.trim()}`)
  return block[1]
}

/** The variables that npm, the bootstrap and our settings use. */
const OWN_VARIABLES =
  /^(npm_|AUTH_|RESOURCE_|TEST_|NODE|INIT_CWD$|PORT$|ORIGIN$|DATA_DIR$|LIMITS_FACTOR$|TURBO_)/

/** Returns the environment of a new shell, without the variables of npm, the bootstrap and our settings. */
export function createShellEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const folders = env['PATH']?.split(path.delimiter) ?? []
  const inherited = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !OWN_VARIABLES.test(entry[0]),
  )
  return {
    ...Object.fromEntries(inherited),
    PATH: folders.filter((folder) => !/node_modules\/\.bin$|node-gyp-bin$/.test(folder)).join(path.delimiter),
  }
}

export interface BlockRun {
  /** The output of the commands. */
  readonly output: string
  /** The responses that curl received, such as `POST /oauth/token 200`, except those of calls with their own `-w`. */
  readonly responses: readonly string[]
}

const BLOCK_LIMIT_MS = 60_000
/** A setting of curl, by which each call prints its method, URL and status to stderr. */
const REPORT_EACH_CALL = 'write-out = "%{stderr}\\ncurl: %{method} %{url} %{http_code}\\n"\n'

/**
 * Runs the commands of a block unchanged, in `folder`.
 *
 * @throws {Error} when a command fails, or after a minute
 */
export async function runBlock(
  block: string,
  folder: string,
  env: Readonly<Record<string, string>>,
): Promise<BlockRun> {
  writeFileSync(path.join(folder, '.curlrc'), REPORT_EACH_CALL)
  const { promise, resolve, reject } = Promise.withResolvers<BlockRun>()
  const options = { cwd: folder, env: { ...env, CURL_HOME: folder }, timeout: BLOCK_LIMIT_MS }
  execFile('bash', ['-euo', 'pipefail', '-c', block], options, (error, output, stderr) => {
    if (error) {
      const reason = error.killed ? `not done after ${BLOCK_LIMIT_MS / 1000} s` : `exit code ${error.code}`
      reject(new Error(`The commands failed (${reason}).\n${output}\n${stderr}`, { cause: error }))
      return
    }
    const curlCalls = Array.from(stderr.matchAll(/^curl: (\S+) (\S+) (\d{3})$/gm))
    resolve({
      output,
      responses: curlCalls.map(
        ([, method, url = '', status]) => `${method} ${new URL(url).pathname} ${status}`,
      ),
    })
  })
  return await promise
}

/** The time limit of a start. The first start downloads all dependencies. */
const READY_SECONDS = 300
/** The time from SIGTERM until the service is killed. */
const STOP_SECONDS = 30

export interface Service extends AsyncDisposable {
  /** The time from the command to a 200 of `GET /api/health`. */
  readonly readyAfterSeconds: number
  /**
   * Sends SIGTERM to npm.
   *
   * @throws {Error} when the service does not end in time with exit code 0
   */
  stop(): Promise<void>
}

/**
 * Runs `npm start` in a checkout.
 *
 * @throws {Error} with the output of npm, if npm ends or the service is not ready in time
 */
export async function startService(
  checkout: string,
  options: { port: number; env: Readonly<Record<string, string>> },
): Promise<Service> {
  const env = { ...options.env, PORT: String(options.port) }
  const npm = spawn('npm', ['start'], { cwd: checkout, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [npm.stdout, npm.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  const startedAt = performance.now()
  const getElapsedSeconds = () => (performance.now() - startedAt) / 1000

  while (!(await isReady(options.port))) {
    if (npm.exitCode === null && npm.signalCode === null && getElapsedSeconds() < READY_SECONDS) {
      await sleep(100)
      continue
    }
    npm.kill('SIGTERM')
    throw new Error(`npm start was not ready after ${getElapsedSeconds().toFixed(1)} s. It said:\n${output}`)
  }
  return {
    readyAfterSeconds: getElapsedSeconds(),
    async stop() {
      npm.kill('SIGTERM')
      const code = await awaitExitCode(npm)
      if (code !== 0) throw new Error(`npm start exited with code ${code} after SIGTERM. It said:\n${output}`)
    },
    async [Symbol.asyncDispose]() {
      npm.kill('SIGTERM')
      await awaitExitCode(npm)
    },
  }
}

async function isReady(port: number): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/api/health`, { signal: AbortSignal.timeout(1000) })
    await response.body?.cancel()
    return response.status === 200
  } catch {
    // Nothing listens on the port yet, or the response took longer than a second.
    return false
  }
}

/** Waits until a process has ended. Returns its exit code or signal, or a description if it was killed for being too slow. */
async function awaitExitCode(child: ChildProcess): Promise<number | string> {
  if (child.exitCode === null && child.signalCode === null) {
    const exit = once(child, 'exit', { signal: AbortSignal.timeout(STOP_SECONDS * 1000) }).catch(() => 'late')
    if ((await exit) === 'late') {
      child.kill('SIGKILL')
      return `no answer within ${STOP_SECONDS} s`
    }
  }
  return child.exitCode ?? String(child.signalCode)
}

export interface RunningProcess {
  readonly pid: number
  readonly command: string
}

/** Lists the processes whose command line contains the path of a folder, except this process. */
export function listProcesses(folder: string): RunningProcess[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map((name) => ({ pid: Number(name), command: readCommandLine(name) }))
    .filter(({ command }) => command.includes(folder))
}

/** Sends SIGKILL to each process that still runs. */
export function killAll(processes: readonly RunningProcess[]): void {
  for (const { pid } of processes) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // The process has already ended.
    }
  }
}

/** Returns the command line of a process, with its arguments separated by spaces; '' if the process has ended. */
function readCommandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
  } catch {
    return ''
  }
}
