import type { Fault } from './fault.ts'
import type { FaultNumber } from './fault-numbers.ts'
import type { FaultyStack } from './faulty-stack.ts'
import type { Ledger } from './ledger.ts'
import type { OperationName, Part } from './operations.ts'
import type { Way } from './ways.ts'

/** Something that goes wrong for a while. */
export interface FaultCase {
  readonly name: string
  /** Which faults of the list in `fault-numbers.ts` it is. */
  readonly numbers: readonly FaultNumber[]
  /** What it hits: whatever needs one of these may be answered 503, and nothing else. */
  readonly parts: readonly Part[]
  /** What nobody can serve meanwhile, so it is seen refused. */
  readonly refuses: readonly OperationName[]
  /** The longest that an answer may take meanwhile, where it is not 5 s. */
  readonly slowestMs?: number
  /** How long after the fault refusals are still right, where it is not 5 s. */
  readonly graceMs?: number
  /** The largest share of all requests that may be refused, where most of it can be served. */
  readonly mostRefused?: number
  /** It is load itself: a busy machine may refuse this share of all requests. */
  readonly mayShed?: number
  /** How long after the fault good answers must be as frequent again as before, all but a fifth. */
  readonly recoversMs?: number
  /** At least so many seconds before it, while it lasts, and afterwards. */
  readonly least?: { readonly steady: number; readonly held: number; readonly recovery: number }
  /** How often clients ask at once again for what was refused. */
  readonly retries?: number
  /** The check of health that fails meanwhile. */
  readonly failsCheck?: 'database' | 'auth'
  /** Needs root or other programs, resembles another one or has a test beside it: only `npm run faults` runs it. */
  readonly byHand?: boolean
  /** Before the load. */
  prepare?(system: FaultyStack, ledger: Ledger): Promise<void>
  begin(system: FaultyStack, ledger: Ledger): Promise<void>
  /** Whether the scenario has seen what it judges by; the fault is held until then, within a bound. */
  hasShown?(): boolean
  /** Returns when the part is back. */
  end(system: FaultyStack, ledger: Ledger): Promise<void>
  /** After the load. @returns what is wrong beside the answers */
  finish?(system: FaultyStack, ledger: Ledger): Promise<string[]>
}

/** A fault of the ways between the processes. */
export function onTheWay(
  options: Omit<FaultCase, 'begin' | 'end'> & {
    ways: readonly Way[]
    fault: Fault
  },
): FaultCase {
  const { ways, fault, ...rest } = options
  return {
    ...rest,
    begin: (system) => system.put(fault, ...ways),
    end: (system) => system.put({ kind: 'pass' }, ...ways),
  }
}

/** A fault that somebody must go on making: `act` runs again and again until it ends. */
export function ongoing(
  options: Omit<FaultCase, 'begin' | 'end'> & { act(system: FaultyStack, ledger: Ledger): Promise<void> },
): FaultCase {
  const { act, ...rest } = options
  let ended = false
  let acting: Promise<void> | undefined
  return {
    ...rest,
    async begin(system, ledger) {
      ended = false
      acting = (async () => {
        while (!ended) await act(system, ledger)
      })()
      // Whoever ends it hears of a failure.
      acting.catch(() => undefined)
    },
    async end() {
      ended = true
      await acting
    },
  }
}
