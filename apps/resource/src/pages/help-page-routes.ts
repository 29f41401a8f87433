import { defineRoute, type Route } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import {
  getHelpPage,
  HELP_PAGES,
  type Html,
  LEAVE_HEADERS,
  leavePage,
  spanishHelpPage,
} from '@plainpath/pages'
import { FORM_HEADERS, PAGE, preparePage } from './page.ts'

const headers = { ...FORM_HEADERS, ...LEAVE_HEADERS }

/** Urgent lines, how to find a lawyer, and the form to our staff; in Spanish without the form. */
export function helpPageRoutes({ urls }: { urls: ServiceUrls }): Route[] {
  const page = (language: keyof typeof HELP_PAGES, operationId: string, body: Html) => {
    const head = HELP_PAGES[language]
    const prepared = preparePage(urls, { ...head, place: 'help', leave: leavePage(language), body })
    return defineRoute({
      ...PAGE,
      path: head.path,
      operationId,
      summary: head.title,
      handle: () => ({ status: 200, headers, prepared }),
    })
  }
  return [page('en', 'helpPage', getHelpPage()), page('es', 'spanishHelpPage', spanishHelpPage())]
}
