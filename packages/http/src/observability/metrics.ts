import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** The metrics of an app. Labels are route patterns, statuses and policy names, never a value that a client sent. */
export interface Metrics {
  readonly registry: Registry
  countResponse(response: { method: string; route: string; status: number; seconds: number }): void
  limited(policy: string, decision: Decision): void
  /** Sets the clock skew: how far the clock of this machine is ahead of the database's, in seconds. */
  clockSkew(seconds: number): void
  /** Records a successful run of `sweep`. Called once at the start too, so that the first run can be overdue. */
  swept(sweep: string): void
  /** Creates a gauge. Setting it removes its values for other labels. */
  gauge(name: string, help: string, labels?: readonly string[]): (value: number, labels?: Labels) => void
  /** Creates a counter. @param first labels that start at 0, so that they are exported before they are first counted */
  counter(
    name: string,
    help: string,
    labels?: readonly string[],
    first?: readonly Labels[],
  ): (labels?: Labels) => void
  /** Creates a counter with one label. Its `values` start at 0, so that they are exported before they are first counted. */
  counters(name: string, help: string, label: string, values?: readonly string[]): (value: string) => void
  /** Creates a histogram. @param buckets upper bounds, rising */
  histogram(name: string, help: string, buckets: readonly number[]): (value: number) => void
  /** Creates a gauge that is read at each scrape, once for each value of one label. */
  sampled(name: string, help: string, label: string, read: () => Readonly<Record<string, number>>): void
}

type Labels = Readonly<Record<string, string>>

export function createMetrics(service: string): Metrics {
  const registry = new Registry()
  registry.setDefaultLabels({ service })
  collectDefaultMetrics({ register: registry })
  const requests = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time to answer, by route pattern and status',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2],
    registers: [registry],
  })
  const limited = limitDecisions(registry)
  const skew = new Gauge({
    name: 'clock_skew_seconds',
    help: 'How far the clock of this machine is ahead of the database’s',
    registers: [registry],
  })
  const retention = new Gauge({
    name: 'retention_last_success_timestamp_seconds',
    help: 'When a sweep last erased what is over; before the first time, when the process began',
    labelNames: ['sweep'],
    registers: [registry],
  })
  return {
    registry,
    clockSkew: (seconds) => skew.set(seconds),
    swept: (sweep) => retention.setToCurrentTime({ sweep }),
    countResponse: ({ method, route, status, seconds }) =>
      requests.observe({ method, route, status: String(status) }, seconds),
    limited,
    gauge(name, help, labelNames = []) {
      const gauge = new Gauge({ name, help, labelNames, registers: [registry] })
      return (value, labels = {}) => {
        gauge.reset()
        gauge.set(labels, value)
      }
    },
    counter(name, help, labelNames = [], first = []) {
      const counter = new Counter({ name, help, labelNames, registers: [registry] })
      for (const labels of first) counter.inc(labels, 0)
      return (labels = {}) => counter.inc(labels)
    },
    counters(name, help, label, values = []) {
      const counter = new Counter({ name, help, labelNames: [label], registers: [registry] })
      for (const value of values) counter.inc({ [label]: value }, 0)
      return (value) => counter.inc({ [label]: value })
    },
    sampled(name, help, label, read) {
      const gauge = new Gauge({
        name,
        help,
        labelNames: [label],
        registers: [],
        collect() {
          for (const [value, number] of Object.entries(read())) this.set({ [label]: value }, number)
        },
      })
      registry.registerMetric(gauge)
    },
    histogram(name, help, buckets) {
      const histogram = new Histogram({ name, help, buckets: [...buckets], registers: [registry] })
      return (value) => histogram.observe(value)
    },
  }
}

type Decision = 'allowed' | 'refused' | 'uncounted'

/**
 * Counts the decisions of rate limits in a map that is read at each scrape. The library would serialise the labels for
 * each count, two or three times per request.
 */
function limitDecisions(registry: Registry): (policy: string, decision: Decision) => void {
  const decided = new Map<string, Record<Decision, number>>()
  talliedCounter(registry, {
    name: 'limit_decisions_total',
    help: 'Requests counted by a rate limit, by policy and decision',
    labelNames: ['policy', 'decision'],
    *read() {
      for (const [policy, counts] of decided)
        for (const [decision, count] of Object.entries(counts))
          if (count > 0) yield [{ policy, decision }, count]
    },
  })
  return (policy, decision) => {
    const counts = decided.get(policy) ?? { allowed: 0, refused: 0, uncounted: 0 }
    counts[decision] += 1
    decided.set(policy, counts)
  }
}

/** Registers a counter whose values are kept elsewhere. @param counter.read returns them at each scrape */
function talliedCounter(
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

/** The current use of a connection pool. */
interface PoolUsage {
  /** Connections in use. */
  readonly inUse: number
  readonly idle: number
  /** Requests that wait for a connection. */
  readonly waiting: number
  /** Requests refused because the queue was full, since the pool was opened. */
  readonly shed: number
  /** Requests that failed because the server did not respond, since the pool was opened. */
  readonly failed: number
  readonly max: number
}

/**
 * Registers the metrics of a pool: `database_pool` (connections in use and idle, waiting requests, the maximum),
 * `database_shed_total` (requests refused because the queue was full) and `database_failures_total` (other failures).
 */
export function poolMetrics(
  metrics: Pick<Metrics, 'registry' | 'sampled'>,
  pool: { usage(): PoolUsage },
): void {
  metrics.sampled(
    'database_pool',
    'Connections to PostgreSQL by state, and requests that wait for one',
    'state',
    () => {
      const { inUse, idle, waiting, max } = pool.usage()
      return { in_use: inUse, idle, waiting, max }
    },
  )
  const tally = (name: string, help: string, count: 'shed' | 'failed') =>
    talliedCounter(metrics.registry, { name, help, read: () => [[{}, pool.usage()[count]]] })
  tally(
    'database_shed_total',
    'Uses of PostgreSQL that were refused at once, since too many waited for a connection',
    'shed',
  )
  tally(
    'database_failures_total',
    'Uses of PostgreSQL that failed since it did not answer: no connection, one that was lost, a time-out',
    'failed',
  )
}
