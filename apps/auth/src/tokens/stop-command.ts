import type { AgentId } from '@plainpath/domain'
import { type Command, InvalidArgumentError } from 'commander'
import { agentIdArgument } from '../agent-id-argument.ts'
import { checkRows } from '../audit-chain.ts'
import { reasonArgument } from '../reason-argument.ts'
import { StopEntry, type StopScope } from './stop-store.ts'
import {
  type StopEvidence,
  type StopProgress,
  type StopTokensDeps,
  stopTokens,
  UnconfirmedStop,
} from './stop-tokens.ts'

export interface StopCommandDeps {
  io: { print(line: string): void }
  refuse(text: string): Error
  stores<T>(work: (opened: OpenedForStop) => Promise<T>): Promise<T>
}

interface OpenedForStop extends StopTokensDeps {
  /** Where tokens are. */
  readonly place: 'PostgreSQL' | 'Redis'
  /** The instances that run, by their names. */
  instances(): Promise<readonly string[]>
}

interface Options {
  client?: AgentId
  allTokens?: boolean
  issuedBefore?: Date
  reason: string
  dryRun?: boolean
  json?: boolean
}

const UNCONFIRMED: Record<StopProgress, string> = {
  unchanged:
    'Nothing is written, and nobody can say that the tokens are over (some may be refused already): a store failed.',
  unknown: 'Nobody can say whether the tokens are over: PostgreSQL did not confirm the change.',
  written:
    'The stop is written, but it was not confirmed where the tokens are, so some may still be accepted.',
}

/** `auth stop` and `auth stops`: the emergency stop of tokens, and the audit of it. */
export function addStopCommand(program: Command, deps: StopCommandDeps): void {
  const { io, refuse, stores } = deps
  program
    .command('stop')
    .description('end tokens everywhere before returning; clients may get new ones at once')
    .option('--client <client_id>', 'the tokens of one agent', agentIdArgument)
    .option('--all-tokens', 'every token there is')
    .option('--issued-before <time>', 'what was issued before, such as 2026-11-20T09:00:00Z', timeOf)
    .requiredOption('--reason <text>', 'why, for the audit; up to 200 characters', reasonArgument)
    .option('--dry-run', 'say what would end, and change nothing')
    .option('--json', 'for programs')
    .action(async (options: Options, command: Command) => {
      const scope = scopeOf(options)
      if (!scope) command.error('Say which tokens: one of --client, --all-tokens and --issued-before.')
      await stores(async (opened) => {
        const done = await stopTokens(opened, scope, { reason: options.reason, trial: options.dryRun }).catch(
          (error: unknown) => {
            if (!(error instanceof UnconfirmedStop)) throw error
            const why = error.cause instanceof Error ? ` (${error.cause.message})` : ''
            const text = `${UNCONFIRMED[error.progress]}${why} Run the same command again.`
            if (options.json) io.print(JSON.stringify({ ok: false, progress: error.progress, reason: text }))
            throw refuse(text)
          },
        )
        if (!done.ok) {
          if (options.json) io.print(JSON.stringify({ ok: false, reason: done.error }))
          throw refuse(done.error)
        }
        const about = {
          scope,
          evidence: done.value,
          place: opened.place,
          instances: await opened.instances(),
        }
        io.print(options.json ? JSON.stringify(evidenceJson(about)) : evidenceText(about))
      })
    })
  program
    .command('stops')
    .description('every stop of tokens, oldest first')
    .option('--verify', 'check that no row was edited, removed or moved')
    .option('--head <hash>', 'with --verify: a head printed earlier, which finds an end that was cut off')
    .option('--json', 'for programs')
    .action(async (options: { verify?: boolean; head?: string; json?: boolean }, command: Command) => {
      if (options.head !== undefined && !options.verify) command.error('--head goes with --verify')
      const rows = await stores(({ stops }) => stops.audit())
      if (options.verify) {
        const checked = checkRows(rows, options.head)
        if (!checked.ok) throw refuse(checked.error)
        const { head, newer } = checked.value
        return io.print(
          options.json
            ? JSON.stringify({ ok: true, rows: rows.length, head, newer })
            : `${rows.length} rows, none was touched. Head: ${head ?? 'none'}`,
        )
      }
      const entries = rows.map(({ entry }) => StopEntry.parse(JSON.parse(entry)))
      if (options.json) return io.print(JSON.stringify(entries))
      io.print(entries.length > 0 ? entries.map(sentence).join('\n') : 'Nothing was ever stopped.')
    })
}

