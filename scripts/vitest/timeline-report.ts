/** What one test file did, as its worker saw it. */
export interface FileTimeline {
  readonly file: string
  readonly ms: number
  /** Of the worker, so without PostgreSQL and the processes that the tests started. */
  readonly cpuMs: number
  /** How long the worker waited for timers, sockets and files. */
  readonly idleMs: number
  readonly processes: number
  readonly databases: number
  readonly databaseMs: number
  /** Milliseconds that timers ran, by the place that set them. Some run side by side. */
  readonly timers: Readonly<Record<string, number>>
}

export interface RunTimeline {
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

/** A Markdown report of where the time of a run went. */
export function timelineReport(run: RunTimeline): string {
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
