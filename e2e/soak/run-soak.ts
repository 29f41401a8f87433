import { once } from 'node:events'
import { runAuth } from '@plainpath/auth/run-auth'
import { createTemporaryFolder } from '@plainpath/stack/create-temporary-folder'
import { type Stack, startStack } from '@plainpath/stack/start-stack'
import { checkAcknowledged } from '../faults/check-acknowledged.ts'
import type { KnownToken, Ledger } from '../faults/ledger.ts'
import { type Load, startLoad } from '../faults/load.ts'
import { prepareLedger } from '../faults/prepare-ledger.ts'
import { random } from '../faults/random.ts'
import { readResidentMegabytes } from './resident-memory.ts'

export interface SoakResult {
  readonly requests: number
  readonly refused: number
  /** The number of refusals while no process was down or had just started. */
  readonly unprovokedRefusals: number
  /** Incorrect or missing responses, one line for each. */
  readonly wrong: readonly string[]
  /** The lines of `checkAcknowledged` after the run. */
  readonly lost: readonly string[]
  /** The number of tokens that were revoked. */
  readonly revocations: number
  /** The number of changes of the signing key. */
  readonly rotations: number
  /** The number of rotation steps in which a key command failed. The next step continues the rotation. */
  readonly failedCommands: number
  readonly kills: number
  /** Resident memory in MB by process, at equal intervals. */
  readonly memory: Readonly<Record<string, readonly number[]>>
}

/** With these settings, each step of a rotation is due within seconds. */
const SETTINGS = {
  AUTH_KEYS_MAX_AGE_SECONDS: '0',
  AUTH_KEYS_TRUST_SECONDS: '1',
  AUTH_KEYS_POLL_SECONDS: '0.5',
  AUTH_KEYS_OVERLAP_SECONDS: '5',
  AUTH_KEYS_PERIOD_SECONDS: '10',
  AUTH_KEYS_LEASE_SECONDS: '10',
}
/** The time between steps of a key rotation. */
const STEP_SECONDS = 5
/** The time between measurements of memory. */
const SAMPLE_SECONDS = 15
/** The time between kills, and between lines of progress. */
const MINUTE_SECONDS = 60
/** Refusals within this time after a restart have a reason: the process may receive no requests yet, or its cache is empty. */
const RECOVERY_MS = 5_000
/** The age at which tokens are removed from the ledger. It is shorter than the lifetime of a token. */
const MAX_TOKEN_AGE_MS = 50 * 60_000

/**
 * Runs a load on a new stack, and meanwhile kills processes, rotates keys and measures memory.
 *
 * @param options.print receives a line per minute
 * @param options.stopSignal ends the run early
 * @returns undefined if the run was ended early
 */
