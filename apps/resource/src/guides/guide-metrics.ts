import { Gauge, type Registry } from 'prom-client'
import type { GuideCatalog } from './guide-catalog.ts'

/** Registers the metrics of how many guides are stale (`guides list` names them) and how many were altered (the log names them). */
export function registerGuideMetrics(registry: Registry, guides: { current(): GuideCatalog }): void {
  const show = (name: string, help: string, read: (catalog: GuideCatalog) => number) =>
    registry.registerMetric(
      new Gauge({
        name,
        help,
        registers: [],
        collect() {
          this.set(read(guides.current()))
        },
      }),
    )
  show(
    'guide_stale',
    'Published guides with a statement whose sources were all checked too long ago',
    (catalog) => catalog.list().guides.filter(({ stale }) => stale).length,
  )
  show(
    'guide_altered',
    'Published guides whose text in the store is not that of the release under the same version',
    (catalog) => catalog.altered,
  )
}
