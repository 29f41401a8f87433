/** Computes a function of many variables at a point, and writes its gradient to `gradient`. */
export type ComputeLoss = (point: Float64Array, gradient: Float64Array) => number

/** The number of steps from which the curvature is estimated. */
const MAX_REMEMBERED_STEPS = 6
/** The number of lengths that are tried for a step. If none brings enough gain, the step has the shortest of them. */
const MAX_HALVINGS = 12
/** The share of the expected gain that a step must bring. Otherwise its length is halved. */
const MIN_GAIN_SHARE = 1e-4
/** The search ends at a step with a smaller relative change of the loss. */
const MIN_RELATIVE_CHANGE = 1e-6

/**
 * Searches for the minimum of a convex function (L-BFGS with step halving). The result is deterministic.
 *
 * @param size the number of variables
 */
export function minimise(computeLoss: ComputeLoss, size: number, maxSteps: number): Float64Array {
  let point = new Float64Array(size)
  let gradient = new Float64Array(size)
  let loss = computeLoss(point, gradient)
  const steps: Step[] = []
  for (let round = 0; round < maxSteps; round += 1) {
    const direction = findDirection(gradient, steps)
    const expectedGain = dot(gradient, direction)
    const nextGradient = new Float64Array(size)
    let nextPoint = point
    let nextLoss = loss
    for (let halvings = 0, length = 1; halvings < MAX_HALVINGS; halvings += 1, length /= 2) {
      nextPoint = point.map((value, i) => value - length * (direction[i] ?? 0))
      nextLoss = computeLoss(nextPoint, nextGradient)
      if (nextLoss <= loss - MIN_GAIN_SHARE * length * expectedGain) break
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
  /** The dot product of the two changes. */
  readonly curvature: number
}

/** Computes the direction against which the next step goes, from the gradient and the last steps, oldest first. */
function findDirection(gradient: Float64Array, steps: readonly Step[]): Float64Array {
  const direction = Float64Array.from(gradient)
  const addScaled = (vector: Float64Array, factor: number) => {
    for (let i = 0; i < direction.length; i += 1)
      direction[i] = (direction[i] ?? 0) + factor * (vector[i] ?? 0)
  }
  const factors = steps.map(() => 0)
  for (const [i, { pointChange, gradientChange, curvature }] of [...steps.entries()].toReversed()) {
    factors[i] = dot(pointChange, direction) / curvature
    addScaled(gradientChange, -(factors[i] ?? 0))
  }
  const last = steps.at(-1)
  // The first direction has the length 1. Later ones are scaled by the inverse curvature of the last step.
  const scale =
    last === undefined
      ? 1 / Math.sqrt(dot(gradient, gradient))
      : last.curvature / dot(last.gradientChange, last.gradientChange)
  for (let i = 0; i < direction.length; i += 1) direction[i] = (direction[i] ?? 0) * scale
  for (const [i, { pointChange, gradientChange, curvature }] of steps.entries())
    addScaled(pointChange, (factors[i] ?? 0) - dot(gradientChange, direction) / curvature)
  return direction
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0
  for (let i = 0; i < a.length; i += 1) sum += (a[i] ?? 0) * (b[i] ?? 0)
  return sum
}
