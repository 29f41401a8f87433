import { Redis } from 'ioredis'
import type { Reporter, SerializedError, TestModule, TestProject, TestSuite, Vitest } from 'vitest/node'

const REDIS_TIMEOUT_MS = 1_000

interface Counts {
  passed: number
  failed: number
  skipped: number
}

/**
 * A Vitest reporter that prints a summary at the end of a run: the results and servers of each project, and what the run left out
 * because a server is not configured. The summary ends with the totals, `N passed, N failed`. An error outside a test, such as a
 * file that does not load, counts as one failure. If the exit code is not 0, the totals include at least one failure.
 */
export default class RunSummaryReporter implements Reporter {
  #vitest: Vitest | undefined
  #detailLines: string[] = []
  #passed = 0
  #failed = 0

  onInit(vitest: Vitest): void {
    this.#vitest = vitest
    // The summary must come last, but Vitest prints more lines after the last reporter has finished.
    process.once('exit', (exitCode) => {
      const failed = exitCode === 0 ? this.#failed : Math.max(this.#failed, 1)
      const lines = ['', ...this.#detailLines, `${this.#passed} passed, ${failed} failed`, '']
      process.stdout.write(lines.join('\n'))
    })
  }

  async onTestRunEnd(
    modules: readonly TestModule[],
    unhandledErrors: readonly SerializedError[],
  ): Promise<void> {
    const projects = this.#vitest?.projects ?? []
    const total = sumCounts(modules.map(countResults))
    this.#passed = total.passed
    this.#failed = total.failed + unhandledErrors.length
    this.#detailLines = [
      ...(await Promise.all(projects.map((project) => formatProject(project, modules)))),
      ...formatMissingServers(),
    ]
  }
}

/** Formats the line of a project: its results, and the servers that its tests may use. */
async function formatProject(project: TestProject, modules: readonly TestModule[]): Promise<string> {
  const { passed, failed, skipped } = sumCounts(
    modules.filter((module) => module.project === project).map(countResults),
  )
  const { testPostgres, redisUrl } = project.getProvidedContext()
  const servers = [
    ...(testPostgres ? [`PostgreSQL ${testPostgres.version} (${testPostgres.source})`] : []),
    ...(redisUrl
      ? [`Redis ${(await readRedisVersion(redisUrl)) ?? 'of unknown version'} (TEST_REDIS_URL)`]
      : []),
  ].join(', ')
  const skippedPart = skipped > 0 ? `, ${skipped} skipped` : ''
  return `${project.name}: ${passed} passed, ${failed} failed${skippedPart}, on ${servers || 'no server'}`
}

/** Formats a line for each test server that is not configured. Each line says what the run leaves out without that server. */
function formatMissingServers(): string[] {
  const { TEST_POSTGRES_URL, TEST_REDIS_URL } = process.env
  return [
    ...(TEST_POSTGRES_URL
      ? []
      : ['TEST_POSTGRES_URL is not set: PostgreSQL tests run on the embedded server only']),
    ...(TEST_REDIS_URL ? [] : ['TEST_REDIS_URL is not set: *.redis.test.ts files do not run']),
  ]
}

/** Counts the results of a test file. A test that is still pending when the run ends counts as failed. */
function countResults(module: TestModule): Counts {
  const counts = { passed: 0, failed: countOwnFailures(module), skipped: 0 }
  for (const suite of module.children.allSuites()) counts.failed += countOwnFailures(suite)
  for (const test of module.children.allTests()) {
    const { state } = test.result()
    counts[state === 'pending' ? 'failed' : state] += 1
  }
  return counts
}

/** Returns 1 if the suite itself failed, in a hook or while its file was loaded. Failures of its tests are not included. */
const countOwnFailures = (suite: TestModule | TestSuite) => (suite.errors().length > 0 ? 1 : 0)

function sumCounts(counts: readonly Counts[]): Counts {
  return counts.reduce(
    (sum, { passed, failed, skipped }) => ({
      passed: sum.passed + passed,
      failed: sum.failed + failed,
      skipped: sum.skipped + skipped,
    }),
    { passed: 0, failed: 0, skipped: 0 },
  )
}

/**
 * Reads the version of a Redis server.
 *
 * @returns undefined if the server does not respond within a second, or reports no version
 */
async function readRedisVersion(url: string): Promise<string | undefined> {
  const redis = new Redis(url, {
    connectTimeout: REDIS_TIMEOUT_MS,
    commandTimeout: REDIS_TIMEOUT_MS,
    // No second attempt to connect.
    retryStrategy: () => null,
  })
  // `info` rejects after the same error. Without a listener, ioredis would print it.
  redis.on('error', () => undefined)
  try {
    return /redis_version:(\S+)/.exec(await redis.info('server'))?.[1]
  } catch {
    return undefined
  } finally {
    redis.disconnect()
  }
}
