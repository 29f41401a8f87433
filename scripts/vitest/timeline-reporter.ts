import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import path from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'

/** The measurements of a test file by its worker. */
export interface FileTimeline {
  readonly project: string
  /** The path relative to the root. */
  readonly file: string
  /** The time from the first hook of the file to the last, without loading its modules. */
  readonly ms: number
  /** The CPU time of the worker, without PostgreSQL and the processes that the tests started. */
  readonly cpuMs: number
  /** The CPU time of the ended processes that the tests had started. */
  readonly childCpuMs: number
  /** The time for which the worker waited for timers, sockets and files. */
  readonly idleMs: number
  /** The number of processes that the tests started. */
  readonly processes: number
  /** The number of test databases that were created. */
  readonly databases: number
  /** The time that the creation of these databases took. */
  readonly databaseMs: number
  /** How long timers ran, in milliseconds, by the place that set them. Timers may overlap. */
  readonly timers: Readonly<Record<string, number>>
}

interface RunTimeline {
  readonly wallMs: number
  readonly cores: number
  /** The CPU time that the whole machine used during the run. */
  readonly busyMs: number
  /** The time that the workers needed to load modules, added up. */
  readonly loadMs: number
  readonly tests: readonly { readonly name: string; readonly ms: number }[]
  readonly files: readonly FileTimeline[]
}

const LISTED_ENTRIES = 50
const LISTED_PLACES = 30

/** A Vitest reporter that writes how the time of a run was spent, from the data of `timeline-setup.ts`. */
export default class TimelineReporter implements Reporter {
  readonly #options: { readonly measurementsFile: string; readonly reportFile: string }
  #startedAt = 0
  #busyMs = 0

  constructor(options: { measurementsFile: string; reportFile: string }) {
    this.#options = options
  }

  onTestRunStart(): void {
    mkdirSync(path.dirname(this.#options.measurementsFile), { recursive: true })
    writeFileSync(this.#options.measurementsFile, '')
    this.#startedAt = performance.now()
    this.#busyMs = readBusyMs()
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const { measurementsFile, reportFile } = this.#options
    const lines = readFileSync(measurementsFile, 'utf8').split('\n').filter(Boolean)
    const tests = modules.flatMap((module) =>
      [...module.children.allTests()].map((test) => ({
        name: `${module.project.name} ${test.fullName}`,
        ms: test.diagnostic()?.duration ?? 0,
      })),
    )
    const loadMs = modules.reduce((sum, module) => sum + module.diagnostic().collectDuration, 0)
    const text = renderTimeline({
      wallMs: performance.now() - this.#startedAt,
      cores: cpus().length,
      busyMs: readBusyMs() - this.#busyMs,
      loadMs,
      tests,
      files: lines.map((line) => JSON.parse(line) as FileTimeline),
    })
    writeFileSync(reportFile, text)
    process.stdout.write(`\nWhere the time went: ${reportFile}\n`)
  }
}

/** Reads the CPU time of all cores since the machine started, in milliseconds. */
const readBusyMs = () =>
  cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0)

/** Formats a Markdown report of how the time of a run was spent. */
function renderTimeline(run: RunTimeline): string {
  const { files } = run
  const timers = new Map<string, number>()
  for (const each of files)
    for (const [place, ms] of Object.entries(each.timers)) timers.set(place, (timers.get(place) ?? 0) + ms)
  const workersMs = sumMember(files, 'cpuMs')
  return [
    ...formatTable(
      ['What', 'Figure'],
      [
        ['Wall time', formatSeconds(run.wallMs)],
        ['Cores busy', `${(run.busyMs / run.wallMs).toFixed(2)} of ${run.cores}`],
        ['CPU time of test files, in the workers', formatSeconds(workersMs)],
        ['CPU time of processes that tests started', formatSeconds(sumMember(files, 'childCpuMs'))],
        [
          'CPU time of everything else on the machine: PostgreSQL, Vitest, other programs',
          formatSeconds(run.busyMs - workersMs - sumMember(files, 'childCpuMs')),
        ],
        ['Test files', `${files.length}, ${formatSeconds(sumMember(files, 'ms'))} added up`],
        ['Workers idle while a test file runs', formatSeconds(sumMember(files, 'idleMs'))],
        ['Loading modules', formatSeconds(run.loadMs)],
        [
          'Databases made',
          `${sumMember(files, 'databases')} by test files, ${formatSeconds(sumMember(files, 'databaseMs'))}`,
        ],
        ['Processes started', String(sumMember(files, 'processes'))],
      ],
    ),
    '',
    ...formatTable(
      ['Suite', 'Files', 'Time', 'CPU', 'CPU of started processes', 'Idle', 'Databases'],
      [...Map.groupBy(files, ({ project }) => project)].map(([project, projectFiles]) => [
        project,
        String(projectFiles.length),
        ...(['ms', 'cpuMs', 'childCpuMs', 'idleMs'] as const).map((member) =>
          formatSeconds(sumMember(projectFiles, member)),
        ),
        String(sumMember(projectFiles, 'databases')),
      ]),
    ),
    '',
    ...formatTable(
      ['Timers that ran out, by the place that set them', 'Time'],
      selectLargest([...timers], ([, ms]) => ms, LISTED_PLACES).map(([place, ms]) => [
        place,
        formatSeconds(ms),
      ]),
    ),
    '',
    ...formatTable(
      ['Slowest files', 'Time', 'CPU', 'CPU of started processes', 'Idle', 'Databases', 'Processes'],
      selectLargest(files, ({ ms }) => ms, LISTED_ENTRIES).map((each) => [
        `${each.project} ${each.file}`,
        ...[each.ms, each.cpuMs, each.childCpuMs, each.idleMs].map(formatSeconds),
        String(each.databases),
        String(each.processes),
      ]),
    ),
    '',
    ...formatTable(
      ['Slowest tests', 'Time'],
      selectLargest(run.tests, ({ ms }) => ms, LISTED_ENTRIES).map(({ name, ms }) => [
        name,
        formatSeconds(ms),
      ]),
    ),
    '',
  ].join('\n')
}

type SummedMember = 'ms' | 'cpuMs' | 'childCpuMs' | 'idleMs' | 'databases' | 'databaseMs' | 'processes'
const sumMember = (files: readonly FileTimeline[], member: SummedMember) =>
  files.reduce((sum, each) => sum + each[member], 0)

const selectLargest = <T>(entries: readonly T[], size: (entry: T) => number, count: number) =>
  entries.toSorted((a, b) => size(b) - size(a)).slice(0, count)

const formatTable = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  [head, head.map((_, index) => (index === 0 ? '---' : '---:')), ...rows].map(
    (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`,
  )

const formatSeconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
