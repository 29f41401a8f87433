import { connect } from 'node:net'
import type { Reporter, SerializedError, TestModule, TestProject, TestSuite, Vitest } from 'vitest/node'

const REDIS_TIMEOUT_MS = 1_000

interface Counts {
  passed: number
  failed: number
  skipped: number
}

/**
 * A vitest reporter that ends a run with what ran against what and, as the very last line, `N passed, N failed`.
 * What fails outside a test, such as a file that does not load, counts as one failure; a run that fails has at least one.
 */
export default class ClosingLinesReporter implements Reporter {
  #vitest: Vitest | undefined
  #lines: string[] = []
  #passed = 0
  #failed = 0

  onInit(vitest: Vitest): void {
    this.#vitest = vitest
    // Vitest prints after its last reporter; nothing prints after this.
    process.once('exit', (exitCode) => {
      const failed = exitCode === 0 ? this.#failed : Math.max(this.#failed, 1)
      const lines = ['', ...this.#lines, `${this.#passed} passed, ${failed} failed`, '']
      process.stdout.write(lines.join('\n'))
    })
  }

  async onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): Promise<void> {
    const projects = this.#vitest?.projects ?? []
    const total = add(modules.map(countModule))
    this.#passed = total.passed
    this.#failed = total.failed + unhandled.length
    this.#lines = [
      ...(await Promise.all(projects.map((project) => projectLine(project, modules)))),
      ...['TEST_POSTGRES_URL', 'TEST_REDIS_URL'].flatMap(notSetLine),
    ]
  }
}

async function projectLine(project: TestProject, modules: readonly TestModule[]): Promise<string> {
  const { passed, failed, skipped } = add(
    modules.filter((module) => module.project === project).map(countModule),
  )
  const { testPostgres, redisUrl } = project.getProvidedContext()
  const against = [
    ...(testPostgres ? [`PostgreSQL ${testPostgres.version} (${testPostgres.origin})`] : []),
    ...(redisUrl ? [`Redis ${await redisVersion(redisUrl)} (TEST_REDIS_URL)`] : []),
  ].join(', ')
  const notRun = skipped > 0 ? `, ${skipped} skipped` : ''
  return `${project.name}: ${passed} passed, ${failed} failed${notRun}, on ${against || 'no server'}`
}

function notSetLine(name: string): string[] {
  return process.env[name] ? [] : [`${name} is not set: no test ran on such a server`]
}

function countModule(module: TestModule): Counts {
  const counts = { passed: 0, failed: ownFailures(module), skipped: 0 }
  for (const suite of module.children.allSuites()) counts.failed += ownFailures(suite)
  for (const test of module.children.allTests()) {
    const { state } = test.result()
    counts[state === 'pending' ? 'failed' : state] += 1
  }
  return counts
}

/** A hook that failed, or a file that did not load. */
const ownFailures = (suite: TestModule | TestSuite) => (suite.errors().length > 0 ? 1 : 0)

function add(counts: readonly Counts[]): Counts {
  return counts.reduce(
    (sum, { passed, failed, skipped }) => ({
      passed: sum.passed + passed,
      failed: sum.failed + failed,
      skipped: sum.skipped + skipped,
    }),
    { passed: 0, failed: 0, skipped: 0 },
  )
}

/** @returns the version the server tells, or that it does not answer within a second. */
function redisVersion(url: string): Promise<string> {
  const { hostname, port, username, password } = new URL(url)
  const login = password
    ? command('AUTH', decodeURIComponent(username || 'default'), decodeURIComponent(password))
    : ''
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect({
      host: hostname || '127.0.0.1',
      port: Number(port) || 6379,
      timeout: REDIS_TIMEOUT_MS,
    })
    const end = (version: string) => {
      socket.destroy()
      resolve(version)
    }
    socket.setEncoding('utf8')
    socket.write(login + command('INFO', 'server'))
    socket.on('data', (text: string) => {
      answer += text
      const version = /redis_version:(\S+)\r\n/.exec(answer)?.[1]
      if (version) end(version)
    })
    for (const silence of ['error', 'timeout', 'close'])
      socket.on(silence, () => end('that does not tell its version'))
  })
}

const command = (...words: string[]) =>
  `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`
