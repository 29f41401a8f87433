import { flag, InvalidArgumentError, option, Refusal } from '@plainpath/commands'
import { isLive } from '../keys/key-ring.ts'
import { StopEntry, type StopScope } from '../tokens/stop-store.ts'
import { type StopEvidence, type StopProgress, stopTokens, UnconfirmedStop } from '../tokens/stop-tokens.ts'
import { AUDIT_PARAMETERS, auditOutput } from './audit-output.ts'
import { defineCommand, parseAgentId, reason } from './define-command.ts'

const UNCONFIRMED: Record<StopProgress, string> = {
  unchanged: 'A store failed. Nothing was stored, and some of the tokens may already be rejected.',
  unknown: 'PostgreSQL did not confirm the change, so it is unknown whether the tokens are revoked.',
  written:
    'PostgreSQL has stored the revocation, but the token store or the APIs did not confirm it, so some tokens may still be accepted.',
}

/** The commands for emergency revocation of tokens: `stop`, and its audit, `stops`. */
export const stopCommands = [
  defineCommand({
    name: 'stop',
    summary: 'revoke tokens everywhere before returning; clients may get new ones at once',
    parameters: {
      client: option('--client <client_id>', 'the tokens of one agent', { parse: parseAgentId }),
      allTokens: flag('--all-tokens', 'every token there is'),
      issuedBefore: option('--issued-before <time>', 'what was issued before, such as 2026-11-20T09:00:00Z', {
        parse: parseTime,
      }),
      reason,
      dryRun: flag('--dry-run', 'say what would be revoked, and change nothing'),
    },
    opens: 'stores',
    async run({ config, stores, args, actor }) {
      const scopes: StopScope[] = [
        ...(args.client ? [{ kind: 'client', clientId: args.client } as const] : []),
        ...(args.allTokens ? [{ kind: 'all-tokens' } as const] : []),
        ...(args.issuedBefore ? [{ kind: 'issued-before', at: args.issuedBefore } as const] : []),
      ]
      const [scope] = scopes
      if (!scope || scopes.length > 1)
        throw new Refusal('Say which tokens: one of --client, --all-tokens and --issued-before.', {
          exitCode: 2,
        })
      const { stops, tokens, revoker } = stores
      const done = await stopTokens({ stops, tokens, revoker, by: actor }, scope, {
        reason: args.reason,
        trial: args.dryRun,
      }).catch(refuseUnconfirmed)
      if (!done.ok) throw new Refusal(done.error)
      const { followers, now } = await stores.keys.view()
      const evidence: Evidence = {
        ...done.value,
        scope,
        place: stores.redis ? 'Redis' : 'PostgreSQL',
        instances: followers
          .filter((each) => isLive(each, { now, policy: config.keys }))
          .map(({ host }) => host),
      }
      return { json: evidenceJson(evidence), text: evidenceText(evidence) }
    },
  }),
  defineCommand({
    name: 'stops',
    summary: 'list every stop, oldest first',
    parameters: AUDIT_PARAMETERS,
    opens: 'database',
    async run({ stores, args }) {
      return auditOutput(await stores.stops.audit(), args, {
        entry: StopEntry,
        text: (entries) => entries.map(entryText).join('\n'),
        none: 'No tokens were ever revoked with stop.',
      })
    },
  }),
]

function refuseUnconfirmed(error: unknown): never {
  if (!(error instanceof UnconfirmedStop)) throw error
  const why = error.cause instanceof Error ? ` (${error.cause.message})` : ''
  const text = `${UNCONFIRMED[error.progress]}${why} Run the same command again.`
  throw new Refusal(text, { json: { progress: error.progress, reason: text } })
}

interface Evidence extends StopEvidence {
  readonly scope: StopScope
  /** Where tokens are stored. */
  readonly place: 'PostgreSQL' | 'Redis'
  /** The hosts of the running instances. */
  readonly instances: readonly string[]
}

const evidenceJson = ({ scope, ended, endedMs, head, confirmed, place, instances }: Evidence) => ({
  ok: true,
  done: head !== undefined,
  scope: scope.kind,
  ...(scope.kind === 'client' && { client_id: scope.clientId }),
  ...(scope.kind === 'issued-before' && { issued_before: scope.at.toISOString() }),
  tokens_ended: ended.tokens,
  counted_all: ended.complete,
  took_ms: endedMs,
  ...(confirmed && {
    confirmed: {
      store: place,
      epoch: confirmed.epoch,
      issued_before: confirmed.issuedBefore?.toISOString() ?? null,
    },
  }),
  ...(head !== undefined && { audit_head: head }),
  instances,
})

function evidenceText(evidence: Evidence): string {
  const { scope, ended, head, endedMs, place, instances } = evidence
  const count = `${ended.complete ? '' : 'at least '}${ended.tokens} ${ended.tokens === 1 ? 'token' : 'tokens'}`
  if (head === undefined) return `Would revoke ${scopeText(scope)}: ${count} in ${place}.`
  return [
    `Revoked ${scopeText(scope)}: ${count}, after ${endedMs} ms.`,
    `PostgreSQL has stored the revocation${place === 'Redis' ? ', and Redis confirmed it' : ''}: ${stoppedText(evidence)}.`,
    instances.length > 0
      ? `Running: ${instances.join(', ')}. Each checks every token in ${place}, so none has to be notified.`
      : 'No instance of the server is running.',
    scope.kind === 'client'
      ? `${scope.clientId} may get new tokens. To prevent that: agents disable ${scope.clientId}`
      : 'Clients may get new tokens.',
    `Audit head: ${head}`,
  ].join('\n')
}

function stoppedText({ stopped, confirmed }: StopEvidence): string {
  if (stopped.kind === 'client') return `its tokens with a generation below ${stopped.generation} are revoked`
  const before = confirmed?.issuedBefore
  const byTime = before ? `, and those issued before ${before.toISOString()}` : ''
  return `tokens with an epoch below ${confirmed?.epoch ?? 0} are revoked${byTime}`
}

function scopeText(scope: StopScope): string {
  if (scope.kind === 'client') return `the tokens of ${scope.clientId}`
  return scope.kind === 'all-tokens' ? 'all tokens' : `tokens issued before ${scope.at.toISOString()}`
}

const entryText = ({ at, scope, by, reason: why, ...entry }: StopEntry) =>
  [at, scope, entry.client_id ?? entry.issued_before ?? '', `by ${by.user} on ${by.host}`, `(${why})`]
    .filter(Boolean)
    .join('  ')

/** Parses a time in whole seconds: a token's time of issue has no fraction, so one here could not decide anything. */
function parseTime(text: string): Date {
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.0+)?(Z|[+-]\d\d:\d\d)$/.test(text)
    ? new Date(text)
    : undefined
  if (!time || Number.isNaN(time.getTime()))
    throw new InvalidArgumentError('A time is RFC 3339 in whole seconds, such as 2026-11-20T09:00:00Z.')
  return time
}
