import type { KeyAuditEntry } from './key-audit.ts'
import type { Follower } from './key-follower-store.ts'
import {
  type Circumstances,
  findNextStep,
  isLive,
  type KeyRefusal,
  type NextStep,
  type Transition,
} from './key-ring.ts'
import type { RingView } from './key-store.ts'

/* Formats key rings, steps and refusals for the `keys` commands, as text and as JSON. Times in the JSON are in ISO 8601. */

/** Formats a table. Each column is as wide as its widest cell. */
function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((cell, column) =>
    Math.max(cell.length, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  const formatLine = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  return [head, ...rows].map(formatLine).join('\n')
}

const DURATION_UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
] as const

/** Formats a duration in the largest unit of which it has at least two, or else in seconds: `3 d`, `2 min`, `0.4 s`. */
function formatDuration(ms: number): string {
  const [size, unit] = DURATION_UNITS.find(([unitMs]) => ms >= 2 * unitMs) ?? [1_000, 's']
  const count = ms / size
  return `${unit === 's' && count < 10 ? Math.round(count * 10) / 10 : Math.floor(count)} ${unit}`
}

/** Formats the reason of a refusal, and the time from which the step is safe, if it is known. */
export const formatRefusal = ({ reason, safeFrom }: KeyRefusal) =>
  safeFrom ? `${reason} This step is safe from ${safeFrom.toISOString()}.` : reason

export const toRefusalJson = ({ reason, safeFrom }: KeyRefusal) => ({
  reason,
  ...(safeFrom && { safe_from: safeFrom.toISOString() }),
})

/** Formats one transition a line: the kid, the old state (except of a new key) and the new state. */
export const formatTransitions = (transitions: readonly Transition[]) =>
  transitions.map(({ kid, from, to }) => `${kid}  ${from ? `${from} -> ` : ''}${to}`).join('\n')

export const toNextStepJson = ({ step, kid, safeFrom }: NextStep) => ({
  step,
  ...(kid && { kid }),
  safe_from: safeFrom.toISOString(),
})

/** Builds the JSON of `keys list`. */
export function toRingJson(view: RingView, circumstances: Circumstances) {
  const nextStep = findNextStep(view.ring, circumstances)
  return {
    ring_version: view.ring.version,
    keys: view.ring.keys.map(({ kid, algorithm, state, stateSince, createdAt }) => ({
      kid,
      algorithm,
      state,
      since: stateSince.toISOString(),
      created: createdAt.toISOString(),
    })),
    ...(nextStep && { next: toNextStepJson(nextStep) }),
    instances: view.followers
      .filter((follower) => isLive(follower, circumstances))
      .map(({ host, ringVersion, signingKid, problem, seenAt }) => ({
        host,
        ring_version: ringVersion,
        ...(signingKid && { signing_kid: signingKid }),
        ...(problem && { problem }),
        seen: seenAt.toISOString(),
      })),
  }
}

/** Formats the text of `keys list`: the keys, the next step, and the live instances. */
export function formatRing(view: RingView, circumstances: Circumstances): string {
  const formatAge = (since: Date) => formatDuration(view.now.getTime() - since.getTime())
  const report = toRingJson(view, circumstances)
  const keys = view.ring.keys.map((key) => [
    key.kid,
    key.algorithm,
    key.state,
    formatAge(key.stateSince),
    formatAge(key.createdAt),
  ])
  const instances = report.instances.map((instance) => [
    instance.host,
    instance.signing_kid ?? 'nothing',
    String(instance.ring_version),
    instance.problem ?? '',
  ])
  return [
    keys.length > 0
      ? formatTable(['KID', 'ALG', 'STATE', 'FOR', 'AGE'], keys)
      : 'There is no key yet. Create the first one with: auth keys init',
    '',
    formatNextStep(findNextStep(view.ring, circumstances), view.now),
    '',
    instances.length > 0
      ? formatTable(['INSTANCE', 'SIGNS WITH', 'RING', 'PROBLEM'], instances)
      : 'No instance of the authorization server is running.',
  ].join('\n')
}

/** Formats the key that each live instance signs with. */
export const formatInstances = (liveInstances: readonly Follower[]) =>
  liveInstances.length > 0
    ? formatTable(
        ['INSTANCE', 'SIGNS WITH'],
        liveInstances.map(({ host, signingKid }) => [host, signingKid ?? 'nothing']),
      )
    : 'No instance of the authorization server is running.'

export function formatNextStep(nextStep: NextStep | undefined, now: Date): string {
  if (!nextStep) return 'There is no signing key.'
  const stepText = nextStep.kid ? `${nextStep.step} ${nextStep.kid}` : nextStep.step
  if (nextStep.safeFrom <= now) return `Due now: ${stepText}.`
  return `Nothing is due. Next: ${stepText}, from ${nextStep.safeFrom.toISOString()}.`
}

/** Formats the audit trail. Below each entry, an indented line shows each of its transitions. */
export const formatAudit = (entries: readonly KeyAuditEntry[]) =>
  entries
    .map(({ at, by, step, reason, transitions, ring_version: version }) => {
      const keys = transitions.map(({ kid, from, to }) => `    ${kid}  ${from ? `${from} -> ` : ''}${to}`)
      return [
        `${at}  ring ${version}  ${step}  by ${by.user} on ${by.host}${reason ? `  (${reason})` : ''}`,
        ...keys,
      ].join('\n')
    })
    .join('\n')
