import type { PhaseResult } from './phases.ts'

export interface RehearsalOptions {
  /** The number of requests per second. */
  readonly rate: number
  /** The seconds of load in each phase. */
  readonly seconds: number
  readonly print: (line: string) => void
}

/** A change to the running system that operators will make one day. */
export interface Rehearsal {
  readonly title: string
  /** Describes the rehearsal for readers of the results. */
  readonly description: string
  run(options: RehearsalOptions): Promise<RehearsalResult>
}

export interface RehearsalResult {
  readonly phases: readonly PhaseResult[]
  /** Acknowledged writes that are lost, and revoked tokens that are still accepted. */
  readonly lost: readonly string[]
  /** Mistakes other than those in responses. */
  readonly mistakes: readonly string[]
  /** Tests that ran in addition to the load. */
  readonly tests: readonly { readonly title: string; readonly outcome: string }[]
  /** Other figures, a sentence each. */
  readonly notes: readonly string[]
}

/**
 * Returns whether every guarantee held, every test passed, and each refusal and late response is explained.
 *
 * @param options.isBusy true to tolerate unexplained refusals and late responses, since the machine does other work
 */
export const hasPassed = (
  { phases, lost, mistakes, tests }: RehearsalResult,
  { isBusy }: { isBusy: boolean },
): boolean =>
  phases.every(({ wrong, unexplained }) => wrong.length === 0 && (isBusy || unexplained === 0)) &&
  lost.length + mistakes.length === 0 &&
  tests.every(({ outcome }) => outcome === 'passed')

/** Formats a result as Markdown: a table of the phases, a list of the findings, and a table of the tests. */
export function renderRehearsalTable({ phases, lost, mistakes, tests, notes }: RehearsalResult): string {
  const rows = phases.map(
    ({ name, seconds, requests, refused, late, wrong, silentSeconds, silentOperation }) =>
      `| ${name} | ${seconds.toFixed(0)} s | ${requests} | ${refused} | ${late} | ${wrong.length} | ${silentSeconds.toFixed(1)} s (${silentOperation}) |`,
  )
  const lines = [
    ...phases.flatMap(({ name, wrong }) => wrong.map((mistake) => `${name}: ${mistake}`)),
    ...lost.map((mistake) => `lost: ${mistake}`),
    ...mistakes,
    lost.length === 0
      ? 'No acknowledged change was lost, and no revoked token is accepted.'
      : `Acknowledged changes that were lost, and revoked tokens that are still accepted: ${lost.length}.`,
    ...notes,
  ]
  return [
    '| phase | time | requests | refused | late | wrong | longest time without a good response |',
    '|---|---:|---:|---:|---:|---:|---|',
    ...rows,
    '',
    ...lines.map((line) => `- ${line}`),
    ...(tests.length === 0 ? [] : ['', '| test | outcome |', '|---|---|']),
    ...tests.map(({ title, outcome }) => `| ${title.replaceAll('|', '\\|')} | ${outcome} |`),
  ].join('\n')
}

/** Renders the results page of a rehearsal. */
export function renderRehearsalDocument(
  name: string,
  { title, description }: Pick<Rehearsal, 'title' | 'description'>,
  result: RehearsalResult,
  { commit, rate, machine }: { readonly commit: string; readonly rate: number; readonly machine: string },
): string {
  return `# ${title}

Written by \`npm run rehearse -- ${name}\` on commit ${commit}, under ${rate} requests a second, on ${machine}. ${description}

- *refused*: 503 with \`Retry-After\`, also if a time-out on a busy machine was the reason. *late*: a response after more than 5 s.
- *wrong*: any other failure, above all a token that was accepted by a request that began after its revocation was acknowledged.
- The last column is an upper bound of an outage, because at a low rate each operation is sent only every few seconds.

${renderRehearsalTable(result)}
`
}
