import type { Fault } from './fault.ts'
import type { FaultyStack, Way } from './faulty-stack.ts'
import type { Ledger } from './ledger.ts'
import type { OperationName, Part } from './operations.ts'

/** Something that goes wrong for a while. */
export interface FaultCase {
  readonly name: string
  /** What it hits: whatever needs one of these may be answered 503, and nothing else. */
  readonly parts: readonly Part[]
  /** What nobody can serve meanwhile, so it is seen refused. */
  readonly refuses: readonly OperationName[]
  /** The longest that an answer may take meanwhile, where it is not 5 s. */
  readonly slowestMs?: number
  /** The check of health that fails meanwhile. */
  readonly failsCheck?: 'database' | 'auth'
  begin(system: FaultyStack, ledger: Ledger): Promise<void>
  /** Returns when the part is back. */
  end(system: FaultyStack, ledger: Ledger): Promise<void>
}

/** A fault of the ways between the processes. */
export function onTheWay(
  options: Pick<FaultCase, 'name' | 'parts' | 'refuses' | 'failsCheck'> & {
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
