import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'

export interface BlockRun {
  /** What the commands printed. */
  readonly output: string
  /** `POST /oauth/token 200`, one for each call of curl that has no `-w` of its own. */
  readonly answers: readonly string[]
}

const LIMIT_MS = 60_000
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
  const options = { cwd: folder, env: { ...env, CURL_HOME: folder }, timeout: LIMIT_MS }
  execFile('bash', ['-euo', 'pipefail', '-c', block], options, (error, output, stderr) => {
    if (error) {
      const reason = error.killed ? `not done after ${LIMIT_MS / 1000} s` : `exit code ${error.code}`
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
