import { readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import type { Reporter, TestModule } from 'vitest/node'
import { type FileTimeline, timelineReport } from './timeline-report.ts'

/** A Vitest reporter that writes where the time of the run went, from what `timeline-setup.ts` saw. */
export default class TimelineReporter implements Reporter {
  readonly #options: { readonly seen: string; readonly report: string }
  #startedAt = 0
  #busyMs = 0

  constructor(options: { seen: string; report: string }) {
    this.#options = options
  }

  onTestRunStart(): void {
    writeFileSync(this.#options.seen, '')
    this.#startedAt = performance.now()
    this.#busyMs = busyMs()
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const { seen, report } = this.#options
    const lines = readFileSync(seen, 'utf8').split('\n').filter(Boolean)
    const tests = modules.flatMap((module) =>
      [...module.children.allTests()].map((test) => ({
        name: `${module.project.name} ${test.fullName}`,
        ms: test.diagnostic()?.duration ?? 0,
      })),
    )
    const loadMs = modules.reduce((sum, module) => sum + module.diagnostic().collectDuration, 0)
    const text = timelineReport({
      wallMs: performance.now() - this.#startedAt,
      cores: cpus().length,
      busyMs: busyMs() - this.#busyMs,
      loadMs,
      tests,
      files: lines.map((line) => JSON.parse(line) as FileTimeline),
    })
    writeFileSync(report, text)
    process.stdout.write(`\nWhere the time went: ${report}\n`)
  }
}

/** CPU time of all cores since the machine started. */
const busyMs = () =>
  cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0)
