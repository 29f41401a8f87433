import { defineRoute, type Route } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import {
  HELP_PAGES,
  type Html,
  LEAVE_HEADERS,
  renderGetHelpPage,
  renderQuickExit,
  renderSpanishHelpPage,
} from '@plainpath/pages'
import { FORM_HEADERS, PAGE, preparePage } from './page.ts'

const HELP_PAGE_HEADERS = { ...FORM_HEADERS, ...LEAVE_HEADERS }

/**
 * Creates the routes for the help pages in English and Spanish: urgent phone lines, how to find a lawyer and, only in English, the
 * form to write to staff.
 */
export function createHelpPageRoutes({ urls }: { urls: ServiceUrls }): Route[] {
  const defineHelpPage = (language: keyof typeof HELP_PAGES, operationId: string, body: Html) => {
    const head = HELP_PAGES[language]
    const prepared = preparePage(urls, {
      ...head,
      navigationEntry: 'help',
      quickExit: renderQuickExit(language),
      body,
    })
    return defineRoute({
      ...PAGE,
      path: head.path,
      operationId,
      summary: head.title,
      handle: () => ({ status: 200, headers: HELP_PAGE_HEADERS, prepared }),
    })
  }
  return [
    defineHelpPage('en', 'helpPage', renderGetHelpPage()),
    defineHelpPage('es', 'spanishHelpPage', renderSpanishHelpPage()),
  ]
}
