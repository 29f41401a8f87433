import { Gauge, type Registry } from 'prom-client'
import type { GuideCatalog } from './guide-catalog.ts'

/**
 * Registers the gauges that count stale and altered guides. `guides list` shows which guides are stale, and the log names the
 * altered guides.
 */
export function registerGuideMetrics(registry: Registry, guides: { current(): GuideCatalog }): void {
  const registerGauge = (name: string, help: string, countGuides: (catalog: GuideCatalog) => number) =>
    registry.registerMetric(
      new Gauge({
        name,
        help,
        // By default, the gauge would also be added to prom-client's global registry.
        registers: [],
        collect() {
          this.set(countGuides(guides.current()))
        },
      }),
    )
  registerGauge(
    'guide_stale',
    'Published guides with at least one statement whose sources were all checked too long ago',
    (catalog) => catalog.list().guides.filter(({ stale }) => stale).length,
  )
  registerGauge(
    'guide_altered',
    "Published guides whose stored text differs from this release's text of the same version",
    (catalog) => catalog.alteredCount,
  )
}
