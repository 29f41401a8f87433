import { setTimeout as sleep } from 'node:timers/promises'
import { argument, type CommandOutput, DRY_RUN, flag, option, Refusal } from '@plainpath/commands'
import { SealError } from '@plainpath/sealing'
import type { Actor } from '../audit/audit-chain.ts'
import { rewrapClaims } from '../claims/postgres-claim-addresses.ts'
import type { Config } from '../config.ts'
import { AuditEntry } from '../keys/key-audit.ts'
import {
  type Followed,
  initKeys,
  type KeyOperations,
  keyOperations,
  type StepOptions,
  verifyKeys,
} from '../keys/key-operations.ts'
import * as report from '../keys/key-report.ts'
import type { KeyRefusal, StepName } from '../keys/key-ring.ts'
import { type AppliedChange, type KeyStore, UnreadableKey } from '../keys/key-store.ts'
import { rewrapOAuthRecords } from '../oauth/oauth-record-store.ts'
import { AUDIT_PARAMETERS, auditOutput } from './audit-output.ts'
import { defineCommand, reason } from './define-command.ts'

const algorithm = option('--algorithm <name>', 'of a new key; as the key before it when absent', {
  choices: ['ES256', 'EdDSA'] as const,
})
const NOTHING = 'Nothing to do: a key signs already.'

/**
 * The `keys` commands, for the security team. A refusal says when the step will be safe. Each takes `--dry-run`, so that
 * a script need not know which of them change anything.
 */
export const keysCommands = [
  defineCommand({
    name: 'keys init',
    summary: 'create the first signing key; does nothing when there is one',
    parameters: { dryRun: DRY_RUN },
    opens: 'database',
    async run({ stores: { keys }, args }) {
      if (args.dryRun) {
        const signs = (await keys.view()).ring.keys.some(({ state }) => state === 'signing')
        return {
          json: { ok: true, done: false, due: !signs },
          text: signs ? NOTHING : 'Would make the first signing key.',
        }
      }
      const made = await initKeys({ keys })
      return {
        json: { ok: true, done: made !== undefined, ...(made && { kid: made }) },
        text: made ? `Made the first signing key: ${made}` : NOTHING,
      }
    },
  }),
  defineCommand({
    name: 'keys list',
    summary: 'list every key, the next step and when it is safe, and what each instance signs with',
    parameters: { dryRun: DRY_RUN },
    opens: 'database',
    async run(call) {
      const all = createOperations(call)
      const view = await all.keys.view()
      const at = all.circumstances(view)
      return { json: report.ringJson(view, at), text: report.ringText(view, at) }
    },
  }),
  defineCommand({
    name: 'keys generate',
    summary: 'create the successor of the signing key, not yet published',
    parameters: { algorithm, dryRun: DRY_RUN },
    opens: 'database',
    run: (call) => takeStep('generate', call, { algorithm: call.args.algorithm, trial: call.args.dryRun }),
  }),
  stepCommand('publish', 'add the successor to the published key set'),
  stepCommand(
    'activate',
    'let the successor sign; the private part of the key before it is erased, its public part stays published',
  ),
  stepCommand('retire', 'remove a key that no longer signs from the published key set'),
  defineCommand({
    name: 'keys rotate',
    summary: 'perform the step that is due, if there is one; safe to run from a scheduler',
    parameters: {
      now: flag('--now', 'begin a rotation before the key that signs has reached its age'),
      algorithm,
      dryRun: DRY_RUN,
    },
    opens: 'database',
    async run(call) {
      const { now: early, algorithm: named, dryRun: trial } = call.args
      const all = createOperations(call)
      const done = await all.rotate({ algorithm: named, early, trial })
      if (!done.ok) throw keyRefusal(done.error)
      if (!('next' in done.value)) return await changeOutput(all, done.value)
      const { next } = done.value
      return {
        json: { ok: true, done: false, next: report.dueJson(next) },
        text: report.dueText(next, (await all.keys.view()).now),
      }
    },
  }),
  defineCommand({
    name: 'keys revoke',
    summary: 'revoke a leaked key everywhere before returning',
    parameters: { kid: argument('<kid>', 'the key that leaked'), reason, dryRun: DRY_RUN },
    opens: 'stores',
    async run(call) {
      const all = createOperations(call)
      const { kid: leaked, reason: why, dryRun: trial } = call.args
      const done = await all.revoke(leaked, { reason: why, trial })
      if (!done.ok) throw keyRefusal(done.error)
      const applied = 'already' in done.value ? undefined : done.value
      if (applied && applied.head === undefined) return await changeOutput(all, applied)
      const startedAt = performance.now()
      const { version } = 'already' in done.value ? done.value.already : done.value.ring
      const { behind } = await all.waitForInstances(version)
      // First until no API trusts an older key set, then until none has a response cached that it verified with one.
      await sleep(call.config.keys.trustMs)
      await call.stores.revoker.publishRevocation({ kind: 'everything' })
      const ms = Math.round(performance.now() - startedAt)
      if (behind.length > 0)
        throw new Refusal(
          `${leaked} is revoked, but an instance may still sign with it: ${behind.map(({ host }) => host).join(', ')}.`,
        )
      const evidence = `${ms} ms after the command began to wait, no instance signs with it and no API trusts it.`
      if (!applied)
        return {
          json: { ok: true, done: false, ended: true, waited_ms: ms },
          text: `${leaked} was revoked already.\n${evidence}`,
        }
      return await changeOutput(all, applied, [evidence])
    },
  }),
  defineCommand({
    name: 'keys rewrap',
    summary: 're-encrypt every private key, name and address under the newest key-encryption key',
    parameters: { dryRun: DRY_RUN },
    opens: 'database',
    async run(call) {
      const trial = call.args.dryRun
      try {
        const keys = await call.stores.keys.rewrap(call.actor, { trial })
        const names =
          (await call.stores.agents.rewrapNames({ trial })) +
          (await call.stores.appClients.rewrapNames({ trial }))
        const claims = await rewrapClaims(call.stores.db, call.config.sealingKeys, { trial })
        const connections = await rewrapOAuthRecords(call.stores.db, call.config.sealingKeys, { trial })
        const moved = keys.length + names + claims + connections
        return {
          json: { ok: true, done: !trial && moved > 0, keys, names, claims, connections },
          text: `${trial ? 'Would re-encrypt' : 'Re-encrypted'} ${keys.length} keys, the names of ${names} agents and apps, ${claims} values of claims and ${connections} records of connections.`,
        }
      } catch (error) {
        if (!(error instanceof UnreadableKey || error instanceof SealError)) throw error
        const what =
          error instanceof UnreadableKey
            ? `Key ${error.kid}`
            : 'The name of an agent or app, a value of a claim, or a record of a connection,'
        throw new Refusal(`${what} cannot be opened with the key-encryption keys there are.`)
      }
    },
  }),
  defineCommand({
    name: 'keys verify',
    summary: 'decrypt every key, verify the audit, and verify a signature of every instance',
    parameters: { dryRun: DRY_RUN },
    opens: 'database',
    async run(call) {
      const { keys, instances, head, findings } = await verifyKeys(createOperations(call))
      const json = { ok: findings.length === 0, keys, instances, audit_head: head, findings }
      return findings.length === 0
        ? {
            json,
            text: `All checks passed: ${keys} keys, ${instances} running instances, audit up to ${head}.`,
          }
        : { json, text: findings.join('\n'), refusal: 'Some checks failed.' }
    },
  }),
  defineCommand({
    name: 'keys audit',
    summary: 'list every change of a key, oldest first',
    parameters: { ...AUDIT_PARAMETERS, dryRun: DRY_RUN },
    opens: 'database',
    async run({ stores: { keys }, args }) {
      return auditOutput(await keys.audit(), args, {
        entry: AuditEntry,
        text: report.auditText,
        none: 'Nothing has happened yet.',
      })
    },
  }),
]

