import path from 'node:path'
import type { Reporter, TestModule, Vitest } from 'vitest/node'

export interface FileTime {
  /** The name of the project, and the path of the file relative to the root. */
  readonly file: string
  readonly ms: number
}

const LISTED_FILES = 10

/**
 * A Vitest reporter that lists the slowest files of a run of more than ten files. If `maxShare` is given, a run of all files fails
 * when one takes more than that share of the total time. The bound is a share because machines differ.
 */
export default class SlowFilesReporter implements Reporter {
  readonly #maxShare: number | undefined
  #vitest: Vitest | undefined

  constructor({ maxShare }: { maxShare?: number } = {}) {
    this.#maxShare = maxShare
  }

  onInit(vitest: Vitest): void {
    this.#vitest = vitest
  }

  async onTestRunEnd(modules: readonly TestModule[]): Promise<void> {
    const vitest = this.#vitest
    if (!vitest || modules.length <= LISTED_FILES) return
    const files = modules.map((module) => ({
      file: `${module.project.name} ${path.relative(vitest.config.root, module.moduleId)}`,
      ms: measureFile(module),
    }))
    process.stdout.write(`\n${listSlowestFiles(files, LISTED_FILES).join('\n')}\n`)
    if (this.#maxShare === undefined || !(await isWholeRun(vitest, modules))) return
    const violations = listFilesOverShare(files, this.#maxShare)
    for (const violation of violations) process.stdout.write(`FAILED: ${violation}\n`)
    if (violations.length > 0) process.exitCode = 1
  }
}

/** Returns the time to set up, load and run a file, in milliseconds. */
function measureFile(module: TestModule): number {
  const { setupDuration, collectDuration, duration } = module.diagnostic()
  return setupDuration + collectDuration + duration
}

/** Returns whether a run has every test file and no filter by project or by title. */
async function isWholeRun(vitest: Vitest, modules: readonly TestModule[]): Promise<boolean> {
  if (vitest.config.project.length > 0 || vitest.config.testNamePattern !== undefined) return false
  return (await vitest.globTestSpecifications()).length === modules.length
}

/** Formats a line for each of the slowest files: seconds, share, file. */
export function listSlowestFiles(files: readonly FileTime[], count: number): string[] {
  const totalMs = sumMs(files)
  const slowest = files.toSorted((a, b) => b.ms - a.ms).slice(0, count)
  return [
    `The ${slowest.length} slowest of ${files.length} test files, of ${formatSeconds(totalMs)} s in all:`,
    ...slowest.map(
      ({ file, ms }) =>
        `${formatSeconds(ms).padStart(7)} s ${formatPercent(ms / totalMs).padStart(6)}  ${file}`,
    ),
  ]
}

/** Formats a line for each file that takes more than `maxShare` of the total time. */
export function listFilesOverShare(files: readonly FileTime[], maxShare: number): string[] {
  const totalMs = sumMs(files)
  return files
    .filter(({ ms }) => ms > maxShare * totalMs)
    .map(
      ({ file, ms }) =>
        `${file} takes ${formatPercent(ms / totalMs)} of the time of all test files, and ${formatPercent(maxShare)} is the most: split it, or remove what it waits for`,
    )
}

const sumMs = (files: readonly FileTime[]) => files.reduce((total, { ms }) => total + ms, 0)
const formatSeconds = (ms: number) => (ms / 1_000).toFixed(1)
const formatPercent = (share: number) => `${(100 * share).toFixed(1)} %`
