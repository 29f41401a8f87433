import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import path from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'

/** What the worker of a test file measured. */
export interface FileTimeline {
  readonly file: string
  readonly ms: number
  /** Of the worker only, without PostgreSQL and the processes that the tests started. */
  readonly cpuMs: number
  /** The time for which the worker waited for timers, sockets and files. */
  readonly idleMs: number
  readonly processes: number
  readonly databases: number
  readonly databaseMs: number
  /** Milliseconds that timers ran, by the place that set them. Some run side by side. */
  readonly timers: Readonly<Record<string, number>>
}

interface RunTimeline {
  readonly wallMs: number
  readonly cores: number
  /** CPU time of the whole machine. */
  readonly busyMs: number
  readonly loadMs: number
  readonly tests: readonly { readonly name: string; readonly ms: number }[]
  readonly files: readonly FileTimeline[]
}

const LISTED = 50
const PLACES = 30

/** A Vitest reporter that writes how the time of a run was spent, from the data of `timeline-setup.ts`. */
export default class TimelineReporter implements Reporter {
  readonly #options: { readonly seen: string; readonly report: string }
  #startedAt = 0
  #busyMs = 0

  constructor(options: { seen: string; report: string }) {
    this.#options = options
  }

  onTestRunStart(): void {
    mkdirSync(path.dirname(this.#options.seen), { recursive: true })
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

/** Formats a Markdown report of how the time of a run was spent. */
function timelineReport(run: RunTimeline): string {
  const { files } = run
  const timers = new Map<string, number>()
  for (const each of files)
    for (const [place, ms] of Object.entries(each.timers)) timers.set(place, (timers.get(place) ?? 0) + ms)
  const workersMs = total(files, 'cpuMs')
  return [
    ...table(
      ['What', 'Figure'],
      [
        ['Wall time', seconds(run.wallMs)],
        ['Cores busy', `${(run.busyMs / run.wallMs).toFixed(2)} of ${run.cores}`],
        ['CPU time of test files, in the workers', seconds(workersMs)],
        [
          'CPU time of everything else: PostgreSQL, started programs, Vitest',
          seconds(run.busyMs - workersMs),
        ],
        ['Test files', `${files.length}, ${seconds(total(files, 'ms'))} added up`],
        ['Workers idle while a test file runs', seconds(total(files, 'idleMs'))],
        ['Loading modules', seconds(run.loadMs)],
        [
          'Databases made',
          `${total(files, 'databases')} by test files, ${seconds(total(files, 'databaseMs'))}`,
        ],
        ['Processes started', String(total(files, 'processes'))],
      ],
    ),
    '',
    ...table(
      ['Timers that ran out, by the place that set them', 'Time'],
      largest([...timers], ([, ms]) => ms, PLACES).map(([place, ms]) => [place, seconds(ms)]),
    ),
    '',
    ...table(
      ['Slowest files', 'Time', 'CPU', 'Idle', 'Databases', 'Processes'],
      largest(files, ({ ms }) => ms, LISTED).map((each) => [
        each.file,
        ...[each.ms, each.cpuMs, each.idleMs].map(seconds),
        String(each.databases),
        String(each.processes),
      ]),
    ),
    '',
    ...table(
      ['Slowest tests', 'Time'],
      largest(run.tests, ({ ms }) => ms, LISTED).map(({ name, ms }) => [name, seconds(ms)]),
    ),
    '',
  ].join('\n')
}

type Sum = 'ms' | 'cpuMs' | 'idleMs' | 'databases' | 'databaseMs' | 'processes'
const total = (files: readonly FileTimeline[], member: Sum) =>
  files.reduce((sum, each) => sum + each[member], 0)

const largest = <T>(entries: readonly T[], size: (entry: T) => number, count: number) =>
  entries.toSorted((a, b) => size(b) - size(a)).slice(0, count)

const table = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  [head, head.map((_, index) => (index === 0 ? '---' : '---:')), ...rows].map(
    (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`,
  )

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
