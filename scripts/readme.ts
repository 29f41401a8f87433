import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'

/**
 * Takes a block of commands out of Markdown, so that what is tested is what people copy.
 *
 * @param marker the text of the HTML comment that stands right before the block.
 * @throws when the comment is missing, stands there twice, or is not followed by a fenced block.
 */
export function readBlock(markdown: string, marker: string): string {
  const comment = `<!-- ${marker} -->\n`
  const [, after, ...more] = markdown.split(comment)
  if (after === undefined) throw new Error(`README.md has no comment ${comment.trim()}`)
  if (more.length > 0) throw new Error(`README.md has the comment ${comment.trim()} more than once`)
  const block = /^```(?:bash|sh)\n(.*?)^```$/ms.exec(after)
  if (block?.[1] === undefined || block.index !== 0)
    throw new Error(`README.md has no block of commands right after ${comment.trim()}`)
  return block[1]
}

const OURS = /^(npm_|AUTH_|RESOURCE_|TEST_|NODE|INIT_CWD$|PORT$|ORIGIN$|DATA_DIR$|LIMITS_FACTOR$|TURBO_)/

/** The environment of somebody who opens a shell: without what npm and the bootstrap have added, and no setting of ours. */
export function freshShell(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const folders = env['PATH']?.split(path.delimiter) ?? []
  const kept = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !OURS.test(entry[0]),
  )
  return {
    ...Object.fromEntries(kept),
    PATH: folders.filter((folder) => !/node_modules\/\.bin$|node-gyp-bin$/.test(folder)).join(path.delimiter),
  }
}

export interface BlockRun {
  /** What the commands printed. */
  readonly output: string
  /** `POST /oauth/token 200`, one for each call of curl that has no `-w` of its own. */
  readonly answers: readonly string[]
}

const BLOCK_LIMIT_MS = 60_000
const REPORT_EACH_CALL = 'write-out = "%{stderr}\\ncurl: %{method} %{url} %{http_code}\\n"\n'

/**
 * Runs the commands of a block, as they stand, in `folder`.
 *
 * @throws when a command fails or they take longer than a minute.
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
    const calls = Array.from(stderr.matchAll(/^curl: (\S+) (\S+) (\d{3})$/gm))
    resolve({
      output,
      answers: calls.map(([, method, url = '', status]) => `${method} ${new URL(url).pathname} ${status}`),
    })
  })
  return await promise
}

/** A first start downloads everything. */
const READY_SECONDS = 300
const STOP_SECONDS = 30

export interface Service extends AsyncDisposable {
  /** How long it took from the command to `GET /api/health` with 200. */
  readonly readyAfterSeconds: number
  /** Sends SIGTERM to npm. @throws when the service does not end with exit code 0 in time. */
  stop(): Promise<void>
}

/** Gives `npm start` in a checkout. @throws when it is not ready in time, with all it said. */
export async function startService(
  checkout: string,
  options: { port: number; env: Readonly<Record<string, string>> },
): Promise<Service> {
  const env = { ...options.env, PORT: String(options.port) }
  const npm = spawn('npm', ['start'], { cwd: checkout, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [npm.stdout, npm.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (said += text))
  const startedAt = performance.now()
  const seconds = () => (performance.now() - startedAt) / 1000

  while (!(await isReady(options.port))) {
    if (npm.exitCode === null && npm.signalCode === null && seconds() < READY_SECONDS) {
      await setTimeout(100)
      continue
    }
    npm.kill('SIGTERM')
    throw new Error(`npm start was not ready after ${seconds().toFixed(1)} s. It said:\n${said}`)
  }
  return {
    readyAfterSeconds: seconds(),
    async stop() {
      npm.kill('SIGTERM')
      const code = await exitCode(npm)
      if (code !== 0) throw new Error(`npm start ended with ${code} after SIGTERM. It said:\n${said}`)
    },
    async [Symbol.asyncDispose]() {
      npm.kill('SIGTERM')
      await exitCode(npm)
    },
  }
}

async function isReady(port: number): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/api/health`, { signal: AbortSignal.timeout(1000) })
    await response.body?.cancel()
    return response.status === 200
  } catch {
    return false
  }
}

async function exitCode(child: ChildProcess): Promise<number | string> {
  if (child.exitCode === null && child.signalCode === null) {
    const inTime = once(child, 'exit', { signal: AbortSignal.timeout(STOP_SECONDS * 1000) }).catch(
      () => 'late',
    )
    if ((await inTime) === 'late') {
      child.kill('SIGKILL')
      return `no answer within ${STOP_SECONDS} s`
    }
  }
  return child.exitCode ?? String(child.signalCode)
}

export interface Process {
  readonly pid: number
  readonly command: string
}

/** The processes whose command line names a folder: what was started from it, or on it. */
export function processesIn(folder: string): Process[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map((name) => ({ pid: Number(name), command: commandOf(name) }))
    .filter(({ command }) => command.includes(folder))
}

export function killAll(processes: readonly Process[]): void {
  for (const { pid } of processes) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
  }
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
  } catch {
    return ''
  }
}
