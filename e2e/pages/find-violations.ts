import axe from 'axe-core'
import type { Page } from 'playwright-core'

/** axe checks `target-size` (WCAG 2.2, 2.5.8) only if a run enables it. */
const RUN_AXE = `axe.run({ rules: { 'target-size': { enabled: true } } })`

/** Returns one line for each violation that axe finds on a page: the rule, and the element. */
export async function findViolations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate<axe.AxeResults>(RUN_AXE)
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
}
