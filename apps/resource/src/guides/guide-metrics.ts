import { Gauge, type Registry } from 'prom-client'
import type { GuideCatalog } from './guide-catalog.ts'

/**
 * `guide_stale`: how many published guides rest on sources that were checked too long ago. `guides list` names them.
 * `guide_altered`: how many are not in the store as the release has them. The log names them.
 */
export function registerGuideMetrics(registry: Registry, guides: { current(): GuideCatalog }): void {
  const gauge = new Gauge({
    name: 'guide_stale',
    help: 'Published guides of which a source was checked longer ago than the guide allows',
    registers: [],
    collect() {
      this.set(
        guides
          .current()
          .list()
          .guides.filter(({ stale }) => stale).length,
      )
    },
  })
  registry.registerMetric(gauge)
  const altered = new Gauge({
    name: 'guide_altered',
    help: 'Published guides whose text in the store is not that of the release under the same version',
    registers: [],
    collect() {
      this.set(guides.current().altered)
    },
  })
  registry.registerMetric(altered)
}
