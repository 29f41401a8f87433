import { SealError } from '@plainpath/sealing'
import { type Command, Option } from 'commander'
import { reasonArgument } from '../reason-argument.ts'
import { AuditEntry, checkChain } from './key-audit.ts'
import type { Followed, KeyOperations } from './key-operations.ts'
import { verifyKeys } from './key-operations.ts'
import * as report from './key-report.ts'
import type { KeyRefusal, StepName } from './key-ring.ts'
import { type AppliedChange, UnreadableKey } from './key-store.ts'
import type { SigningAlgorithm } from './signing-key.ts'

export interface KeysCommandDeps {
  io: { print(line: string): void }
  refuse(text: string): Error
  /** Makes the first key; its kid, or undefined when one signs already. */
  init(): Promise<string | undefined>
  /** Seals agents' names under the newest key-encryption key; how many were under another. */
  rewrapNames(options: { trial: boolean }): Promise<number>
  rewrapClaims(options: { trial: boolean }): Promise<number>
  operations<T>(work: (operations: KeyOperations) => Promise<T>): Promise<T>
}

interface Options {
  json?: boolean
  dryRun?: boolean
  algorithm?: SigningAlgorithm
  now?: boolean
}

const STEPS: Record<StepName, string> = {
  generate: 'make the successor of the key that signs; nobody sees it yet',
  publish: 'put the successor into the key set',
  activate: 'let the successor sign; the key before it is destroyed and stays in the key set',
  retire: 'take a key that signs no more out of the key set',
}

