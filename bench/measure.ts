import { type Saturation, saturate } from './load/closed-loop.ts'
import { type Arrivals, arrive } from './load/open-loop.ts'
import type { Target } from './load/target.ts'

/** One target in one round: how much it can do, and how long it takes at 60 % of that. */
export interface Measurement {
  readonly saturation: Saturation
  readonly arrivals: Arrivals
  /** Why no figure may be taken from it. */
  readonly fault?: Fault
  /** The generator was late, so there is no latency to tell; what the target can do was measured all the same. */
  readonly isLate: boolean
}

export interface Fault {
  /** `errors` spoil the figure for good; a generator that could not keep up spoils this try. */
  readonly kind: 'errors' | 'generator'
  readonly what: string
}

const SHARE_OF_SATURATION = 0.6
/** A generator that is later than this measures itself. */
const MOST_LAG_MS = 5
const TRIES = 3

/** Tries again when the generator could not keep up, at most twice. */
export async function measure(
  target: Target,
  { seconds, boundBy }: { seconds: number; boundBy: 'server' | 'store' },
): Promise<Measurement> {
  let measurement: Measurement | undefined
  for (let tried = 0; tried < TRIES; tried += 1) {
    const saturation = await saturate(target, seconds)
    const rate = Math.max(1, saturation.perSecond * SHARE_OF_SATURATION)
    const arrivals = await arrive(target, { rate, seconds })
    const fault = faultOf({ saturation, arrivals }, boundBy)
    measurement = { saturation, arrivals, isLate: isLate(arrivals), ...(fault && { fault }) }
    if (fault?.kind !== 'generator') break
  }
  if (!measurement) throw new Error('nothing was measured')
  return measurement
}

/** What makes a measurement say nothing of the target. */
export function faultOf(
  { saturation, arrivals }: Pick<Measurement, 'saturation' | 'arrivals'>,
  boundBy: 'server' | 'store',
): Fault | undefined {
  const errors = saturation.errors + arrivals.errors
  if (errors > 0 || arrivals.answered === 0) return { kind: 'errors', what: `${errors} errors` }
  const { targetBusy, generatorBusy } = saturation
  if (boundBy === 'server' && targetBusy < 0.9 && generatorBusy > 0.85) {
    return {
      kind: 'generator',
      what: `the generator was the slower one (server ${percent(targetBusy)} busy)`,
    }
  }
  return undefined
}

export const isLate = ({ lag }: Arrivals) => lag.p99 > MOST_LAG_MS

export const percent = (share: number) => `${Math.round(share * 100)} %`
