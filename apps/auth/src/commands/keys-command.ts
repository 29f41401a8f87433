import { setTimeout as sleep } from 'node:timers/promises'
import {
  argument,
  type CommandOutput,
  DRY_RUN,
  flag,
  formatCount,
  option,
  Refusal,
} from '@plainpath/commands'
import { SealError } from '@plainpath/sealing'
import type { Actor } from '../audit/audit-chain.ts'
import type { Config } from '../config.ts'
import { KeyAuditEntry } from '../keys/key-audit.ts'
import {
  createKeyOperations,
  initKeys,
  type KeyOperations,
  type StepOptions,
  verifyKeys,
} from '../keys/key-operations.ts'
import * as report from '../keys/key-report.ts'
import type { KeyRefusal, StepName } from '../keys/key-ring.ts'
import { type AppliedChange, type KeyStore, UnreadableKey } from '../keys/key-store.ts'
import { reencryptOAuthRecords } from '../oauth/oauth-record-store.ts'
import { reencryptVerifications } from '../verifications/reencrypt-verifications.ts'
import { AUDIT_PARAMETERS, buildAuditOutput } from './audit-output.ts'
import { defineCommand, reason } from './define-command.ts'

const algorithm = option(
  '--algorithm <name>',
  'the algorithm of the new key (default: that of the signing key)',
  { choices: ['ES256', 'EdDSA'] as const },
)
/** The lock that commands hold while they change keys. `keys revoke` does not take the lock, so no other command can block it. */
const KEYS_LOCK = 'the signing keys'

/**
 * The `keys` commands, for the security team. If a step must only wait, its refusal says when it becomes safe. Every
 * command accepts `--dry-run`, so a script need not know which commands change something.
 */
