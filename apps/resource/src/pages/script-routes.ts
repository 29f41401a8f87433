import { defineRoute, type Route } from '@plainpath/http'
import { DOCS_SCRIPT, LEAVE_SCRIPT } from '@plainpath/pages'
import { PAGE, PUBLIC_PAGE } from './page.ts'

/** The scripts of the few pages that have one. */
export const scriptRoutes = (): Route[] => [
  // Not stored: in the cache of a browser it would show that somebody opened a page that has it.
  defineRoute({
    ...PAGE,
    path: LEAVE_SCRIPT.path,
    operationId: 'leaveScript',
    summary: 'The script of the quick exit',
    handle: () => ({ status: 200, text: { type: LEAVE_SCRIPT.contentType, content: LEAVE_SCRIPT.body } }),
  }),
  defineRoute({
    ...PUBLIC_PAGE,
    path: DOCS_SCRIPT.path,
    operationId: 'docsScript',
    summary: 'The script of the API reference',
    handle: () => ({ status: 200, text: { type: DOCS_SCRIPT.contentType, content: DOCS_SCRIPT.body } }),
  }),
]
