import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** What is counted for every app. Labels are route patterns, statuses and policy names: never what a client sent. */
export interface Metrics {
  readonly registry: Registry
  answered(answer: { method: string; route: string; status: number; seconds: number }): void
  limited(policy: string, decision: 'allowed' | 'refused' | 'uncounted'): void
  /** How far the clock of this machine is ahead of the database's, in seconds. */
  clockSkew(seconds: number): void
  /** A gauge of the app's own; setting it forgets its values for other labels. */
  gauge(name: string, help: string, labels?: readonly string[]): (value: number, labels?: Labels) => void
  /** A counter of the app's own. */
  counter(name: string, help: string, labels?: readonly string[]): (labels?: Labels) => void
  /** A histogram of the app's own. @param buckets upper bounds, rising */
  histogram(name: string, help: string, buckets: readonly number[]): (value: number) => void
  /** A gauge that is read when it is scraped, under each value of one label. */
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
  const limits = new Counter({
    name: 'limit_decisions_total',
    help: 'Requests counted by a rate limit, by policy and decision',
    labelNames: ['policy', 'decision'],
    registers: [registry],
  })
  const skew = new Gauge({
    name: 'clock_skew_seconds',
    help: 'How far the clock of this machine is ahead of the database’s',
    registers: [registry],
  })
  return {
    registry,
    clockSkew: (seconds) => skew.set(seconds),
    answered: ({ method, route, status, seconds }) =>
      requests.observe({ method, route, status: String(status) }, seconds),
    limited: (policy, decision) => limits.inc({ policy, decision }),
    gauge(name, help, labelNames = []) {
      const gauge = new Gauge({ name, help, labelNames, registers: [registry] })
      return (value, labels = {}) => {
        gauge.reset()
        gauge.set(labels, value)
      }
    },
    counter(name, help, labelNames = []) {
      const counter = new Counter({ name, help, labelNames, registers: [registry] })
      return (labels = {}) => counter.inc(labels)
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
