import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** What is counted for every app. Labels are route patterns, statuses and policy names: never what a client sent. */
export interface Metrics {
  readonly registry: Registry
  answered(answer: { method: string; route: string; status: number; seconds: number }): void
  limited(policy: string, decision: 'allowed' | 'refused' | 'uncounted'): void
  /** A gauge of the app's own; setting it forgets its values for other labels. */
  gauge(name: string, help: string, labels?: readonly string[]): (value: number, labels?: Labels) => void
  /** A counter of the app's own. */
  counter(name: string, help: string): () => void
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
  return {
    registry,
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
    counter(name, help) {
      const counter = new Counter({ name, help, registers: [registry] })
      return () => counter.inc()
    },
  }
}
