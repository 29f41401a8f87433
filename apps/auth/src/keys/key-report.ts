import type { AuditEntry } from './key-audit.ts'
import {
  type Circumstances,
  type DueStep,
  findDueStep,
  isLive,
  type KeyRefusal,
  type Transition,
} from './key-ring.ts'
import type { RingView } from './key-store.ts'

/** Formats a table, each column as wide as its widest cell. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((cell, column) =>
    Math.max(cell.length, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  return [head, ...rows].map(line).join('\n')
}

const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
] as const

/** Formats a duration, such as `3 d`, `2 min`, `0.4 s`. */
function span(ms: number): string {
  const [size, unit] = UNITS.find(([least]) => ms >= 2 * least) ?? [1_000, 's']
  const count = ms / size
  return `${unit === 's' && count < 10 ? Math.round(count * 10) / 10 : Math.floor(count)} ${unit}`
}

export const refusalText = ({ reason, safeFrom }: KeyRefusal) =>
  safeFrom ? `${reason} It is safe from ${safeFrom.toISOString()}.` : reason

export const refusalJson = ({ reason, safeFrom }: KeyRefusal) => ({
  reason,
  ...(safeFrom && { safe_from: safeFrom.toISOString() }),
})

export const transitionsText = (transitions: readonly Transition[]) =>
  transitions.map(({ kid, from, to }) => `${kid}  ${from ? `${from} -> ` : ''}${to}`).join('\n')

export const dueJson = ({ step, kid, safeFrom }: DueStep) => ({
  step,
  ...(kid && { kid }),
  safe_from: safeFrom.toISOString(),
})

/** Builds the JSON of `keys list`. */
export function ringJson(view: RingView, at: Circumstances) {
  const next = findDueStep(view.ring, at)
  return {
    ring_version: view.ring.version,
    keys: view.ring.keys.map(({ kid, algorithm, state, stateSince, createdAt }) => ({
      kid,
      algorithm,
      state,
      since: stateSince.toISOString(),
      created: createdAt.toISOString(),
    })),
    ...(next && { next: dueJson(next) }),
    instances: view.followers
      .filter((each) => isLive(each, at))
      .map(({ host, ringVersion, signingKid, problem, seenAt }) => ({
        host,
        ring_version: ringVersion,
        ...(signingKid && { signing_kid: signingKid }),
        ...(problem && { problem }),
        seen: seenAt.toISOString(),
      })),
  }
}

export function ringText(view: RingView, at: Circumstances): string {
  const age = (since: Date) => span(view.now.getTime() - since.getTime())
  const shown = ringJson(view, at)
  const keys = view.ring.keys.map((key) => [
    key.kid,
    key.algorithm,
    key.state,
    age(key.stateSince),
    age(key.createdAt),
  ])
  const instances = shown.instances.map((each) => [
    each.host,
    each.signing_kid ?? 'nothing',
    String(each.ring_version),
    each.problem ?? '',
  ])
  return [
    keys.length > 0
      ? table(['KID', 'ALG', 'STATE', 'FOR', 'AGE'], keys)
      : 'There is no key yet. Make the first with: keys init',
    '',
    dueText(findDueStep(view.ring, at), view.now),
    '',
    instances.length > 0
      ? table(['INSTANCE', 'SIGNS WITH', 'RING', 'PROBLEM'], instances)
      : 'No instance of the server is running.',
  ].join('\n')
}

export function dueText(next: DueStep | undefined, now: Date): string {
  if (!next) return 'No key signs.'
  const what = next.kid ? `${next.step} ${next.kid}` : next.step
  if (next.safeFrom <= now) return `Due now: ${what}.`
  return `Nothing is due. Next: ${what}, from ${next.safeFrom.toISOString()}.`
}

export const auditText = (entries: readonly AuditEntry[]) =>
  entries
    .map(({ at, by, step, reason, transitions, ring_version: version }) => {
      const keys = transitions.map(({ kid, from, to }) => `    ${kid}  ${from ? `${from} -> ` : ''}${to}`)
      return [
        `${at}  ring ${version}  ${step}  by ${by.user} on ${by.host}${reason ? `  (${reason})` : ''}`,
        ...keys,
      ].join('\n')
    })
    .join('\n')
