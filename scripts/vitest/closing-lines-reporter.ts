import { Redis } from 'ioredis'
import type { Reporter, SerializedError, TestModule, TestProject, TestSuite, Vitest } from 'vitest/node'

const REDIS_TIMEOUT_MS = 1_000

interface Counts {
  passed: number
  failed: number
  skipped: number
}

/**
 * A Vitest reporter that ends a run with the servers of each project and, as the last line, `N passed, N failed`.
 * A failure outside a test, such as a file that does not load, counts as one. A run that fails has at least one failure.
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

/** Returns the version of the server, or that it does not respond within a second. */
async function redisVersion(url: string): Promise<string> {
  const redis = new Redis(url, {
    connectTimeout: REDIS_TIMEOUT_MS,
    commandTimeout: REDIS_TIMEOUT_MS,
    retryStrategy: () => null,
  })
  redis.on('error', () => undefined)
  try {
    return /redis_version:(\S+)/.exec(await redis.info('server'))?.[1] ?? ''
  } catch {
    return 'that does not tell its version'
  } finally {
    redis.disconnect()
  }
}
