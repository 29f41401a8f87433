/** Computes a function of many variables, and writes its gradient to `slope`. */
export type Loss = (at: Float64Array, slope: Float64Array) => number

/** The number of steps from which the curvature is estimated. */
const MEMORY = 6
const MAX_HALVINGS = 12
/** The share of the expected gain that a step must bring. */
const MIN_GAIN = 1e-4
const MIN_CHANGE = 1e-6

/**
 * Finds the minimum of a convex function (L-BFGS with step halving). The result is deterministic.
 *
 * @param size the number of variables
 */
export function minimise(computeLoss: Loss, size: number, mostSteps: number): Float64Array {
  let at = new Float64Array(size)
  let slope = new Float64Array(size)
  let loss = computeLoss(at, slope)
  const memory: Step[] = []
  for (let round = 0; round < mostSteps; round += 1) {
    const direction = findDirection(slope, memory)
    const gain = dot(slope, direction)
    const nextSlope = new Float64Array(size)
    let next = at
    let nextLoss = loss
    for (let halvings = 0, length = 1; halvings < MAX_HALVINGS; halvings += 1, length /= 2) {
      next = at.map((value, i) => value - length * (direction[i] ?? 0))
      nextLoss = computeLoss(next, nextSlope)
      if (nextLoss <= loss - MIN_GAIN * length * gain) break
    }
    const moved = next.map((value, i) => value - (at[i] ?? 0))
    const bent = nextSlope.map((value, i) => value - (slope[i] ?? 0))
    const bend = dot(moved, bent)
    if (bend > 0) memory.push({ moved, bent, bend })
    if (memory.length > MEMORY) memory.shift()
    const isDone = Math.abs(loss - nextLoss) < MIN_CHANGE * Math.abs(loss)
    ;[at, slope, loss] = [next, nextSlope, nextLoss]
    if (isDone) break
  }
  return at
}

interface Step {
  readonly moved: Float64Array
  /** The change of the gradient. */
  readonly bent: Float64Array
  readonly bend: number
}

/** Computes the direction of the next step from the gradient and the last steps. */
function findDirection(slope: Float64Array, memory: readonly Step[]): Float64Array {
  const direction = Float64Array.from(slope)
  const add = (vector: Float64Array, times: number) => {
    for (let i = 0; i < direction.length; i += 1)
      direction[i] = (direction[i] ?? 0) + times * (vector[i] ?? 0)
  }
  const shares = memory.map(() => 0)
  for (const [i, { moved, bent, bend }] of [...memory.entries()].toReversed()) {
    shares[i] = dot(moved, direction) / bend
    add(bent, -(shares[i] ?? 0))
  }
  const last = memory.at(-1)
  const scale = last === undefined ? 1 / Math.sqrt(dot(slope, slope)) : last.bend / dot(last.bent, last.bent)
  for (let i = 0; i < direction.length; i += 1) direction[i] = (direction[i] ?? 0) * scale
  for (const [i, { moved, bent, bend }] of memory.entries())
    add(moved, (shares[i] ?? 0) - dot(bent, direction) / bend)
  return direction
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0
  for (let i = 0; i < a.length; i += 1) sum += (a[i] ?? 0) * (b[i] ?? 0)
  return sum
}
