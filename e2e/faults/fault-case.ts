import type { Fault } from './fault.ts'
import type { FaultNumber } from './fault-numbers.ts'
import type { ProxiedConnection } from './fault-proxies.ts'
import type { FaultyStack } from './faulty-stack.ts'
import type { Ledger } from './ledger.ts'
import type { Component, OperationName } from './operations.ts'

/** A failure that `npm run faults` injects for a while, and the responses that it may cause. */
export interface FaultCase {
  readonly name: string
  /** The numbers of this fault in `fault-numbers.ts`. */
  readonly numbers: readonly FaultNumber[]
  /**
   * The components that the fault affects. Only operations that need one of them may be refused (503), apart from the few
   * refusals that a busy machine explains.
   */
  readonly components: readonly Component[]
  /** Operations that no process can serve during the fault: each must be refused at least once. */
  readonly refusedOperations: readonly OperationName[]
  /** The maximum time until any response of the run; by default 5 s. */
  readonly maxResponseMs?: number
  /** The time after the fault in which refusals are still permitted; by default 5 s. */
  readonly graceMs?: number
  /** The maximum share of all requests that may be refused, for a fault during which most can be served. */
  readonly maxRefusedShare?: number
  /** The maximum share of all requests that may be refused because of load. Set for a fault that is itself load. */
  readonly maxShedShare?: number
  /** The time after the fault within which goodput must reach 80 % of its former value. */
  readonly maxRecoveryMs?: number
  /** The minimum times before (`steady`), during (`held`) and after the fault. A longer time of the run takes precedence. */
  readonly minSeconds?: { readonly steady: number; readonly held: number; readonly recovery: number }
  /** The number of times that clients immediately repeat a refused operation; by default 0. */
  readonly retries?: number
  /** The health check that the load must see fail during the fault. */
  readonly failingCheck?: 'database' | 'auth'
  /**
   * True if only `npm run faults` injects it, because it needs root or other programs, or resembles another fault or
   * test.
   */
  readonly isManual?: boolean
  /** Called before the load starts. */
  prepare?(system: FaultyStack, ledger: Ledger): Promise<void>
  /** Starts the fault, under load. */
  begin(system: FaultyStack, ledger: Ledger): Promise<void>
  /**
   * Returns true once the effects that the scenario needs were observed. The fault lasts until then, but is not
   * prolonged beyond 20 s.
   */
  isObserved?(): boolean
  /** Ends the fault. Resolves when the affected components work again. */
  end(system: FaultyStack, ledger: Ledger): Promise<void>
  /** Called after the load. Returns mistakes other than those in responses. */
  finish?(system: FaultyStack, ledger: Ledger): Promise<string[]>
}

/** Creates a fault that the proxies inject into connections between processes. */
export function createConnectionFault(
  options: Omit<FaultCase, 'begin' | 'end'> & {
    connections: readonly ProxiedConnection[]
    fault: Fault
  },
): FaultCase {
  const { connections, fault, ...faultCase } = options
  return {
    ...faultCase,
    begin: (system) => system.setFault(fault, ...connections),
    end: (system) => system.setFault({ kind: 'pass' }, ...connections),
  }
}

/** Creates a fault that runs `act` in a loop until the fault ends. */
export function createRepeatedFault(
  options: Omit<FaultCase, 'begin' | 'end'> & { act(system: FaultyStack, ledger: Ledger): Promise<void> },
): FaultCase {
  const { act, ...faultCase } = options
  let hasEnded = false
  let actions: Promise<void> | undefined
  return {
    ...faultCase,
    async begin(system, ledger) {
      hasEnded = false
      actions = (async () => {
        while (!hasEnded) await act(system, ledger)
      })()
      // `end` awaits the actions and reports a failure.
      actions.catch(() => undefined)
    },
    async end() {
      hasEnded = true
      await actions
    },
  }
}
