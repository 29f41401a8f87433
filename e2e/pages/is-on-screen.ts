import type { Locator, Page } from 'playwright-core'

/** Returns whether the whole height of an element is on the screen at the current scroll position. */
export async function isOnScreen(page: Page, element: Locator): Promise<boolean> {
  const box = await element.boundingBox()
  return box !== null && box.y >= 0 && box.y + box.height <= (page.viewportSize()?.height ?? 0)
}
