import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { CodeUnderTest } from './world.ts'

/** The modules to mutate. They contain only pure functions, and import only types and each other. */
const FILES = {
  'revocation-subscriber.ts': '@plainpath/resource/revocation-subscriber',
  'revocation-wait.ts': '@plainpath/auth/revocation-wait',
} as const

/** A change that removes one safeguard: it replaces `from`, which must occur exactly once in `file`, with `to`. */
export interface Mutant {
  /** Begins with the build option of docs/revocation/revocation.pml, if that model has the safeguard. */
  readonly name: string
  readonly file: keyof typeof FILES
  readonly from: string
  readonly to: string
  /** A seed for `samplePlan` with which the mutant violates R-LIN (docs/revocation/README.md). */
  readonly seed: number
}

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'NO_WAIT: a revoker responds without waiting',
    file: 'revocation-wait.ts',
    from: `if (now >= deadline) return`,
    to: `return { kind: 'respond' }\n  if (now >= deadline) return`,
    seed: 1,
  },
  {
    name: 'NO_LEASE: cached introspections are used without a lease',
    file: 'revocation-subscriber.ts',
    from: `    beginIntrospection(hash, now) {
      if (!isValid(now)) return { from: 'uncached' }
      const introspection = cache.find(hash, now)`,
    to: `    beginIntrospection(hash, now) {
      const introspection = cache.find(hash, now)`,
    seed: 3,
  },
  {
    name: 'FOUND_WITHOUT_LEASE: `findCached` returns cached introspections without a lease',
    file: 'revocation-subscriber.ts',
    from: `findCached: (hash, now) => (isValid(now) ? cache.find(hash, now) : undefined)`,
    to: `findCached: (hash, now) => cache.find(hash, now)`,
    seed: 3,
  },
  {
    name: 'NO_GENERATION: a result is cached although a notification arrived meanwhile',
    file: 'revocation-subscriber.ts',
    from: `if (inFlightByHash.get(inFlight.hash) !== inFlight) return`,
    to: ``,
    seed: 1,
  },
  {
    name: 'JOIN_ANY: an introspection begun before a notification is shared after it',
    file: 'revocation-subscriber.ts',
    from: `if (revoked.kind === 'token') inFlightByHash.delete(revoked.hash)
    else inFlightByHash.clear()`,
    to: ``,
    seed: 1,
  },
  {
    name: 'JOIN_WITHOUT_LEASE: introspections in flight are shared without a lease',
    file: 'revocation-subscriber.ts',
    from: `      if (!isValid(now)) return { from: 'uncached' }
      const introspection = cache.find(hash, now)`,
    to: `      const introspection = isValid(now) ? cache.find(hash, now) : undefined`,
    seed: 9,
  },
  {
    name: 'NO_ATOMIC_GRANT: a new subscription keeps introspections from before it',
    file: 'revocation-subscriber.ts',
    from: `      remove({ kind: 'everything' })
      subscription = { id: command.id`,
    to: `      subscription = { id: command.id`,
    seed: 5,
  },
  {
    name: 'NO_BIRTH_MARK: a revoker trusts a list of subscribers that the store may have just lost',
    file: 'revocation-wait.ts',
    from: `knownMark.mark === published.mark ? knownMark.since + fullWaitMs : deadline`,
    to: `0`,
    seed: 18,
  },
  {
    name: 'LEASE_FROM_REPLY: a lease counts from the reply, not from when the command was sent',
    file: 'revocation-subscriber.ts',
    from: `Math.max(leaseUntil, command.sentAt + options.leaseMs)`,
    to: `Math.max(leaseUntil, now + options.leaseMs)`,
    seed: 246,
  },
  {
    name: 'RENEW_ANYWAY: a lease is renewed although the store has a higher number',
    file: 'revocation-subscriber.ts',
    from: `if (number === command.lastSeen) leaseUntil`,
    to: `leaseUntil`,
    seed: 1113,
  },
]

/** Imports copies of the modules from a temporary folder, after applying the mutant, if any. */
export async function loadCodeUnderTest(mutant: Mutant | undefined): Promise<CodeUnderTest> {
  const folder = await mkdtemp(path.join(tmpdir(), 'plainpath-mutant-'))
  try {
    for (const [file, source] of Object.entries(FILES)) {
      const text = await readFile(fileURLToPath(import.meta.resolve(source)), 'utf8')
      await writeFile(path.join(folder, file), mutant?.file === file ? applyMutant(text, mutant) : text)
    }
    const importCopy = (file: keyof typeof FILES): Promise<unknown> =>
      import(/* @vite-ignore */ pathToFileURL(path.join(folder, file)).href)
    return Object.assign(
      {},
      await importCopy('revocation-subscriber.ts'),
      await importCopy('revocation-wait.ts'),
    ) as CodeUnderTest
  } finally {
    await rm(folder, { recursive: true })
  }
}

function applyMutant(text: string, { name, from, to }: Mutant): string {
  if (text.split(from).length !== 2)
    throw new Error(`the text of the mutant "${name}" does not occur exactly once`)
  return text.replace(from, () => to)
}
