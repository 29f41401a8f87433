import { setTimeout as sleep } from 'node:timers/promises'
import { argument, DRY_RUN, flag, option, Refusal } from '@plainpath/commands'
import { formatCount } from '@plainpath/domain'
import { UnsealError } from '@plainpath/sealing'
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
import { type KeyStore, UnreadableKey } from '../keys/key-store.ts'
import { reencryptOAuthRecords } from '../oauth/oauth-record-store.ts'
import { reencryptVerifications } from '../verifications/reencrypt-verifications.ts'
import { AUDIT_PARAMETERS, buildAuditOutput } from './audit-output.ts'
import { defineCommand, reason } from './define-command.ts'
import { buildChangeOutput } from './key-change-output.ts'

const algorithm = option(
  '--algorithm <name>',
  'the algorithm of the new key (default: that of the signing key)',
  { choices: ['ES256', 'EdDSA'] as const },
)
/** The name of the locked resource, as a refusal shows it. */
const LOCKED_RESOURCE = 'the signing keys'

/**
 * The `keys` commands, for the security team. If a step is refused only because it is too early, the refusal says when it becomes
 * safe. Every command accepts `--dry-run`, so a script need not know which commands change something.
 */
export const keysCommands = [
  defineCommand({
    name: 'keys init',
    summary: 'create the first signing key, or add existing keys to the audit log if they predate it',
    parameters: { dryRun: DRY_RUN },
    opens: 'database',
    encrypts: true,
    getLockedResource: () => LOCKED_RESOURCE,
    async run({ stores: { keys }, args }) {
      if (args.dryRun) {
        const hasSigningKey = (await keys.view()).ring.keys.some(({ state }) => state === 'signing')
        return {
          json: { ok: true, done: false, due: !hasSigningKey },
          text: hasSigningKey
            ? 'Would create no key: there is already a signing key. Keys that predate the audit log would be added to it.'
            : 'Would create the first signing key.',
        }
      }
      const newKid = await initKeys({ keys })
      return {
        json: { ok: true, done: newKid !== undefined, ...(newKid && { kid: newKid }) },
        text: newKid
          ? `Created the first signing key: ${newKid}`
          : 'No key was created: there are already keys. Keys that predate the audit log are now in it.',
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
    getLockedResource: () => LOCKED_RESOURCE,
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
    getLockedResource: () => LOCKED_RESOURCE,
    async run(context) {
      const { now: early, algorithm: chosenAlgorithm, dryRun } = context.args
      const operations = createOperations(context)
      const rotated = await operations.rotate({ algorithm: chosenAlgorithm, early, dryRun })
      if (!rotated.ok) throw toRefusal(rotated.error)
      if (!('next' in rotated.value)) return await buildChangeOutput(operations, rotated.value)
      const { next } = rotated.value
      return {
        json: { ok: true, done: false, next: report.toNextStepJson(next) },
        text: report.formatNextStep(next, (await operations.keys.view()).now),
      }
    },
  }),
  defineCommand({
    name: 'keys revoke',
    summary: 'revoke a leaked key, and wait until no instance signs with it and no API trusts it',
    parameters: { kid: argument('<kid>', 'the leaked key'), reason, dryRun: DRY_RUN },
    // Not marked `encrypts`, although it may store a new key: it must work after a key-encryption key was lost.
    opens: 'all stores',
    // Takes no lock, so that a running command cannot block it.
    async run(context) {
      const operations = createOperations(context)
      const { kid: leakedKid, reason: revocationReason, dryRun } = context.args
      const revoked = await operations.revoke(leakedKid, { reason: revocationReason, dryRun })
      if (!revoked.ok) throw toRefusal(revoked.error)
      const appliedChange = 'unchangedRing' in revoked.value ? undefined : revoked.value
      // A dry run stores nothing, so it has nothing to wait for.
      if (dryRun)
        return appliedChange
          ? await buildChangeOutput(operations, appliedChange)
          : {
              json: { ok: true, done: false, ended: true },
              text: `Key ${leakedKid} was already revoked. Would wait until no instance signs with it and no API trusts it.`,
            }
      // The command also waits if the key was already revoked, because an earlier run may have ended during its wait.
      const startedAt = performance.now()
      const { version } = 'unchangedRing' in revoked.value ? revoked.value.unchangedRing : revoked.value.ring
      const { liveInstances, endedInstances, laggingInstances } = await operations.waitForInstances(version)
      // Waits until no API trusts a key set from before the revocation.
      await sleep(context.config.keys.trustMs)
      // An API may have cached introspection responses that it verified with such a key set. This call waits until every API has
      // dropped them.
      await context.stores.revocationPublisher.publish({ kind: 'everything' })
      const waitedMs = Math.round(performance.now() - startedAt)
      if (laggingInstances.length > 0)
        throw new Refusal(
          `Key ${leakedKid} is revoked, but these instances may still sign with it: ${laggingInstances.map(({ host }) => host).join(', ')}. Stop them, then run the same command again.`,
        )
      const evidence =
        liveInstances.length > 0
          ? [`After ${waitedMs} ms, no instance signs with the revoked key and no API trusts it.`]
          : []
      const output = appliedChange
        ? await buildChangeOutput(operations, appliedChange, evidence)
        : {
            // `ended` means that the key was already revoked. Scripts read it, so it keeps its name.
            json: { ok: true, done: false, ended: true, waited_ms: waitedMs },
            text: [
              `Key ${leakedKid} was already revoked.`,
              ...(evidence.length > 0 ? evidence : [report.formatInstances([])]),
            ].join('\n'),
          }
      if (liveInstances.length > 0 || endedInstances.length === 0) return output
      const refusal = `Key ${leakedKid} is revoked in this database, but no instance has confirmed it. These have not reported for longer than their lease: ${endedInstances.map(({ host }) => host).join(', ')}. If the service is running, it uses another database, so set AUTH_DATABASE_URL to that one. Otherwise, start an instance. Then run the same command again.`
      return { ...output, json: { ...output.json, ok: false, reason: refusal }, refusal }
    },
  }),
  defineCommand({
    name: 'keys rewrap',
    summary:
      're-encrypt what is still encrypted under an older key-encryption key: private keys, agent and app names, e-mail verification values, and OAuth records of connected apps',
    parameters: { dryRun: DRY_RUN },
    opens: 'database',
    encrypts: true,
    getLockedResource: () => LOCKED_RESOURCE,
    async run({ stores, config, actor, args: { dryRun } }) {
      try {
        const kids = await stores.keys.reencrypt(actor, { dryRun })
        const agentNameCount = await stores.agents.reencryptNames({ dryRun })
        const nameCount = agentNameCount + (await stores.appClients.reencryptNames({ dryRun }))
        const verificationValueCount = await reencryptVerifications(stores.db, config.sealer, { dryRun })
        const connectionRecordCount = await reencryptOAuthRecords(stores.db, config.sealer, { dryRun })
        const total = kids.length + nameCount + verificationValueCount + connectionRecordCount
        return {
          json: {
            ok: true,
            done: !dryRun && total > 0,
            keys: kids,
            names: nameCount,
            // Scripts read this field, so it keeps its name.
            claims: verificationValueCount,
            connections: connectionRecordCount,
          },
          text: `${dryRun ? 'Would re-encrypt' : 'Re-encrypted'} ${formatCount(kids.length, 'signing key')}, ${formatCount(nameCount, 'agent or app name')}, ${formatCount(verificationValueCount, 'e-mail verification value')} and ${formatCount(connectionRecordCount, 'connection record')}.`,
        }
      } catch (error) {
        if (!(error instanceof UnreadableKey || error instanceof UnsealError)) throw error
        const unreadable =
          error instanceof UnreadableKey
            ? `Key ${error.kid}`
            : 'An agent or app name, an e-mail verification value or a connection record'
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
            text: `All checks passed: ${formatCount(keyCount, 'key')}, ${formatCount(liveInstanceCount, 'running instance')}, audit head ${auditHead}.`,
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
    getLockedResource: () => LOCKED_RESOURCE,
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
