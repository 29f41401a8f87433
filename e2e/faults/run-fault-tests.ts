import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { z } from 'zod'
import { FAULT_NUMBERS, type FaultNumber } from './fault-numbers.ts'
import { findFaultTests } from './fault-tests.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const VITEST = 'node_modules/vitest/vitest.mjs'
/** The time-out for a fault's tests in one file. */
const TIMEOUT_MS = 300_000

/** The outcome of one test of a fault. */
export interface TestResult {
  readonly number: FaultNumber
  readonly file: string
  readonly title: string
  /** A skipped test counts as failed. A test that is absent from the report counts as not run. */
  readonly outcome: 'passed' | 'failed' | 'not run'
  /** Of a failed test: the first line of its error, or its status, such as `skipped`. */
  readonly reason?: string
}

/** The output of Vitest's reporter `json`. */
const Report = z.object({
  testResults: z.array(
    z.object({
      assertionResults: z.array(
        z.object({ title: z.string(), status: z.string(), failureMessages: z.array(z.string()).default([]) }),
      ),
    }),
  ),
})
/** All test runs in a report. */
export type TestRuns = z.input<typeof Report>['testResults'][number]['assertionResults']

/** Lists the numbers of faults that no scenario injects. `npm run faults` runs their tests instead. */
export function listNumbersWithoutScenario(
  scenarios: readonly { numbers: readonly FaultNumber[] }[],
): FaultNumber[] {
  const inScenarios = new Set(scenarios.flatMap(({ numbers }) => numbers))
  return (Object.keys(FAULT_NUMBERS) as FaultNumber[]).filter((number) => !inScenarios.has(number))
}

/**
 * Runs the tests of a fault, file by file. Expects each of the fault's tests to have the number in its title
 * (`catalogue.test.ts` checks this).
 */
export async function runFaultTests(number: FaultNumber): Promise<TestResult[]> {
  const results: TestResult[] = []
  for (const [file, tests] of Map.groupBy(findFaultTests().get(number) ?? [], (each) => each.file)) {
    const runs = await runFile(file, number)
    for (const { title } of tests) results.push({ number, file, title, ...findOutcome(runs, title) })
  }
  return results
}

/**
 * Finds the outcome of a test from the runs whose titles contain `title`. All of them must pass, since a parametrized
 * suite runs the test several times.
 */
export function findOutcome(runs: TestRuns, title: string): Pick<TestResult, 'outcome' | 'reason'> {
  const matches = runs.filter((each) => each.title.includes(title))
  if (matches.length === 0) return { outcome: 'not run' }
  const failed = matches.find(({ status }) => status !== 'passed')
  if (!failed) return { outcome: 'passed' }
  return { outcome: 'failed', reason: failed.failureMessages?.[0]?.split('\n')[0] ?? failed.status }
}

async function runFile(file: string, number: FaultNumber): Promise<TestRuns> {
  await using resources = new AsyncDisposableStack()
  const folder = await mkdtemp(path.join(tmpdir(), 'plainpath-fault-tests-'))
  resources.defer(() => rm(folder, { recursive: true, force: true }))
  const report = path.join(folder, 'report.json')
  const config = file.startsWith('e2e/system/') ? ['--config', 'vitest.system.config.ts'] : []
  const options = ['--reporter=json', `--outputFile=${report}`, '--testNamePattern', number]
  const args = [VITEST, 'run', ...config, ...options, file]
  const testRun = promisify(execFile)(process.execPath, args, { cwd: ROOT, timeout: TIMEOUT_MS })
  // Failed tests are in the report. No report means a time-out or crash; its tests then count as not run.
  await testRun.catch(() => undefined)
  const text = await readFile(report, 'utf8').catch(() => undefined)
  if (text === undefined) return []
  return parseVitestReport(text)
}

/** Parses the test runs in the output of Vitest's reporter `json`. */
export const parseVitestReport = (text: string): TestRuns =>
  Report.parse(JSON.parse(text)).testResults.flatMap((each) => each.assertionResults)
