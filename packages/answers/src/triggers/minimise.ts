/** Computes a function of many variables at a point. Overwrites `gradient` with its gradient; the array may hold old values. */
export type ComputeLoss = (point: Float64Array, gradient: Float64Array) => number

/** The memory size of L-BFGS: the Hessian is estimated from at most this many of the last steps. */
const MAX_REMEMBERED_STEPS = 6
/**
 * The number of lengths that are tried for a step, each half of the one before. If none decreases the loss enough, the step has
 * the shortest of them, and the loss may rise.
 */
const MAX_TRIED_LENGTHS = 12
/**
 * The share of the decrease expected from the gradient that a step must bring (Armijo condition). Otherwise its length is halved.
 */
const MIN_DECREASE_SHARE = 1e-4
/** The search stops after a step that changes the loss by a smaller share than this. */
const MIN_RELATIVE_CHANGE = 1e-6

/**
 * Searches for the minimum of a convex function from the origin (L-BFGS with step halving). The result is deterministic. After
 * `maxSteps` steps, the search stops even if it has not converged. The gradient at the origin must not be zero: the result would
 * be NaN.
 *
 * @param dimension the number of variables
 */
export function minimise(computeLoss: ComputeLoss, dimension: number, maxSteps: number): Float64Array {
  let point = new Float64Array(dimension)
  let gradient = new Float64Array(dimension)
  let loss = computeLoss(point, gradient)
  const steps: Step[] = []
  for (let step = 0; step < maxSteps; step += 1) {
    const direction = approximateNewtonStep(gradient, steps)
    const expectedDecrease = dot(gradient, direction)
    const nextGradient = new Float64Array(dimension)
    let nextPoint = point
    let nextLoss = loss
    for (let attempt = 0, length = 1; attempt < MAX_TRIED_LENGTHS; attempt += 1, length /= 2) {
      nextPoint = point.map((value, i) => value - length * (direction[i] ?? 0))
      nextLoss = computeLoss(nextPoint, nextGradient)
      if (nextLoss <= loss - MIN_DECREASE_SHARE * length * expectedDecrease) break
    }
    const pointChange = nextPoint.map((value, i) => value - (point[i] ?? 0))
    const gradientChange = nextGradient.map((value, i) => value - (gradient[i] ?? 0))
    const curvature = dot(pointChange, gradientChange)
    // L-BFGS can use only steps with a positive curvature.
    if (curvature > 0) steps.push({ pointChange, gradientChange, curvature })
    if (steps.length > MAX_REMEMBERED_STEPS) steps.shift()
    const isDone = Math.abs(loss - nextLoss) < MIN_RELATIVE_CHANGE * Math.abs(loss)
    point = nextPoint
    gradient = nextGradient
    loss = nextLoss
    if (isDone) break
  }
  return point
}

interface Step {
  readonly pointChange: Float64Array
  readonly gradientChange: Float64Array
  /** The dot product of the two changes. Positive. */
  readonly curvature: number
}

/**
 * Multiplies the gradient by an estimate of the inverse Hessian (two-loop recursion of L-BFGS). The next step goes against the
 * result.
 *
 * @param steps the last steps, oldest first
 */
function approximateNewtonStep(gradient: Float64Array, steps: readonly Step[]): Float64Array {
  const direction = Float64Array.from(gradient)
  const addScaled = (vector: Float64Array, factor: number) => {
    for (let i = 0; i < direction.length; i += 1)
      direction[i] = (direction[i] ?? 0) + factor * (vector[i] ?? 0)
  }
  // The first loop goes from the newest step to the oldest, and subtracts a multiple of each gradient change.
  const factors = steps.map(() => 0)
  for (const [i, { pointChange, gradientChange, curvature }] of [...steps.entries()].toReversed()) {
    factors[i] = dot(pointChange, direction) / curvature
    addScaled(gradientChange, -(factors[i] ?? 0))
  }
  const last = steps.at(-1)
  // The first direction has the length 1. Later ones are scaled by an estimate of the inverse Hessian's size from the last step.
  const scale =
    last === undefined
      ? 1 / Math.sqrt(dot(gradient, gradient))
      : last.curvature / dot(last.gradientChange, last.gradientChange)
  for (let i = 0; i < direction.length; i += 1) direction[i] = (direction[i] ?? 0) * scale
  // The second loop goes from the oldest step to the newest, and adds a multiple of each point change.
  for (const [i, { pointChange, gradientChange, curvature }] of steps.entries())
    addScaled(pointChange, (factors[i] ?? 0) - dot(gradientChange, direction) / curvature)
  return direction
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0
  for (let i = 0; i < a.length; i += 1) sum += (a[i] ?? 0) * (b[i] ?? 0)
  return sum
}