export const keysCommands = [
  defineCommand({
    name: 'keys init',
    summary: 'create the first signing key, or add existing keys to the audit if they predate it',
    parameters: { dryRun: DRY_RUN },
    opens: 'database',
    encrypts: true,
    getLockedResource: () => KEYS_LOCK,
    async run({ stores: { keys }, args }) {
      if (args.dryRun) {
        const isSigning = (await keys.view()).ring.keys.some(({ state }) => state === 'signing')
        return {
          json: { ok: true, done: false, due: !isSigning },
          text: isSigning
            ? 'Would create no key: there is already a signing key.'
            : 'Would create the first signing key.',
        }
      }
      const newKid = await initKeys({ keys })
      return {
        json: { ok: true, done: newKid !== undefined, ...(newKid && { kid: newKid }) },
        text: newKid
          ? `Created the first signing key: ${newKid}`
          : 'No key was created: there is already a signing key.',
      }
    },
  }),
  defineCommand({
    name: 'keys list',
    summary: 'list the keys, the next step and when it is safe, and the key that each instance signs with',
    parameters: { dryRun: DRY_RUN },
    opens: 'database',
    async run(context) {
      const operations = createOperations(context)
      const view = await operations.keys.view()
      const circumstances = operations.toCircumstances(view)
      return { json: report.toRingJson(view, circumstances), text: report.formatRing(view, circumstances) }
    },
  }),
  defineCommand({
    name: 'keys generate',
    summary: 'create the successor of the signing key, without publishing it',
    parameters: { algorithm, dryRun: DRY_RUN },
    opens: 'database',
    encrypts: true,
    getLockedResource: () => KEYS_LOCK,
    run: (context) =>
      takeStep('generate', context, { algorithm: context.args.algorithm, dryRun: context.args.dryRun }),
  }),
  defineStepCommand('publish', 'add the successor to the published key set'),
  defineStepCommand(
    'activate',
    'start to sign with the successor, and erase the private part of the previous key; its public part stays published',
  ),
  defineStepCommand('retire', 'remove a key that no longer signs from the published key set'),
  defineCommand({
    name: 'keys rotate',
    summary: 'perform the next step of a rotation if it is due; a scheduler may run this at any time',
    parameters: {
      now: flag('--now', "start a rotation before the signing key's period ends"),
      algorithm,
      dryRun: DRY_RUN,
    },
    opens: 'database',
    encrypts: true,
    getLockedResource: () => KEYS_LOCK,
    async run(context) {
      const { now: early, algorithm: chosenAlgorithm, dryRun } = context.args
      const operations = createOperations(context)
      const rotated = await operations.rotate({ algorithm: chosenAlgorithm, early, dryRun })
      if (!rotated.ok) throw toRefusal(rotated.error)
      if (!('next' in rotated.value)) return await buildChangeOutput(operations, rotated.value)
      const { next } = rotated.value
      return {
        json: { ok: true, done: false, next: report.toDueStepJson(next) },
        text: report.formatDueStep(next, (await operations.keys.view()).now),
      }
    },
  }),
  defineCommand({
    name: 'keys revoke',
    summary: 'revoke a leaked key, and wait until no instance signs with it and no API trusts it',
    parameters: { kid: argument('<kid>', 'the leaked key'), reason, dryRun: DRY_RUN },
    opens: 'stores',
    async run(context) {
      const operations = createOperations(context)
      const { kid: leakedKid, reason: revocationReason, dryRun } = context.args
      const revoked = await operations.revoke(leakedKid, { reason: revocationReason, dryRun })
      if (!revoked.ok) throw toRefusal(revoked.error)
      const appliedChange = 'unchangedRing' in revoked.value ? undefined : revoked.value
      if (appliedChange && appliedChange.auditHead === undefined)
        return await buildChangeOutput(operations, appliedChange)
      const startedAt = performance.now()
      const { version } = 'unchangedRing' in revoked.value ? revoked.value.unchangedRing : revoked.value.ring
      const { laggingInstances } = await operations.waitForInstances(version)
      // Waits until no API trusts a key set from before the revocation.
      await sleep(context.config.keys.trustMs)
      // Waits until no API caches a response that it verified with such a key set.
      await context.stores.revocationPublisher.publish({ kind: 'everything' })
      const waitedMs = Math.round(performance.now() - startedAt)
      if (laggingInstances.length > 0)
        throw new Refusal(
          `Key ${leakedKid} is revoked, but these instances may still sign with it: ${laggingInstances.map(({ host }) => host).join(', ')}. Stop them, then run the same command again.`,
        )
      const evidence = `After ${waitedMs} ms, no instance signs with the revoked key and no API trusts it.`
      if (!appliedChange)
        return {
          json: { ok: true, done: false, ended: true, waited_ms: waitedMs },
          text: `Key ${leakedKid} was already revoked.\n${evidence}`,
        }
      return await buildChangeOutput(operations, appliedChange, [evidence])
    },
  }),
  defineCommand({
    name: 'keys rewrap',
    summary: 're-encrypt every private key, name and address under the newest key-encryption key',
    parameters: { dryRun: DRY_RUN },
    opens: 'database',
    encrypts: true,
    getLockedResource: () => KEYS_LOCK,
    async run(context) {
      const dryRun = context.args.dryRun
      try {
        const { stores, config, actor } = context
        const kids = await stores.keys.reencrypt(actor, { dryRun })
        const agentNames = await stores.agents.reencryptNames({ dryRun })
        const appNames = await stores.appClients.reencryptNames({ dryRun })
        const names = agentNames + appNames
        const claims = await reencryptVerifications(stores.db, config.sealingKeys, { dryRun })
        const connections = await reencryptOAuthRecords(stores.db, config.sealingKeys, { dryRun })
        const done = !dryRun && kids.length + names + claims + connections > 0
        return {
          json: { ok: true, done, keys: kids, names, claims, connections },
          text: `${dryRun ? 'Would re-encrypt' : 'Re-encrypted'} ${formatCount(kids.length, 'signing key')}, ${formatCount(names, 'name')} of agents and apps, ${formatCount(claims, 'value')} of e-mail verifications and ${formatCount(connections, 'record')} of connections.`,
        }
      } catch (error) {
        if (!(error instanceof UnreadableKey || error instanceof SealError)) throw error
        const unreadable =
          error instanceof UnreadableKey
            ? `Key ${error.kid}`
            : 'A name of an agent or app, a value of an e-mail verification, or a record of a connection'
        throw new Refusal(
          `${unreadable} cannot be decrypted with the key-encryption keys in AUTH_KEK_FILE. If a key is missing from that file, add it, then run the same command again.`,
        )
      }
    },
  }),
  defineCommand({
    name: 'keys verify',
    summary: 'decrypt every key, and verify the audit log and a signature by each instance',
    parameters: { dryRun: DRY_RUN },
    opens: 'database',
    async run(context) {
      const { keyCount, liveInstanceCount, auditHead, findings } = await verifyKeys(createOperations(context))
      const ok = findings.length === 0
      const json = { ok, keys: keyCount, instances: liveInstanceCount, audit_head: auditHead, findings }
      return ok
        ? {
            json,
            text: `All checks passed: ${formatCount(keyCount, 'key')}, ${formatCount(liveInstanceCount, 'running instance')}, audit up to ${auditHead}.`,
          }
        : { json, text: findings.join('\n'), refusal: 'Some checks failed.' }
    },
  }),
  defineCommand({
    name: 'keys audit',
    summary: 'list the changes to keys, oldest first',
    parameters: { ...AUDIT_PARAMETERS, dryRun: DRY_RUN },
    opens: 'database',
    async run({ stores: { keys }, args }) {
      return buildAuditOutput(await keys.readAudit(), args, {
        entrySchema: KeyAuditEntry,
        formatEntries: report.formatAudit,
        emptyText: 'The audit log is empty.',
      })
    },
  }),
]

function defineStepCommand(name: StepName, summary: string) {
  return defineCommand({
    name: `keys ${name}`,
    summary,
    parameters: {
      kid: argument('[kid]', 'the key; needed if several keys are ready for this step'),
      dryRun: DRY_RUN,
    },
    opens: 'database',
    getLockedResource: () => KEYS_LOCK,
    run: (context) => takeStep(name, context, { kid: context.args.kid, dryRun: context.args.dryRun }),
  })
}

interface KeyCommandContext {
  readonly config: Config
  readonly stores: { readonly keys: KeyStore }
  readonly actor: Actor
}

const createOperations = ({ config, stores, actor }: KeyCommandContext): KeyOperations =>
  createKeyOperations({ keys: stores.keys, settings: config.keys, actor })

const toRefusal = (refusal: KeyRefusal) =>
  new Refusal(report.formatRefusal(refusal), { json: report.toRefusalJson(refusal) })

async function takeStep(name: StepName, context: KeyCommandContext, options: StepOptions) {
  const operations = createOperations(context)
  const applied = await operations.step(name, options)
  if (!applied.ok) throw toRefusal(applied.error)
  return await buildChangeOutput(operations, applied.value)
}

/**
 * Builds the output for a change. Unless it was a dry run, first waits until every signing instance has adopted the
 * change. If one has not done so in time, the output says so.
 */
async function buildChangeOutput(
  operations: KeyOperations,
  { change, ring, auditHead }: AppliedChange,
  extraLines: readonly string[] = [],
): Promise<CommandOutput> {
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
      : 'The change is stored, but not every instance has adopted it. To see which: auth keys list',
  }
}
