import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** An app's metrics. Labels are words of our own, such as route patterns, never a text that a client chose. */
export interface Metrics {
  readonly registry: Registry
  countResponse(response: { method: string; route: string; status: number; seconds: number }): void
  countLimitDecision(policy: string, decision: Decision): void
  /** Sets the clock skew: how far this machine's clock is ahead of the database's. */
  setSkew(seconds: number): void
  /** Records a successful run of a sweep. Call it at startup too, so that a sweep that never succeeds becomes overdue. */
  recordSweep(sweep: string): void
  /** Creates a gauge. Setting it removes its values for other labels. */
  createGauge(
    name: string,
    help: string,
    labels?: readonly string[],
  ): (value: number, labels?: Labels) => void
  /**
   * Creates a counter.
   *
   * @param initialLabels labels that are exported as 0 before they are first counted
   */
  createCounter(
    name: string,
    help: string,
    labels?: readonly string[],
    initialLabels?: readonly Labels[],
  ): (labels?: Labels) => void
  /** Creates a counter with one label. Each of `labelValues` is exported as 0 before it is first counted. */
  createLabelledCounter(
    name: string,
    help: string,
    label: string,
    labelValues?: readonly string[],
  ): (labelValue: string) => void
  /** Creates a histogram. `buckets` are the upper bounds, in ascending order. */
  createHistogram(name: string, help: string, buckets: readonly number[]): (value: number) => void
  /** Creates a gauge with one label. `read` is called at each scrape. It returns the number for each value of the label. */
  createSampledGauge(
    name: string,
    help: string,
    label: string,
    read: () => Readonly<Record<string, number>>,
  ): void
}

type Labels = Readonly<Record<string, string>>

export function createMetrics(service: string): Metrics {
  const registry = new Registry()
  registry.setDefaultLabels({ service })
  collectDefaultMetrics({ register: registry })
  const requestDuration = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time until the response was sent, by method, route pattern and status',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2],
    registers: [registry],
  })
  const countLimitDecision = createDecisionCounter(registry)
  const clockSkew = new Gauge({
    name: 'clock_skew_seconds',
    help: 'Seconds by which the clock of this machine is ahead of the clock of the database',
    registers: [registry],
  })
  const lastSweepTime = new Gauge({
    name: 'retention_last_success_timestamp_seconds',
    help: 'Time when each sweep last finished, or when the process started if it has not',
    labelNames: ['sweep'],
    registers: [registry],
  })
  return {
    registry,
    setSkew: (seconds) => clockSkew.set(seconds),
    recordSweep: (sweep) => lastSweepTime.setToCurrentTime({ sweep }),
    countResponse: ({ method, route, status, seconds }) =>
      requestDuration.observe({ method, route, status: String(status) }, seconds),
    countLimitDecision,
    createGauge(name, help, labelNames = []) {
      const gauge = new Gauge({ name, help, labelNames, registers: [registry] })
      return (value, labels = {}) => {
        gauge.reset()
        gauge.set(labels, value)
      }
    },
    createCounter(name, help, labelNames = [], initialLabels = []) {
      const counter = new Counter({ name, help, labelNames, registers: [registry] })
      for (const labels of initialLabels) counter.inc(labels, 0)
      return (labels = {}) => counter.inc(labels)
    },
    createLabelledCounter(name, help, label, labelValues = []) {
      const counter = new Counter({ name, help, labelNames: [label], registers: [registry] })
      for (const labelValue of labelValues) counter.inc({ [label]: labelValue }, 0)
      return (labelValue) => counter.inc({ [label]: labelValue })
    },
    createSampledGauge(name, help, label, read) {
      const gauge = new Gauge({
        name,
        help,
        labelNames: [label],
        registers: [],
        collect() {
          for (const [labelValue, number] of Object.entries(read())) this.set({ [label]: labelValue }, number)
        },
      })
      registry.registerMetric(gauge)
    },
    createHistogram(name, help, buckets) {
      const histogram = new Histogram({ name, help, buckets: [...buckets], registers: [registry] })
      return (value) => histogram.observe(value)
    },
  }
}

/** `uncounted`: the shared store failed, so only this process counted the request. `allowed` or `refused` is counted too. */
type Decision = 'allowed' | 'refused' | 'uncounted'

/**
 * Creates the counter of rate-limit decisions. It counts in a map that is read at each scrape, because the library
 * would serialise the labels two or three times per request.
 */
function createDecisionCounter(registry: Registry): (policy: string, decision: Decision) => void {
  const countsByPolicy = new Map<string, Record<Decision, number>>()
  registerSampledCounter(registry, {
    name: 'limit_decisions_total',
    help: 'Requests counted by a rate limit, by policy and decision',
    labelNames: ['policy', 'decision'],
    *read() {
      for (const [policy, counts] of countsByPolicy)
        for (const [decision, count] of Object.entries(counts))
          if (count > 0) yield [{ policy, decision }, count]
    },
  })
  return (policy, decision) => {
    const counts = countsByPolicy.get(policy) ?? { allowed: 0, refused: 0, uncounted: 0 }
    counts[decision] += 1
    countsByPolicy.set(policy, counts)
  }
}

/** Registers a counter whose values `read` returns at each scrape. */
function registerSampledCounter(
  registry: Registry,
  counter: {
    name: string
    help: string
    labelNames?: readonly string[]
    read(): Iterable<[labels: Record<string, string>, count: number]>
  },
): void {
  const { name, help, labelNames = [], read } = counter
  registry.registerMetric(
    new Counter({
      name,
      help,
      labelNames,
      registers: [],
      collect() {
        this.reset()
        for (const [labels, count] of read()) this.inc(labels, count)
      },
    }),
  )
}

/** A connection pool's current use, and its failures since it was opened. */
interface PoolUsage {
  /** Connections in use. */
  readonly inUse: number
  readonly idle: number
  /** Requests that wait for a connection. */
  readonly waiting: number
  /** Requests that were refused because the queue was full. */
  readonly shed: number
  /** Requests that got no connection in time, or failed because the database was unavailable. */
  readonly failed: number
  readonly max: number
}

/**
 * Registers the metrics of a connection pool: `database_pool` (connections in use and idle, waiting requests, the
 * maximum), `database_shed_total` (requests refused because the queue was full) and `database_failures_total` (requests
 * that got no connection in time, or failed because the database was unavailable).
 */
export function registerPoolMetrics(
  metrics: Pick<Metrics, 'registry' | 'createSampledGauge'>,
  pool: { getUsage(): PoolUsage },
): void {
  metrics.createSampledGauge(
    'database_pool',
    'Connections to PostgreSQL by state, and requests that wait for one',
    'state',
    () => {
      const { inUse, idle, waiting, max } = pool.getUsage()
      return { in_use: inUse, idle, waiting, max }
    },
  )
  const registerCounter = (name: string, help: string, count: 'shed' | 'failed') =>
    registerSampledCounter(metrics.registry, { name, help, read: () => [[{}, pool.getUsage()[count]]] })
  registerCounter(
    'database_shed_total',
    'Uses of PostgreSQL that were refused at once, since too many waited for a connection',
    'shed',
  )
  registerCounter(
    'database_failures_total',
    'Uses of PostgreSQL that failed since it did not answer: no connection, one that was lost, a time-out',
    'failed',
  )
}