/** `auth keys …`: what the security team does. Refusals say from when the step is safe. */
// oxlint-disable-next-line max-lines-per-function -- a table of commands, each of them a few lines
export function addKeysCommand(program: Command, deps: KeysCommandDeps): void {
  const { io, operations } = deps
  const keys = program.command('keys').description('signing keys')
  const define = (name: string, description: string) =>
    keys
      .command(name)
      .description(description)
      .option('--json', 'for programs')
      .option('--dry-run', 'say what would be done, and change nothing')
  const algorithm = () =>
    new Option('--algorithm <name>', 'of a new key; as the key before it when absent').choices([
      'ES256',
      'EdDSA',
    ])
  const say = (options: Options, json: unknown, text: string) =>
    io.print(options.json ? JSON.stringify(json) : text)
  const refuse = (options: Options, refusal: KeyRefusal): Error => {
    if (options.json) io.print(JSON.stringify(report.refusalJson(refusal)))
    return deps.refuse(report.refusalText(refusal))
  }

  /** Says what was done once every instance follows; a step is not done before. */
  async function tell(
    all: KeyOperations,
    options: Options,
    done: AppliedChange,
    more: readonly string[] = [],
  ) {
    const { change, ring, head } = done
    const made = head === undefined ? change.added : undefined
    const transitions = change.transitions.map((each) =>
      each.kid === made?.kid ? { ...each, kid: `a new ${made.algorithm} key` } : each,
    )
    const followed = head === undefined ? undefined : await all.followed(ring.version)
    const json = {
      ok: followed ? followed.behind.length === 0 : true,
      done: head !== undefined,
      step: change.step,
      transitions,
      ...(head && { ring_version: ring.version, audit_head: head }),
      ...(followed && {
        instances: followed.live.map(({ host, signingKid }) => ({ host, signing_kid: signingKid })),
      }),
    }
    const text = [
      head === undefined ? `Would ${change.step}:` : `Done: ${change.step}`,
      report.transitionsText(transitions),
      ...(followed ? [followersText(followed), ...more, `Audit head: ${head}`] : []),
    ]
    say(options, json, text.filter(Boolean).join('\n'))
    if (followed && followed.behind.length > 0)
      throw deps.refuse('The change is made, but not every instance follows it. Look at: keys list')
  }

  define('init', 'make the first signing key, once; does nothing when there is one').action(
    (options: Options) =>
      operations(async (all) => {
        const signs = (await all.view()).ring.keys.some(({ state }) => state === 'signing')
        if (options.dryRun)
          return say(
            options,
            { ok: true, done: false, due: !signs },
            signs ? NOTHING : 'Would make the first signing key.',
          )
        const kid = await deps.init()
        say(
          options,
          { ok: true, done: kid !== undefined, ...(kid && { kid }) },
          kid ? `Made the first signing key: ${kid}` : NOTHING,
        )
      }),
  )
  define('list', 'every key, what is due and when it is safe, and which instance signs with what').action(
    (options: Options) =>
      operations(async (all) => {
        const view = await all.view()
        const at = all.circumstances(view)
        say(options, report.ringJson(view, at), report.ringText(view, at))
      }),
  )
  for (const name of ['generate', 'publish', 'activate', 'retire'] as const) {
    const command = define(name, STEPS[name])
    if (name === 'generate') command.addOption(algorithm())
    else command.argument('[kid]', 'which key, where there are several')
    command.action((...given: unknown[]) => {
      const [kid, options] = (name === 'generate' ? [undefined, given[0]] : given) as [
        string | undefined,
        Options,
      ]
      return operations(async (all) => {
        const done = await all.step(name, { kid, algorithm: options.algorithm, trial: options.dryRun })
        if (!done.ok) throw refuse(options, done.error)
        await tell(all, options, done.value)
      })
    })
  }
  define('rotate', 'do the step that is due, if there is one; safe to run from a scheduler')
    .option('--now', 'begin a rotation before the key that signs has reached its age')
    .addOption(algorithm())
    .action((options: Options) =>
      operations(async (all) => {
        const done = await all.rotate({
          algorithm: options.algorithm,
          early: options.now,
          trial: options.dryRun,
        })
        if (!done.ok) throw refuse(options, done.error)
        if (!('next' in done.value)) return tell(all, options, done.value)
        const { next } = done.value
        say(
          options,
          { ok: true, done: false, next: report.dueJson(next) },
          report.dueText(next, (await all.view()).now),
        )
      }),
    )
  define('revoke', 'end a leaked key everywhere before returning')
    .argument('<kid>', 'the key that leaked')
    .requiredOption('--reason <text>', 'why, for the audit; up to 200 characters', reasonArgument)
    .action((kid: string, options: Options & { reason: string }) =>
      operations(async (all) => {
        const done = await all.revoke(kid, { reason: options.reason, trial: options.dryRun })
        if (!done.ok) throw refuse(options, done.error)
        const { followed, ms } =
          'already' in done.value
            ? await ended(all, done.value.already.version)
            : done.value.head === undefined
              ? { followed: undefined, ms: 0 }
              : await ended(all, done.value.ring.version)
        const evidence = `${ms} ms after the command began to wait, no instance signs with it and no API believes it.`
        if (followed && followed.behind.length > 0)
          throw deps.refuse(
            `${kid} is revoked, but an instance may still sign with it: ${followed.behind.map(({ host }) => host).join(', ')}.`,
          )
        if ('already' in done.value)
          return say(
            options,
            { ok: true, done: false, ended: true, waited_ms: ms },
            `${kid} was revoked already.\n${evidence}`,
          )
        await tell(all, options, done.value, [evidence])
      }),
    )
  define('rewrap', 'seal every private part, name and address under the newest key-encryption key').action(
    (options: Options) =>
      operations(async (all) => {
        const trial = options.dryRun ?? false
        try {
          const moved = await all.rewrap({ trial })
          const names = await deps.rewrapNames({ trial })
          const claims = await deps.rewrapClaims({ trial })
          const done = !trial && moved.length + names + claims > 0
          const text = `${trial ? 'Would seal anew' : 'Sealed anew'}: ${moved.length} keys, the names of ${names} agents and ${claims} values of claims.`
          say(options, { ok: true, done, keys: moved, names, claims }, text)
        } catch (error) {
          if (!(error instanceof UnreadableKey || error instanceof SealError)) throw error
          const what =
            error instanceof UnreadableKey ? `Key ${error.kid}` : "An agent's name, or a value of a claim,"
          throw refuse(options, {
            reason: `${what} cannot be opened with the key-encryption keys there are.`,
          })
        }
      }),
  )
  define('verify', 'open every key, check the audit, and check a signature of every instance').action(
    (options: Options) =>
      operations(async (all) => {
        const { keys: count, instances, head, findings } = await verifyKeys(all)
        say(
          options,
          { ok: findings.length === 0, keys: count, instances, audit_head: head, findings },
          findings.length > 0
            ? findings.join('\n')
            : `All is well: ${count} keys, ${instances} instances that run, the audit up to ${head}.`,
        )
        if (findings.length > 0) throw deps.refuse('The keys are not as they should be.')
      }),
  )
  define('audit', 'every change of a key, oldest first')
    .option('--verify', 'check that no row was edited, removed or moved')
    .option('--head <hash>', 'with --verify: a head printed earlier, which finds an end that was cut off')
    .action((options: Options & { verify?: boolean; head?: string }, command: Command) => {
      if (options.head !== undefined && !options.verify) command.error('--head goes with --verify')
      return operations(async (all) => {
        const rows = await all.audit()
        if (!options.verify) {
          const entries = rows.map(({ entry }) => AuditEntry.parse(JSON.parse(entry)))
          return say(
            options,
            entries,
            entries.length > 0 ? report.auditText(entries) : 'Nothing has happened yet.',
          )
        }
        const checked = checkChain(rows, options.head)
        if (!checked.ok) throw refuse(options, { reason: checked.error })
        const { head, newer } = checked.value
        say(
          options,
          { ok: true, rows: rows.length, head, newer },
          `${rows.length} rows, none was touched. Head: ${head ?? 'none'}${options.head ? `, ${newer} rows newer than the one given` : ''}`,
        )
      })
    })
}

const NOTHING = 'Nothing to do: a key signs already.'

/** Until nobody signs by an older ring, and no API holds a key set that such an instance gave out. */
async function ended(all: KeyOperations, version: number): Promise<{ followed: Followed; ms: number }> {
  const startedAt = performance.now()
  const followed = await all.followed(version)
  await all.distrusted()
  return { followed, ms: Math.round(performance.now() - startedAt) }
}

const followersText = ({ live }: Followed) =>
  live.length > 0
    ? report.table(
        ['INSTANCE', 'SIGNS WITH'],
        live.map((each) => [each.host, each.signingKid ?? 'nothing']),
      )
    : 'No instance of the server runs.'
