import type { KeyOperations } from '../keys/key-operations.ts'
import * as report from '../keys/key-report.ts'
import type { AppliedChange } from '../keys/key-store.ts'

/**
 * Builds the output for a change of the key ring. Unless it was a dry run, first waits until every signing instance has adopted
 * the change. If an instance does not adopt it in time, the output contains a refusal.
 */
export async function buildChangeOutput(
  operations: KeyOperations,
  { change, ring, auditHead }: AppliedChange,
  extraLines: readonly string[] = [],
) {
  // In a dry run, the kid is not stored, so the output describes the key instead.
  const plannedKey = auditHead === undefined ? change.added : undefined
  const transitions = change.transitions.map((transition) =>
    transition.kid === plannedKey?.kid
      ? { ...transition, kid: `a new ${plannedKey.algorithm} key` }
      : transition,
  )
  if (auditHead === undefined)
    return {
      json: { ok: true, done: false, step: change.step, transitions },
      text: `Would ${change.step}:\n${report.formatTransitions(transitions)}`.trimEnd(),
    }
  const { liveInstances, laggingInstances } = await operations.waitForInstances(ring.version)
  const isAdopted = laggingInstances.length === 0
  return {
    json: {
      ok: isAdopted,
      done: true,
      step: change.step,
      transitions,
      ring_version: ring.version,
      audit_head: auditHead,
      instances: liveInstances.map(({ host, signingKid }) => ({ host, signing_kid: signingKid })),
    },
    text: [
      `Done: ${change.step}`,
      report.formatTransitions(transitions),
      report.formatInstances(liveInstances),
      ...extraLines,
      `Audit head: ${auditHead}`,
    ]
      .filter(Boolean)
      .join('\n'),
    refusal: isAdopted
      ? undefined
      : 'The change is stored, but not every instance has adopted it. To see which have not, run: auth keys list',
  }
}
