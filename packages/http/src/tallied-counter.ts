import { Counter, type Registry } from 'prom-client'

/** A counter that somebody else counts. @param counter.read gives what it stands at, under its labels, when it is scraped */
export function talliedCounter(
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
