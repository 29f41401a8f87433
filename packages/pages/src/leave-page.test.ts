import { describe, expect, test } from 'vitest'
import { toMarkup } from './html.ts'
import { LEAVE_HEADERS, LEAVE_SCRIPT, NEUTRAL_SITE, renderQuickExit } from './leave-page.ts'
import { PAGE_CSP } from './render-page.ts'

describe('the quick exit', () => {
  test('is a plain link to a neutral site, without a referrer', () => {
    expect(toMarkup(renderQuickExit())).toContain(
      `<a href="${NEUTRAL_SITE}" rel="noreferrer nofollow" title="Opens Wikipedia in place of this page">Leave this page</a>`,
    )
  })

  test('hides the Shift shortcut, which needs scripts, until a script shows it', () => {
    const withoutScripts = toMarkup(renderQuickExit()).replaceAll(/<span hidden>.*<\/span>|<[^>]*>/g, '')
    expect(withoutScripts).not.toMatch(/shift/i)
  })

  test('asks whether somebody else uses the device, and offers to explain how to clear the history', () => {
    expect(toMarkup(renderQuickExit())).toMatch(/somebody else use this device\? How to clear your history/)
  })

  test('loads our own script, and has headers that allow it and forbid storing the page', () => {
    expect(toMarkup(renderQuickExit())).toContain(`<script src="${LEAVE_SCRIPT.path}" defer></script>`)
    expect(LEAVE_HEADERS).toEqual({
      'cache-control': 'no-store',
      'content-security-policy': `${PAGE_CSP}; script-src 'self'`,
    })
  })

  test('has a script below 2,500 bytes that names no interface for storing or requesting', () => {
    expect(LEAVE_SCRIPT.body).not.toMatch(/storage|cookie|fetch|XMLHttp|beacon|indexedDB|caches|console/i)
    expect(Buffer.byteLength(LEAVE_SCRIPT.body)).toBeLessThan(2_500)
  })
})
