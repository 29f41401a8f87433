/*
 * The commands for emergency revocation: `stop` revokes tokens and prints, for each instance, whether it is proven to reject
 * them. `stops` prints the audit log. `tokens/emergency-revocation.ts` implements the revocation.
 */
import { flag, InvalidArgumentError, option, Refusal } from '@plainpath/commands'
import { type AgentId, formatCount } from '@plainpath/domain'
import { type InstanceProof, isProven, storeCanaryToken } from '../instances/prove-revocation.ts'
import {
  type RevocationEvidence,
  type RevocationProgress,
  revokeInEmergency,
  UnconfirmedRevocation,
} from '../tokens/emergency-revocation.ts'
import { RevocationEntry, type RevocationScope } from '../tokens/emergency-revocation-store.ts'
import { AUDIT_PARAMETERS, buildAuditOutput } from './audit-output.ts'
import { defineCommand, parseAgentId, reason } from './define-command.ts'

/** The error message for a failed store, by the progress of the revocation. */
const UNCONFIRMED_TEXTS: Record<RevocationProgress, string> = {
  'not-committed':
    'A store failed. The revocation was not stored, but some of the tokens may already be rejected.',
  unknown: 'PostgreSQL did not confirm the change, so it is unknown whether the tokens are revoked.',
  committed:
    'PostgreSQL has stored the revocation, but the token store, the APIs or the instances did not confirm it, so some tokens may still be accepted.',
}

/** The value of `progress` in the JSON output, by the progress of the revocation. */
const JSON_PROGRESS: Record<RevocationProgress, string> = {
  'not-committed': 'unchanged',
  unknown: 'unknown',
  committed: 'written',
}

const UNPROVEN_TEXT =
  'The revocation is stored, but it is not proven that every instance applies it. Stop the instances that are named above, or restart them with this release and with the stores of this command. Then run the same command again.'

const INSTANCE_TEXTS: Record<InstanceProof['state'], string> = {
  proven: 'proven: it accepted a test token before the revocation, and gave the expected result after it.',
  ended:
    'has not reported for longer than its lease, so it serves no API any more. If no instance is proven, this database may not be the one that the service uses.',
  old: 'NOT PROVEN: its release is too old to check a test token.',
  silent: 'NOT PROVEN: it is running, but did not report on the test token.',
  'other-store': 'NOT PROVEN: it does not see the tokens that this command stores.',
  'still-active':
    'NOT PROVEN: it may still accept revoked tokens, because it did not apply the revocation to a test token.',
}

export const stopCommands = [
  defineCommand({
    name: 'stop',
    summary: 'revoke tokens at every instance; clients can get new ones at once',
    parameters: {
      client: option('--client <client_id>', 'revoke the tokens of one agent', { parse: parseAgentId }),
      allTokens: flag('--all-tokens', 'revoke all tokens'),
      issuedBefore: option(
        '--issued-before <time>',
        'revoke the tokens issued before a time, such as 2026-11-20T09:00:00Z',
        {
          parse: parseTime,
        },
      ),
      reason,
      dryRun: flag('--dry-run', 'print what would be revoked, without revoking it'),
    },
    opens: 'all stores',
    // Only a revocation for one client takes a lock. The other revocations take none, so that no command can block them.
    getLockedResource: ({ client }) => client,
    async run({ config, stores, args, actor }) {
      const scope = selectScope(args)
      if ((await stores.keyFollowers.findLastTokenStore()) === undefined)
        throw new Refusal(
          'No instance of the authorization server has ever reported to this database. Set AUTH_DATABASE_URL to the one that the service uses. Nothing was changed.',
        )
      const { emergencyRevocations, tokens, revocationPublisher } = stores
      const leaseMs = config.keys.leaseMs
      await using canary = args.dryRun
        ? undefined
        : await storeCanaryToken({ db: stores.db, tokens, keys: stores.keys, leaseMs }, scope)
      const revocation = await revokeInEmergency(
        { emergencyRevocations, tokens, revocationPublisher, actor },
        scope,
        {
          reason: args.reason,
          dryRun: args.dryRun,
        },
      ).catch(refuseUnconfirmed)
      if (!revocation.ok) throw new Refusal(revocation.error)
      const { auditHead } = revocation.value
      const instances = await canary
        ?.prove()
        .catch((cause: unknown) =>
          refuseUnconfirmed(new UnconfirmedRevocation('committed', { cause, auditHead })),
        )
      const agent = args.client && (await stores.agents.find(args.client))?.agent
      const evidence: Evidence = {
        ...revocation.value,
        scope,
        isConnection: agent?.appClientId !== undefined,
        tokenStore: stores.redis ? 'Redis' : 'PostgreSQL',
        instances,
      }
      const refusal = isProven(instances ?? []) ? undefined : UNPROVEN_TEXT
      return { json: toEvidenceJson(evidence), text: formatEvidence(evidence), refusal }
    },
  }),
  defineCommand({
    name: 'stops',
    summary: 'list the emergency revocations, oldest first',
    parameters: AUDIT_PARAMETERS,
    opens: 'database',
    async run({ stores, args }) {
      return buildAuditOutput(await stores.emergencyRevocations.readAudit(), args, {
        entrySchema: RevocationEntry,
        formatEntries: (entries) => entries.map(formatEntry).join('\n'),
        emptyText: 'There has been no emergency revocation.',
      })
    },
  }),
]

/**
 * Returns the scope that the arguments name.
 *
 * @throws {Refusal} unless they name exactly one
 */