export async function runSoak(options: {
  minutes: number
  rate: number
  print: (line: string) => void
  stopSignal: AbortSignal
}): Promise<SoakResult | undefined> {
  await using resources = new AsyncDisposableStack()
  const { path: folder } = resources.use(await createTemporaryFolder('soak'))
  const stack = resources.use(await startStack({ folder, limitsFactor: 1_000_000, settings: SETTINGS }))
  const ledger = await prepareLedger(stack.origin)
  const load = resources.use(startLoad({ origin: stack.origin, ledger, rate: options.rate }))
  const endSignal = AbortSignal.any([AbortSignal.timeout(options.minutes * 60_000), options.stopSignal])
  const endPromise = once(endSignal, 'abort')
  /** Repeats an action until the run ends. After each time, waits until the load has sent the requests of `seconds` seconds. */
  const repeatEvery = async (seconds: number, action: () => Promise<void>) => {
    for (; !endSignal.aborted; await Promise.race([load.waitUntilSent(seconds * options.rate), endPromise]))
      await action()
  }
  const downtimes: { readonly from: number; to: number }[] = []
  const memory: Record<string, number[]> = {}
  const signingKids = new Set<string>()
  let failedCommands = 0

  await Promise.all([
    repeatEvery(MINUTE_SECONDS, () => killRandomProcess(stack, downtimes)),
    repeatEvery(STEP_SECONDS, async () => {
      const signingKid = await rotateKeys(stack)
      if (signingKid === undefined) failedCommands += 1
      else signingKids.add(signingKid)
    }),
    repeatEvery(SAMPLE_SECONDS, async () => {
      for (const { name, child } of [...stack.auth, ...stack.resource])
        (memory[name] ??= []).push(await readResidentMegabytes(child.pid))
      removeOldTokens(ledger)
    }),
    repeatEvery(MINUTE_SECONDS, async () =>
      options.print(formatProgress(load, ledger, downtimes.length, memory)),
    ),
  ])
  await load[Symbol.asyncDispose]()
  if (options.stopSignal.aborted) return undefined

  const refusals = load.entries.filter(({ outcome }) => outcome === 'refused')
  const isProvoked = ({ startedAt, endedAt }: { startedAt: number; endedAt: number }) =>
    downtimes.some(({ from, to }) => startedAt <= to + RECOVERY_MS && endedAt >= from)
  return {
    requests: load.entries.length,
    refused: refusals.length,
    unprovokedRefusals: refusals.filter((entry) => !isProvoked(entry)).length,
    wrong: load.entries.flatMap(({ operation, mistake }) => (mistake ? [`${operation}: ${mistake}`] : [])),
    lost: await checkAcknowledged(stack.origin, ledger),
    revocations: ledger.revokedTokens.length,
    rotations: Math.max(0, signingKids.size - 1),
    failedCommands,
    kills: downtimes.length,
    memory,
  }
}

/** Kills and restarts a random process. The first process of each app is never killed, because its memory must stay flat. */
async function killRandomProcess(
  stack: Stack,
  downtimes: { readonly from: number; to: number }[],
): Promise<void> {
  const victims = [...stack.auth.slice(1), ...stack.resource.slice(1)]
  const victim = victims[Math.floor(random() * victims.length)]
  if (!victim) return
  const downtime = { from: performance.now(), to: Number.POSITIVE_INFINITY }
  downtimes.push(downtime)
  await victim.stop('SIGKILL')
  await victim.start()
  downtime.to = performance.now()
}

/** Performs the due step of a rotation. Returns the `kid` of the signing key; undefined if a command failed. */
async function rotateKeys({ env }: Stack): Promise<string | undefined> {
  if ((await runAuth(['keys', 'rotate', '--json'], env)).code !== 0) return undefined
  const { code, printed } = await runAuth(['keys', 'list', '--json'], env)
  if (code !== 0) return undefined
  const { keys } = JSON.parse(printed) as { keys: { kid: string; state: string }[] }
  return keys.find(({ state }) => state === 'signing')?.kid
}

/** Removes old tokens from the ledger. Otherwise the final check could use them after their expiry. */
function removeOldTokens(ledger: Ledger): void {
  const isOld = (token: KnownToken) => token.requestedAt < performance.now() - MAX_TOKEN_AGE_MS
  for (const tokens of [ledger.tokens, ledger.liveTokens])
    tokens.splice(0, Number.POSITIVE_INFINITY, ...tokens.filter((token) => !isOld(token)))
}

function formatProgress(
  { entries }: Load,
  ledger: Ledger,
  kills: number,
  memory: Readonly<Record<string, readonly number[]>>,
): string {
  const countOutcome = (outcome: string) => entries.filter((entry) => entry.outcome === outcome).length
  const revokedTokenCount = ledger.revokedTokens.length
  const memoryFigures = Object.entries(memory).map(([name, samples]) => `${name} ${samples.at(-1) ?? 0} MB`)
  const counts = `${entries.length} requests, ${countOutcome('refused')} refused, ${countOutcome('wrong')} wrong`
  return `${counts}, ${revokedTokenCount} tokens revoked, ${kills} kills; ${memoryFigures.join(', ')}`
}