function scopeOf({ client, allTokens, issuedBefore }: Options): StopScope | undefined {
  const asked: StopScope[] = [
    ...(client ? [{ kind: 'client', clientId: client } as const] : []),
    ...(allTokens ? [{ kind: 'all-tokens' } as const] : []),
    ...(issuedBefore ? [{ kind: 'issued-before', at: issuedBefore } as const] : []),
  ]
  return asked.length === 1 ? asked[0] : undefined
}

interface Evidence {
  readonly scope: StopScope
  readonly evidence: StopEvidence
  readonly place: string
  readonly instances: readonly string[]
}

const evidenceJson = ({ scope, evidence, place, instances }: Evidence) => ({
  ok: true,
  done: evidence.head !== undefined,
  scope: scope.kind,
  ...(scope.kind === 'client' && { client_id: scope.clientId }),
  ...(scope.kind === 'issued-before' && { issued_before: scope.at.toISOString() }),
  tokens_ended: evidence.ended.tokens,
  counted_all: evidence.ended.complete,
  took_ms: evidence.endedMs,
  ...(evidence.confirmed && {
    confirmed: {
      store: place,
      epoch: evidence.confirmed.epoch,
      issued_before: evidence.confirmed.issuedBefore?.toISOString() ?? null,
    },
  }),
  ...(evidence.head !== undefined && { audit_head: evidence.head }),
  instances,
})

function evidenceText({ scope, evidence, place, instances }: Evidence): string {
  const { ended, head, endedMs } = evidence
  const count = `${ended.complete ? '' : 'at least '}${ended.tokens} ${ended.tokens === 1 ? 'token' : 'tokens'}`
  if (head === undefined) return `Would end ${which(scope)}: ${count} in ${place}.`
  return [
    `Ended ${which(scope)}: ${count}, after ${endedMs} ms.`,
    `PostgreSQL has written it${place === 'Redis' ? ', and Redis confirmed it' : ''}: ${over(evidence)}.`,
    instances.length > 0
      ? `Running: ${instances.join(', ')}. Each asks ${place} about every token, so none has to be told.`
      : 'No instance of the server runs.',
    ...(scope.kind === 'client'
      ? [`${scope.clientId} may get new tokens. To prevent that: agents disable ${scope.clientId}`]
      : ['Clients may get new tokens.']),
    `Audit head: ${head}`,
  ].join('\n')
}

function over({ stopped, confirmed }: StopEvidence): string {
  if (stopped.kind === 'client') return `its tokens of a generation before ${stopped.generation} are over`
  const before = confirmed?.issuedBefore
  const byTime = before ? `, and those issued before ${before.toISOString()}` : ''
  return `tokens of an epoch before ${confirmed?.epoch ?? 0} are over${byTime}`
}

function which(scope: StopScope): string {
  if (scope.kind === 'client') return `the tokens of ${scope.clientId}`
  return scope.kind === 'all-tokens' ? 'all tokens' : `tokens issued before ${scope.at.toISOString()}`
}

const sentence = ({ at, scope, by, reason, ...entry }: StopEntry) =>
  [at, scope, entry.client_id ?? entry.issued_before ?? '', `by ${by.user} on ${by.host}`, `(${reason})`]
    .filter(Boolean)
    .join('  ')

/** Tokens carry the second in which they were issued, so a part of a second would decide nothing. */
function timeOf(text: string): Date {
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.0+)?(Z|[+-]\d\d:\d\d)$/.test(text)
    ? new Date(text)
    : undefined
  if (!time || Number.isNaN(time.getTime()))
    throw new InvalidArgumentError('A time is RFC 3339 in whole seconds, such as 2026-11-20T09:00:00Z.')
  return time
}
