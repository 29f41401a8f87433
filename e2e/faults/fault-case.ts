import type { Fault } from './fault.ts'
import type { FaultNumber } from './fault-numbers.ts'
import type { FaultyStack } from './faulty-stack.ts'
import type { Ledger } from './ledger.ts'
import type { OperationName, Part } from './operations.ts'
import type { Way } from './ways.ts'

/** A failure that `npm run faults` injects for a while, and the responses that it may cause. */
export interface FaultCase {
  readonly name: string
  /** Its numbers in `fault-numbers.ts`. */
  readonly numbers: readonly FaultNumber[]
  /** The parts that it affects. Only operations that need one of them may be refused (503). */
  readonly parts: readonly Part[]
  /** Operations that no process can serve during the fault: each must be refused at least once. */
  readonly refuses: readonly OperationName[]
  /** The longest time until a response during the fault; 5 s when absent. */
  readonly maxResponseMs?: number
  /** The time after the fault in which refusals are still permitted; 5 s when absent. */
  readonly graceMs?: number
  /** The largest share of all requests that may be refused, for a fault during which most can be served. */
  readonly maxRefusedShare?: number
  /** For a fault that is itself load: a busy machine may refuse this share of all requests. */
  readonly maxShedShare?: number
  /** The time after the fault within which goodput must reach 80 % of what it was before. */
  readonly maxRecoveryMs?: number
  /** The shortest times before, during and after the fault. */
  readonly minSeconds?: { readonly steady: number; readonly held: number; readonly recovery: number }
  /** How often clients immediately repeat a refused request. */
  readonly retries?: number
  /** The health check that fails during the fault. */
  readonly failsCheck?: 'database' | 'auth'
  /** Whether only `npm run faults` runs it: it needs root or other programs, or resembles another fault or test. */
  readonly isManual?: boolean
  /** Called before the load starts. */
  prepare?(system: FaultyStack, ledger: Ledger): Promise<void>
  begin(system: FaultyStack, ledger: Ledger): Promise<void>
  /** Whether the effects that the scenario needs were observed. The fault lasts until then, within a bound. */
  isObserved?(): boolean
  /** Ends the fault. Resolves when the part works again. */
  end(system: FaultyStack, ledger: Ledger): Promise<void>
  /** Called after the load. Returns mistakes other than those in responses. */
  finish?(system: FaultyStack, ledger: Ledger): Promise<string[]>
}

/** Creates a fault of the connections between processes, by their proxies. */
export function connectionFault(
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

/** Creates a fault that must be caused repeatedly: `act` runs again and again until the fault ends. */
export function repeatedFault(
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
      // `end` awaits it and reports a failure.
      acting.catch(() => undefined)
    },
    async end() {
      ended = true
      await acting
    },
  }
}
