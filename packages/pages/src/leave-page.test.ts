import { describe, expect, test } from 'vitest'
import { toMarkup } from './html.ts'
import { LEAVE_HEADERS, LEAVE_SCRIPT, NEUTRAL_SITE, renderQuickExit } from './leave-page.ts'
import { PAGE_CSP } from './render-page.ts'

describe('the quick exit', () => {
  test('is a plain link to a neutral site, which does not learn where people come from', () => {
    expect(toMarkup(renderQuickExit())).toContain(
      `<a href="${NEUTRAL_SITE}" rel="noreferrer nofollow" title="Opens Wikipedia in place of this page">Leave this page</a>`,
    )
  })

  test('promises nothing that works with scripts only', () => {
    const withoutScripts = toMarkup(renderQuickExit()).replaceAll(/<span hidden>.*<\/span>|<[^>]*>/g, '')
    expect(withoutScripts).not.toMatch(/shift/i)
  })

  test('says that a shared phone is a risk, and how to clear the history', () => {
    expect(toMarkup(renderQuickExit())).toMatch(/somebody else use this device\? How to clear your history/)
  })

  test('loads one script of our own, and lets no browser store the page', () => {
    expect(toMarkup(renderQuickExit())).toContain(`<script src="${LEAVE_SCRIPT.path}" defer></script>`)
    expect(LEAVE_HEADERS).toEqual({
      'cache-control': 'no-store',
      'content-security-policy': `${PAGE_CSP}; script-src 'self'`,
    })
  })

  test('has a script that stores nothing and requests nothing', () => {
    expect(LEAVE_SCRIPT.body).not.toMatch(/storage|cookie|fetch|XMLHttp|beacon|indexedDB|caches|console/i)
    expect(Buffer.byteLength(LEAVE_SCRIPT.body)).toBeLessThan(2_500)
  })
})