function selectScope(args: {
  readonly client: AgentId | undefined
  readonly allTokens: boolean
  readonly issuedBefore: Date | undefined
}): RevocationScope {
  const scopes: RevocationScope[] = []
  if (args.client) scopes.push({ kind: 'client', clientId: args.client })
  if (args.allTokens) scopes.push({ kind: 'all-tokens' })
  if (args.issuedBefore) scopes.push({ kind: 'issued-before', at: args.issuedBefore })
  const [scope] = scopes
  if (!scope || scopes.length > 1)
    throw new Refusal('Give exactly one of --client, --all-tokens and --issued-before.', { exitCode: 2 })
  return scope
}

/** Turns the failure of a store into a refusal that says how far the revocation has progressed. */
function refuseUnconfirmed(error: unknown): never {
  if (!(error instanceof UnconfirmedRevocation)) throw error
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : ''
  const { progress, auditHead } = error
  const head = auditHead === undefined ? '' : `\nAudit head: ${auditHead}`
  const text = `${UNCONFIRMED_TEXTS[progress]}${cause} Run the same command again.`
  throw new Refusal(`${text}${head}`, {
    json: { progress: JSON_PROGRESS[progress], reason: text, ...(auditHead && { audit_head: auditHead }) },
  })
}

interface Evidence extends RevocationEvidence {
  readonly scope: RevocationScope
  /** True if `scope` is one client, and it is the connection of an app. */
  readonly isConnection: boolean
  readonly tokenStore: 'PostgreSQL' | 'Redis'
  /** The proof of each instance; undefined in a dry run, or if the scope has no active agent and therefore no valid token. */
  readonly instances: readonly InstanceProof[] | undefined
}

const toEvidenceJson = ({
  scope,
  revoked,
  elapsedMs,
  auditHead,
  confirmedCutoff,
  tokenStore,
  instances,
}: Evidence) => ({
  ok: isProven(instances ?? []),
  done: auditHead !== undefined,
  scope: scope.kind,
  ...(scope.kind === 'client' && { client_id: scope.clientId }),
  ...(scope.kind === 'issued-before' && { issued_before: scope.at.toISOString() }),
  tokens_ended: revoked.tokens,
  counted_all: revoked.countedAll,
  took_ms: elapsedMs,
  ...(confirmedCutoff && {
    confirmed: {
      store: tokenStore,
      epoch: confirmedCutoff.epoch,
      issued_before: confirmedCutoff.issuedBefore?.toISOString() ?? null,
    },
  }),
  ...(auditHead !== undefined && { audit_head: auditHead }),
  ...(instances && { instances }),
})

function formatEvidence(evidence: Evidence): string {
  const { scope, revoked, auditHead, elapsedMs, tokenStore, instances } = evidence
  const countText = `${revoked.countedAll ? '' : 'at least '}${formatCount(revoked.tokens, 'token')}`
  if (auditHead === undefined) return `Would revoke ${describeScope(scope)}: ${countText} in ${tokenStore}.`
  return [
    `Revoked ${describeScope(scope)}: ${countText}, after ${elapsedMs} ms.`,
    `PostgreSQL has stored the revocation${tokenStore === 'Redis' ? ', and Redis confirmed it' : ''}: ${describeCondition(evidence)}.`,
    ...formatInstances(instances),
    describeNextTokens(evidence),
    `Audit head: ${auditHead}`,
  ].join('\n')
}

function describeNextTokens({ scope, isConnection }: Evidence): string {
  if (scope.kind !== 'client') return 'Clients can get new tokens.'
  return isConnection
    ? `${scope.clientId} is the connection of an app, and gets no more tokens: the person must sign in with the app again. To erase the person's address too, find the grant with auth grants list, and run: auth grants revoke <id>`
    : `${scope.clientId} can get new tokens. To prevent that, run: auth agents disable ${scope.clientId}`
}

function formatInstances(instances: Evidence['instances']): string[] {
  if (!instances) return ['No agent in this scope is active, so no instance accepts any of these tokens.']
  return instances.length > 0
    ? instances.map(({ host, state }) => `${host}: ${INSTANCE_TEXTS[state]}`)
    : ['No instance of the authorization server is running.']
}

/** Describes which tokens the stores now reject. */
function describeCondition({ effect, confirmedCutoff }: RevocationEvidence): string {
  if (effect.kind === 'client')
    return `its tokens with a credential version below ${effect.credentialVersion} are revoked`
  const issuedBefore = confirmedCutoff?.issuedBefore
  const timeCondition = issuedBefore ? `, and those issued before ${issuedBefore.toISOString()}` : ''
  return `tokens with an epoch below ${confirmedCutoff?.epoch ?? 0} are revoked${timeCondition}`
}

function describeScope(scope: RevocationScope): string {
  if (scope.kind === 'client') return `the tokens of ${scope.clientId}`
  return scope.kind === 'all-tokens' ? 'all tokens' : `tokens issued before ${scope.at.toISOString()}`
}

const formatEntry = ({ at, scope, by, reason: recordedReason, ...entry }: RevocationEntry) =>
  [
    at,
    scope,
    entry.client_id ?? entry.issued_before ?? '',
    `by ${by.user} on ${by.host}`,
    `(${recordedReason})`,
  ]
    .filter(Boolean)
    .join('  ')

/** Parses a time in whole seconds, because a token's time of issue has no fraction. */
function parseTime(text: string): Date {
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.0+)?(Z|[+-]\d\d:\d\d)$/.test(text)
    ? new Date(text)
    : undefined
  if (!time || Number.isNaN(time.getTime()))
    throw new InvalidArgumentError('A time is RFC 3339 in whole seconds, such as 2026-11-20T09:00:00Z.')
  return time
}