function stepCommand(name: StepName, summary: string) {
  return defineCommand({
    name: `keys ${name}`,
    summary,
    parameters: { kid: argument('[kid]', 'which key, where there are several'), dryRun: DRY_RUN },
    opens: 'database',
    run: (call) => takeStep(name, call, { kid: call.args.kid, trial: call.args.dryRun }),
  })
}

interface Call {
  readonly config: Config
  readonly stores: { readonly keys: KeyStore }
  readonly actor: Actor
}

const createOperations = ({ config, stores, actor }: Call): KeyOperations =>
  keyOperations({ keys: stores.keys, settings: config.keys, by: actor })

const keyRefusal = (refusal: KeyRefusal) =>
  new Refusal(report.refusalText(refusal), { json: report.refusalJson(refusal) })

async function takeStep(name: StepName, call: Call, options: StepOptions): Promise<CommandOutput> {
  const all = createOperations(call)
  const done = await all.step(name, options)
  if (!done.ok) throw keyRefusal(done.error)
  return await changeOutput(all, done.value)
}

/** Waits until every instance has adopted a change, and then builds the output. */
async function changeOutput(
  all: KeyOperations,
  { change, ring, head }: AppliedChange,
  more: readonly string[] = [],
): Promise<CommandOutput> {
  const made = head === undefined ? change.added : undefined
  const transitions = change.transitions.map((each) =>
    each.kid === made?.kid ? { ...each, kid: `a new ${made.algorithm} key` } : each,
  )
  if (head === undefined)
    return {
      json: { ok: true, done: false, step: change.step, transitions },
      text: `Would ${change.step}:\n${report.transitionsText(transitions)}`.trimEnd(),
    }
  const { live, behind } = await all.waitForInstances(ring.version)
  const isFollowed = behind.length === 0
  return {
    json: {
      ok: isFollowed,
      done: true,
      step: change.step,
      transitions,
      ring_version: ring.version,
      audit_head: head,
      instances: live.map(({ host, signingKid }) => ({ host, signing_kid: signingKid })),
    },
    text: [
      `Done: ${change.step}`,
      report.transitionsText(transitions),
      followersText(live),
      ...more,
      `Audit head: ${head}`,
    ]
      .filter(Boolean)
      .join('\n'),
    refusal: isFollowed
      ? undefined
      : 'The change is stored, but not every instance has adopted it. See: keys list',
  }
}

const followersText = (live: Followed['live']) =>
  live.length > 0
    ? report.table(
        ['INSTANCE', 'SIGNS WITH'],
        live.map((each) => [each.host, each.signingKid ?? 'nothing']),
      )
    : 'No instance of the server is running.'
