import type { Locator, Page } from 'playwright-core'

/** True for an element that is on the screen without scrolling from where the page is. */
export async function isOnScreen(page: Page, element: Locator): Promise<boolean> {
  const box = await element.boundingBox()
  return box !== null && box.y >= 0 && box.y + box.height <= (page.viewportSize()?.height ?? 0)
}
