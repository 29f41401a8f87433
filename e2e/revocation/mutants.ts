import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Parts } from './world.ts'

/** The files that contain only pure functions, and import only types and each other. */
const FILES = {
  'revocation-subscriber.ts': '@plainpath/resource/revocation-subscriber',
  'revocation-wait.ts': '@plainpath/auth/revocation-wait',
} as const

/** Removes one safeguard: replaces `from`, which must occur in the file exactly once, by `to`. */
export interface Mutant {
  /** The name of docs/revocation/revocation.pml, if the model has the safeguard. */
  readonly name: string
  readonly file: keyof typeof FILES
  readonly from: string
  readonly to: string
  /** A seed of `samplePlan` for which the mutant violates R-LIN. */
  readonly seed: number
}

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'NO_WAIT: a revoker answers at once',
    file: 'revocation-wait.ts',
    from: `if (now >= deadline) return`,
    to: `return { do: 'respond' }\n  if (now >= deadline) return`,
    seed: 1,
  },
  {
    name: 'NO_LEASE: what is kept is used without a lease',
    file: 'revocation-subscriber.ts',
    from: `    begin(hash: string, now: number): Source {
      if (!isValid(now)) return { from: 'uncached' }
      const introspection = cache.find(hash, now)`,
    to: `    begin(hash: string, now: number): Source {
      const introspection = cache.find(hash, now)`,
    seed: 3,
  },
  {
    name: 'FOUND_WITHOUT_LEASE: what is kept is found without a lease',
    file: 'revocation-subscriber.ts',
    from: `find: (hash: string, now: number) => (isValid(now) ? cache.find(hash, now) : undefined)`,
    to: `find: (hash: string, now: number) => cache.find(hash, now)`,
    seed: 3,
  },
  {
    name: 'NO_GENERATION: an answer is kept although a notice came meanwhile',
    file: 'revocation-subscriber.ts',
    from: `if (inFlightByHash.get(inFlight.hash) !== inFlight) return`,
    to: ``,
    seed: 1,
  },
  {
    name: 'JOIN_ANY: a look-up begun before a notice is shared after it',
    file: 'revocation-subscriber.ts',
    from: `if (revoked.kind === 'token') inFlightByHash.delete(revoked.hash)
    else inFlightByHash.clear()`,
    to: ``,
    seed: 1,
  },
  {
    name: 'JOIN_WITHOUT_LEASE: look-ups are shared without a lease',
    file: 'revocation-subscriber.ts',
    from: `      if (!isValid(now)) return { from: 'uncached' }
      const introspection = cache.find(hash, now)`,
    to: `      const introspection = isValid(now) ? cache.find(hash, now) : undefined`,
    seed: 9,
  },
  {
    name: 'NO_ATOMIC_GRANT: on the answer to a join, what is from before it stays',
    file: 'revocation-subscriber.ts',
    from: `      remove({ kind: 'everything' })
      subscription = { id: command.id`,
    to: `      subscription = { id: command.id`,
    seed: 5,
  },
  {
    name: 'NO_BIRTH_MARK: a list is believed that may have been lost a moment ago',
    file: 'revocation-wait.ts',
    from: `knownMark.mark === raised.mark ? knownMark.since + full : deadline`,
    to: `0`,
    seed: 18,
  },
  {
    name: 'LEASE_FROM_ANSWER: a lease is counted from when it was granted',
    file: 'revocation-subscriber.ts',
    from: `Math.max(leaseUntil, command.sentAt + options.leaseMs)`,
    to: `Math.max(leaseUntil, now + options.leaseMs)`,
    seed: 246,
  },
  {
    name: 'RENEW_ANYWAY: a lease is prolonged although the store has a higher number',
    file: 'revocation-subscriber.ts',
    from: `if (number === command.seen) leaseUntil`,
    to: `leaseUntil`,
    seed: 1113,
  },
]

/** Loads the files, with the mutant applied, from a temporary folder. */
export async function loadParts(mutant: Mutant | undefined): Promise<Parts> {
  const folder = await mkdtemp(path.join(tmpdir(), 'plainpath-mutant-'))
  try {
    for (const [file, source] of Object.entries(FILES)) {
      const text = await readFile(fileURLToPath(import.meta.resolve(source)), 'utf8')
      await writeFile(path.join(folder, file), mutant?.file === file ? applyMutant(text, mutant) : text)
    }
    const load = (file: keyof typeof FILES): Promise<unknown> =>
      import(/* @vite-ignore */ pathToFileURL(path.join(folder, file)).href)
    return Object.assign(
      {},
      await load('revocation-subscriber.ts'),
      await load('revocation-wait.ts'),
    ) as Parts
  } finally {
    await rm(folder, { recursive: true })
  }
}

function applyMutant(text: string, { name, from, to }: Mutant): string {
  if (text.split(from).length !== 2)
    throw new Error(`the text of the mutant "${name}" does not occur exactly once`)
  return text.replace(from, () => to)
}
